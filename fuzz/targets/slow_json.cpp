#include "slow_json.h"

#include <algorithm>

namespace idem::fuzz {
namespace {

constexpr int kDeepest = 200;

// Reads one value after the other; every reader says whether it found what it looks for.
class Reader {
public:
    explicit Reader(std::string_view text) : left_(text) {}

    bool document(SlowJson &result)
    {
        blanks();
        const bool read = value(result.document, 0);
        blanks();
        result.half_pair = half_pair_;
        result.members = std::move(outermost_);
        result.deep = deep_;
        return deep_ || (read && left_.empty());
    }

private:
    void blanks()
    {
        const size_t end = left_.find_first_not_of(" \t\n\r");
        left_.remove_prefix(end == std::string_view::npos ? left_.size() : end);
    }

    bool skip(std::string_view expected)
    {
        const bool is_there = left_.substr(0, expected.size()) == expected;
        left_.remove_prefix(is_there ? expected.size() : 0);
        return is_there;
    }

    bool value(Document &document, int depth)
    {
        if (depth > kDeepest) {
            deep_ = true;
            return false;
        }
        if (left_.empty()) {
            return false;
        }
        switch (left_[0]) {
        case 'n':
            return skip("null");
        case 't':
            document.kind = Document::Kind::boolean;
            document.boolean = true;
            return skip("true");
        case 'f':
            document.kind = Document::Kind::boolean;
            return skip("false");
        case '"':
            document.kind = Document::Kind::string;
            return string(document.text);
        case '[':
            document.kind = Document::Kind::array;
            return list("[", "]", [&] {
                document.elements.emplace_back();
                return value(document.elements.back(), depth + 1);
            });
        case '{':
            document.kind = Document::Kind::object;
            return list("{", "}", [&] { return member(document, depth); });
        default:
            document.kind = Document::Kind::number;
            return number(document.text);
        }
    }

    template <typename F>
    bool list(std::string_view opening, std::string_view closing, F item)
    {
        (void)skip(opening);
        blanks();
        if (skip(closing)) {
            return true;
        }
        do {
            blanks();
            if (!item()) {
                return false;
            }
            blanks();
        } while (skip(","));
        return skip(closing);
    }

    bool member(Document &object, int depth)
    {
        const bool half_before = half_pair_;
        half_pair_ = false;
        std::string name;
        if (!string(name)) {
            return false;
        }
        const bool half_name = half_pair_;
        blanks();
        if (!skip(":")) {
            return false;
        }
        blanks();
        const std::string_view start = left_;
        half_pair_ = false;
        Document read;
        if (!value(read, depth + 1)) {
            return false;
        }
        if (depth == 0) {
            outermost_.push_back({name, read, start.substr(0, start.size() - left_.size()), half_name, half_pair_});
        }
        half_pair_ = half_pair_ || half_name || half_before;
        std::erase_if(object.members, [&](const auto &earlier) { return earlier.first == name; });
        object.members.emplace_back(std::move(name), std::move(read));
        return true;
    }

    // The grammar of RFC 8259 section 6, part by part.
    bool number(std::string &text)
    {
        const std::string_view start = left_;
        (void)skip("-");
        bool is_number = skip("0") || digits();
        if (is_number && skip(".")) {
            is_number = digits();
        }
        if (is_number && (skip("e") || skip("E"))) {
            (void)(skip("+") || skip("-"));
            is_number = digits();
        }
        text = start.substr(0, start.size() - left_.size());
        return is_number;
    }

    bool digits()
    {
        const size_t end = std::min(left_.find_first_not_of("0123456789"), left_.size());
        left_.remove_prefix(end);
        return end > 0;
    }

    bool string(std::string &text)
    {
        if (!skip("\"")) {
            return false;
        }
        while (!left_.empty()) {
            const char c = left_[0];
            left_.remove_prefix(1);
            if (c == '"') {
                return true;
            }
            if (c >= 0 && c < 32) {
                return false;
            }
            if (c != '\\') {
                text += c;
            } else if (!escape(text)) {
                return false;
            }
        }
        return false;
    }

    bool escape(std::string &text)
    {
        constexpr std::string_view kLetters = "\"\\/bfnrt";
        constexpr std::string_view kCharacters = "\"\\/\b\f\n\r\t";
        if (left_.empty()) {
            return false;
        }
        const char c = left_[0];
        left_.remove_prefix(1);
        if (c != 'u') {
            const size_t place = kLetters.find(c);
            text += place == std::string_view::npos ? ' ' : kCharacters[place];
            return place != std::string_view::npos;
        }
        unsigned unit = 0;
        if (!unicode(unit)) {
            return false;
        }
        if (unit >= 0xD800 && unit < 0xDC00 && left_.substr(0, 2) == "\\u") {
            const std::string_view before = left_;
            left_.remove_prefix(2);
            unsigned second = 0;
            if (!unicode(second)) {
                return false;
            }
            if (second >= 0xDC00 && second < 0xE000) {
                const unsigned character = 65536 + (unit - 0xD800) * 1024 + (second - 0xDC00);
                put(text, 240 + character / 262144, 128 + character / 4096 % 64, 128 + character / 64 % 64,
                    128 + character % 64);
                return true;
            }
            left_ = before;
        }
        half_pair_ = half_pair_ || (unit >= 0xD800 && unit < 0xE000);
        if (unit < 128) {
            put(text, unit);
        } else if (unit < 2048) {
            put(text, 192 + unit / 64, 128 + unit % 64);
        } else {
            put(text, 224 + unit / 4096, 128 + unit / 64 % 64, 128 + unit % 64);
        }
        return true;
    }

    bool unicode(unsigned &unit)
    {
        constexpr std::string_view kDigits = "0123456789abcdefABCDEF";
        unit = 0;
        for (int i = 0; i < 4; ++i) {
            const size_t digit = left_.empty() ? std::string_view::npos : kDigits.find(left_[0]);
            if (digit == std::string_view::npos) {
                return false;
            }
            unit = unit * 16 + static_cast<unsigned>(digit < 16 ? digit : digit - 6);
            left_.remove_prefix(1);
        }
        return true;
    }

    template <typename... Octet>
    static void put(std::string &text, Octet... octets)
    {
        ((text += static_cast<char>(static_cast<unsigned char>(octets))), ...);
    }

    std::string_view left_;
    std::vector<SlowMember> outermost_;
    bool half_pair_ = false;
    bool deep_ = false;
};

} // namespace

std::optional<SlowJson> slow_json(std::string_view text)
{
    SlowJson result;
    if (!Reader(text).document(result)) {
        return std::nullopt;
    }
    return result;
}

} // namespace idem::fuzz
