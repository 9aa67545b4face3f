#include "exclusion.h"

#include "errcodes.h"
#include "error.h"

namespace idem::core {
namespace {

[[noreturn]] void refuse(const std::string &detail)
{
    throw Error(sqlstate::kInvalidParameter, "exclude holds a malformed path", detail,
                "Write paths such as $.sent_at, $.meta.\"trace id\" or $.lines[*].seen_at.");
}

bool is_name_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9');
}

// Read the name of a member, plain or in quotes, at the start of `rest`, and remove it from there.
std::string take_name(std::string_view &rest)
{
    std::string name;
    if (!rest.starts_with('"')) {
        while (!rest.empty() && is_name_character(rest[0])) {
            name += rest[0];
            rest.remove_prefix(1);
        }
        if (name.empty()) {
            refuse("A name must follow each dot; one with other characters than A-Z, a-z, 0-9 and _ stands in quotes.");
        }
        return name;
    }
    rest.remove_prefix(1);
    for (;;) {
        if (rest.empty()) {
            refuse("A quoted name does not end.");
        }
        char c = rest[0];
        rest.remove_prefix(1);
        if (c == '"') {
            return name;
        }
        if (c == '\\') {
            if (rest.empty() || (rest[0] != '"' && rest[0] != '\\')) {
                refuse("A backslash in a quoted name stands before a quote or another backslash.");
            }
            c = rest[0];
            rest.remove_prefix(1);
        }
        if (static_cast<unsigned char>(c) < 0x20) {
            refuse("A name must not contain control characters.");
        }
        name += c;
    }
}

} // namespace

Exclusions::Exclusions(std::vector<std::string> paths)
{
    std::sort(paths.begin(), paths.end());
    paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
    for (const std::string &path : paths) {
        add(path);
        text_ += text_.empty() ? "" : "\n";
        text_ += path;
    }
    if (text_.size() > kMaxExclusionOctets) {
        throw Error(sqlstate::kInvalidParameter, "exclude is too long",
                    "The limit is " + std::to_string(kMaxExclusionOctets) + " octets for all paths together.");
    }
}

Exclusions Exclusions::from_text(std::string_view text)
{
    std::vector<std::string> paths;
    while (!text.empty()) {
        const size_t end = std::min(text.find('\n'), text.size());
        paths.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return Exclusions(std::move(paths));
}

void Exclusions::add(std::string_view path)
{
    if (!path.starts_with('$')) {
        refuse("A path must start with $.");
    }
    std::string_view rest = path.substr(1);
    Node *node = &root_;
    bool at_member = false;
    while (!rest.empty()) {
        if (rest.starts_with("[*]")) {
            rest.remove_prefix(3);
            if (!node->elements) {
                node->elements = std::make_unique<Node>();
            }
            node = node->elements.get();
            at_member = false;
        } else if (rest.starts_with('.')) {
            rest.remove_prefix(1);
            node = &node->members[take_name(rest)];
            at_member = true;
        } else {
            refuse("After $ come .name for a member and [*] for all elements of an array.");
        }
    }
    if (!at_member) {
        refuse("A path must end with the name of a member.");
    }
    node->excluded = true;
}

} // namespace idem::core
