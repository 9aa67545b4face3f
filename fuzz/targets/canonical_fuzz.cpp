// The canonical form and what is made of it: the fingerprint, the report of differences, texts for logs.

#include "core_document.h"
#include "document.h"
#include "octets.h"
#include "require.h"
#include "slow_canonical.h"
#include "slow_json.h"

#include "canonical.h"
#include "difference.h"
#include "escape.h"
#include "fingerprint.h"

#include <algorithm>
#include <cstdint>

namespace idem::fuzz {
namespace {

std::string canonical(const Document &document)
{
    std::string out;
    core::append_canonical(out, tree(document));
    return out;
}

// One canonical form, whatever the document is written like, and it is that of the specification.
std::string check_form(const Document &document, Choices &choices)
{
    std::string text = canonical(document);
    require(text == slow_canonical(document), "the canonical form is that of the specification");
    const std::optional<SlowJson> parsed = slow_json(text);
    require(parsed && !parsed->half_pair, "the canonical form is JSON");
    require(same(parsed->document, document), "the canonical form is that of its document");
    require(canonical(parsed->document) == text, "the canonical form is its own");
    const Document other_words = reworded(document, choices);
    require(same(other_words, document), "the other words are the same document"); // or the target is wrong
    require(canonical(other_words) == text, "equal documents have equal canonical forms");
    return text;
}

// Documents have one canonical form exactly where they are the same, and only then no difference is reported.
void check_pair(const Document &left, const Document &right)
{
    const bool are_same = same(left, right);
    require((canonical(left) == canonical(right)) == are_same, "different documents have different canonical forms");
    core::Differences differences(3);
    differences.compare(tree(left), tree(right));
    require(differences.paths().empty() == are_same, "a difference is reported exactly where there is one");
    require(differences.paths().size() <= 3 && (!differences.more() || differences.paths().size() == 3),
            "as many differences are reported as were asked for");
}

// What a log line holds is printable, one line, and the same text.
void check_escapes(const std::string &text)
{
    for (const core::Escape escape : {core::Escape::unprintable, core::Escape::non_ascii}) {
        std::string line;
        core::append_escaped(line, text, escape);
        const auto acts = [&](char c) { return (c >= 0 && c < 0x20) || c == 0x7F; };
        require(std::none_of(line.begin(), line.end(), acts), "an escaped text has no control characters");
        require(escape == core::Escape::unprintable ||
                    std::none_of(line.begin(), line.end(), [](char c) { return c < 0; }),
                "an escaped text is ASCII where it shall be");
        const std::optional<SlowJson> parsed = slow_json(line);
        require(parsed && !parsed->half_pair && parsed->document.text == text, "an escaped text is the same text");
    }
}

// The text of a request is the canonical form of an object of its fields.
void check_request(const Document &details, const std::string &text, Choices &choices)
{
    const auto amount = static_cast<int64_t>(choices.below(2) == 0 ? choices.below(1000) : ~size_t{0} >> 1);
    const bool has_order = choices.below(2) == 0;
    const core::RequestFields fields{amount, "EUR", text,
                                     has_order ? std::optional<std::string_view>(text) : std::nullopt};
    Document whole{.kind = Document::Kind::object};
    const Document string{.kind = Document::Kind::string, .text = text};
    whole.members = {{"order_ref", has_order ? string : Document{}},
                     {"operation", string},
                     {"details", details},
                     {"currency", {.kind = Document::Kind::string, .text = "EUR"}},
                     {"amount_minor", {.kind = Document::Kind::number, .text = std::to_string(amount)}}};
    try {
        require(core::canonical_request(fields, tree(details)) == slow_canonical(whole),
                "a request is hashed as the object of its fields");
    } catch (const core::Error &error) {
        require(error.sqlstate() == std::string("54000") && printed_zeros(details) > core::kMaxPrintedZeros,
                "a request is refused only where its numbers are too long");
    }
}

} // namespace
} // namespace idem::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    using namespace idem::fuzz;
    Octets octets(data, size);
    // The first octets choose what is done with the documents that the others stand for.
    Choices choices(octets.octet() * 256U + octets.octet());
    const std::string text = take_characters(octets, octets.below(16));
    const Document document = take_document(octets);
    check_form(document, choices);
    Document other = document;
    for (int i = 0; i < 4; ++i) {
        other = changed(other, choices);
        check_pair(document, reworded(other, choices));
    }
    check_pair(document, take_document(octets));
    check_escapes(text);
    check_request(document, text, choices);
    return 0;
}
