#include "statement.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <string>

namespace idem::proxy {

namespace {

// Walks over a text of SQL.
class Scanner {
public:
    explicit Scanner(std::string_view text) : text_(text) {}

    [[nodiscard]] bool at_end() const { return at_ >= text_.size(); }

    // Steps over blanks and comments.
    void skip_blanks()
    {
        while (!at_end()) {
            if (is_blank(text_[at_])) {
                ++at_;
            } else if (!skip_comment()) {
                return;
            }
        }
    }

    // Tells whether a statement ends here.
    [[nodiscard]] bool at_semicolon() const { return !at_end() && text_[at_] == ';'; }

    // Reads a word, in upper case; an empty one where there is none.
    std::string word()
    {
        skip_blanks();
        std::string word;
        while (!at_end() && is_name(text_[at_])) {
            word += static_cast<char>(std::toupper(static_cast<unsigned char>(text_[at_++])));
        }
        return word;
    }

    // Steps over the rest of a statement and its semicolon.
    void skip_statement()
    {
        while (!at_end()) {
            const char octet = text_[at_];
            if (octet == ';') {
                ++at_;
                return;
            }
            if (octet == '\'' || octet == '"') {
                skip_quoted(octet);
            } else if (octet == '$') {
                skip_dollars();
            } else if (!skip_comment()) {
                ++at_;
            }
        }
    }

private:
    static bool is_blank(char octet) { return std::isspace(static_cast<unsigned char>(octet)) != 0; }

    static bool is_name(char octet)
    {
        return std::isalnum(static_cast<unsigned char>(octet)) != 0 || octet == '_' || octet == '$' ||
               static_cast<unsigned char>(octet) >= 0x80;
    }

    [[nodiscard]] bool comes(std::string_view what) const { return text_.substr(at_, what.size()) == what; }

    void skip_to(std::string_view end)
    {
        const std::size_t found = text_.find(end, at_);
        at_ = found == std::string_view::npos ? text_.size() : found + end.size();
    }

    // Steps over a comment, and tells whether there was one.
    bool skip_comment()
    {
        if (comes("--")) {
            skip_to("\n");
            return true;
        }
        if (!comes("/*")) {
            return false;
        }
        int depth = 0;
        do {
            if (comes("/*")) {
                ++depth;
                at_ += 2;
            } else if (comes("*/")) {
                --depth;
                at_ += 2;
            } else {
                ++at_;
            }
        } while (depth > 0 && !at_end());
        return true;
    }

    // A doubled quote ends one quoted piece and begins the next, which comes to the same.
    void skip_quoted(char quote)
    {
        const bool escapes = quote == '\'' && at_ > 0 && (text_[at_ - 1] == 'E' || text_[at_ - 1] == 'e') &&
                             (at_ == 1 || !is_name(text_[at_ - 2]));
        for (++at_; !at_end() && text_[at_] != quote; ++at_) {
            if (escapes && text_[at_] == '\\') {
                ++at_;
            }
        }
        at_ = std::min(at_ + 1, text_.size());
    }

    // A dollar is a quote, a parameter or a part of a name.
    void skip_dollars()
    {
        const bool in_name = at_ > 0 && is_name(text_[at_ - 1]);
        const std::size_t start = at_++;
        std::size_t end = at_;
        while (end < text_.size() && text_[end] != '$' && is_name(text_[end])) {
            ++end;
        }
        const bool number = end > at_ && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0;
        if (in_name || number || end >= text_.size() || text_[end] != '$') {
            return;
        }
        at_ = end + 1;
        skip_to(text_.substr(start, end + 1 - start));
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

bool is_session(std::string_view word)
{
    static constexpr std::array<std::string_view, 14> kWords{"SET",    "RESET",    "SHOW",      "DISCARD", "DEALLOCATE",
                                                             "LISTEN", "UNLISTEN", "SAVEPOINT", "RELEASE", "PREPARE",
                                                             "CLOSE",  "FETCH",    "MOVE",      "DECLARE"};
    return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

// What a statement does, whose first word was just read.
Deed deed_of(std::string_view word, Scanner &scanner)
{
    if (word == "BEGIN" || word == "START") {
        return Deed::begin;
    }
    if (word == "COMMIT" || word == "END") {
        return Deed::commit;
    }
    if (word == "ROLLBACK" || word == "ABORT") {
        std::string next = scanner.word();
        if (next == "WORK" || next == "TRANSACTION") {
            next = scanner.word();
        }
        return next == "TO" ? Deed::session : Deed::rollback;
    }
    return is_session(word) ? Deed::session : Deed::work;
}

} // namespace

std::vector<Deed> deeds_of(std::string_view text)
{
    std::vector<Deed> deeds;
    Scanner scanner(text);
    for (scanner.skip_blanks(); !scanner.at_end(); scanner.skip_blanks()) {
        if (!scanner.at_semicolon()) {
            deeds.push_back(deed_of(scanner.word(), scanner));
        }
        scanner.skip_statement();
    }
    return deeds;
}

} // namespace idem::proxy
