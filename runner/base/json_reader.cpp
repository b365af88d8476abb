// A recursive-descent reader over one string: every step knows line and column, and the depth limit
// bounds the recursion. Malformed UTF-8 is refused before parsing, so strings need no second check.
#include "runner/base/json_reader.h"

#include <fmt/format.h>

#include <set>

#include "runner/base/text.h"

namespace steady {
namespace {

struct SyntaxError {
    int line, column;
    std::string found, allowed, hint;
};

class Reader {
public:
    Reader(std::string_view text, const JsonLimits& limits) : text_(text), limits_(limits) {}

    JsonDocument read() {
        JsonDocument document;
        try {
            skip_space();
            JsonValue root = value("", 1);
            skip_space();
            if (!at_end()) {
                fail("the end of the file", "the document ended before this");
            }
            document.root = std::move(root);
        } catch (const SyntaxError& error) {
            problems_.push_back(
                {"", error.line, error.column, error.found, error.allowed, error.hint});
        }
        document.problems = std::move(problems_);
        return document;
    }

private:
    bool at_end() const { return at_ >= text_.size(); }
    char peek() const { return at_end() ? '\0' : text_[at_]; }

    char take() {
        const char c = text_[at_++];
        if (c == '\n') {
            ++line_;
            column_ = 1;
        } else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) {
            ++column_;  // continuation bytes belong to the character before them
        }
        return c;
    }

    std::string found_here() const {
        if (at_end()) {
            return "the end of the file";
        }
        if (peek() == '"') {
            return "a quote";
        }
        std::size_t n = 1;
        while (at_ + n < text_.size() && n < 4 &&
               (static_cast<unsigned char>(text_[at_ + n]) & 0xC0) == 0x80) {
            ++n;
        }
        return shown_text(text_.substr(at_, n));
    }

    [[noreturn]] void fail(std::string allowed, std::string_view hint = "") const {
        std::string where = inside_;
        if (!hint.empty() && !where.empty()) {
            where += "; ";
        }
        throw SyntaxError{line_, column_, found_here(), std::move(allowed), where.append(hint)};
    }

    void skip_space() {
        while (!at_end()) {
            const char c = peek();
            if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
                take();
            } else if (c == '/') {
                skip_comment();
            } else {
                return;
            }
        }
    }

    void skip_comment() {
        const int line = line_;
        const int column = column_;
        const char second = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
        if (second == '/') {
            while (!at_end() && peek() != '\n') {
                take();
            }
            return;
        }
        if (second != '*') {
            fail("a value, // or /* */", "");
        }
        take();
        take();
        while (!(peek() == '*' && at_ + 1 < text_.size() && text_[at_ + 1] == '/')) {
            if (at_end()) {
                throw SyntaxError{line, column, "/* that is never closed", "a comment ending in */",
                                  inside_};
            }
            take();
        }
        take();
        take();
    }

    // Remembers the innermost open container for messages about what is missing.
    struct Inside {
        Inside(Reader& reader, const std::string& pointer, const JsonValue& value)
            : reader_(reader), before_(reader.inside_) {
            reader_.inside_ = fmt::format("inside {}, which opened at {}:{}",
                                          pointer.empty() ? "the document" : escape_line(pointer),
                                          value.line, value.column);
        }
        ~Inside() { reader_.inside_.swap(before_); }  // needs no memory
        Inside(const Inside&) = delete;
        Inside& operator=(const Inside&) = delete;

        Reader& reader_;
        std::string before_;
    };

    JsonValue value(const std::string& pointer, int depth) {
        JsonValue result;
        result.line = line_;
        result.column = column_;
        const char c = peek();
        if (c == '{' || c == '[') {
            if (depth > limits_.depth) {
                fail(fmt::format("at most {} levels of nesting", limits_.depth));
            }
            c == '{' ? object(result, pointer, depth) : array(result, pointer, depth);
        } else if (c == '"') {
            result.kind = JsonValue::Kind::string;
            result.text = string();
        } else if (c == '-' || (c >= '0' && c <= '9')) {
            result.kind = JsonValue::Kind::number;
            result.text = number();
        } else {
            word(result);
        }
        return result;
    }

    void word(JsonValue& result) {
        for (const std::string_view candidate : {"true", "false", "null"}) {
            if (!at_end() && text_.substr(at_, candidate.size()) == candidate) {
                for (std::size_t i = 0; i < candidate.size(); ++i) {
                    take();
                }
                result.kind =
                    candidate == "null" ? JsonValue::Kind::null : JsonValue::Kind::boolean;
                result.boolean = candidate == "true";
                return;
            }
        }
        fail("a value: \"text\", a number, true, false, null, [ or {",
             peek() == '\'' ? "text stands in double quotes" : "");
    }

    void object(JsonValue& result, const std::string& pointer, int depth) {
        result.kind = JsonValue::Kind::object;
        const Inside inside(*this, pointer, result);
        std::set<std::string> seen;
        take();
        skip_space();
        if (peek() == '}') {
            take();
            return;
        }
        while (true) {
            if (peek() != '"') {
                fail(result.members.empty() ? "a key in double quotes or }"
                                            : "a key in double quotes",
                     peek() == '}' ? "a comma before } is one too many" : "");
            }
            JsonMember member;
            member.line = line_;
            member.column = column_;
            member.key = string();
            skip_space();
            if (peek() != ':') {
                fail("\":\" after the key " + shown_text(member.key));
            }
            take();
            skip_space();
            const std::string inner = pointer_join(pointer, member.key);
            member.value = value(inner, depth + 1);
            if (seen.insert(member.key).second) {
                result.members.push_back(std::move(member));
            } else {
                problems_.push_back({inner, member.line, member.column,
                                     "a second " + shown_text(member.key), "each key once",
                                     "remove one of the two"});
            }
            skip_space();
            if (peek() == '}') {
                take();
                return;
            }
            if (peek() != ',') {
                fail("\",\" or \"}\"");
            }
            take();
            skip_space();
        }
    }

    void array(JsonValue& result, const std::string& pointer, int depth) {
        result.kind = JsonValue::Kind::array;
        const Inside inside(*this, pointer, result);
        take();
        skip_space();
        if (peek() == ']') {
            take();
            return;
        }
        while (true) {
            result.items.push_back(
                value(pointer + "/" + std::to_string(result.items.size()), depth + 1));
            skip_space();
            if (peek() == ']') {
                take();
                return;
            }
            if (peek() != ',') {
                fail("\",\" or \"]\"");
            }
            take();
            skip_space();
            if (peek() == ']') {
                fail("a value", "a comma before ] is one too many");
            }
        }
    }

    std::string number() {
        const std::size_t begin = at_;
        const auto digits = [this] {
            if (peek() < '0' || peek() > '9') {
                fail("a digit");
            }
            while (peek() >= '0' && peek() <= '9') {
                take();
            }
        };
        if (peek() == '-') {
            take();
        }
        if (peek() == '0') {
            take();
            if (peek() >= '0' && peek() <= '9') {
                fail("a number without leading zeros");
            }
        } else {
            digits();
        }
        if (peek() == '.') {
            take();
            digits();
        }
        if (peek() == 'e' || peek() == 'E') {
            take();
            if (peek() == '+' || peek() == '-') {
                take();
            }
            digits();
        }
        return std::string(text_.substr(begin, at_ - begin));
    }

    unsigned hex4() {
        unsigned code = 0;
        for (int i = 0; i < 4; ++i) {
            const char c = peek();
            unsigned digit = 0;
            if (c >= '0' && c <= '9') {
                digit = static_cast<unsigned>(c - '0');
            } else if (c >= 'a' && c <= 'f') {
                digit = static_cast<unsigned>(c - 'a') + 10;
            } else if (c >= 'A' && c <= 'F') {
                digit = static_cast<unsigned>(c - 'A') + 10;
            } else {
                fail("four hexadecimal digits after \\u");
            }
            code = code * 16 + digit;
            take();
        }
        return code;
    }

    void unicode_escape(std::string& out) {
        unsigned code = hex4();
        if (code >= 0xDC00 && code <= 0xDFFF) {
            fail("a character", "\\u escape of the second half of a pair without the first");
        }
        if (code >= 0xD800 && code <= 0xDBFF) {
            if (peek() != '\\' || text_.substr(at_, 2) != "\\u") {
                fail("the second half of the \\u pair");
            }
            take();
            take();
            const unsigned low = hex4();
            if (low < 0xDC00 || low > 0xDFFF) {
                fail("a second half between \\udc00 and \\udfff before this");
            }
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        }
        append_utf8(out, code);
    }

    std::string string() {
        const int line = line_;
        const int column = column_;
        std::string out;
        take();
        while (true) {
            if (at_end() || peek() == '\n') {
                throw SyntaxError{line, column, "text whose quote is never closed",
                                  "a closing \" on the same line", inside_};
            }
            if (static_cast<unsigned char>(peek()) < 0x20) {
                fail("text without raw control characters", "write it as an escape, e.g. \\t");
            }
            const char c = take();
            if (c == '"') {
                return out;
            }
            if (c != '\\') {
                out += c;
                continue;
            }
            constexpr std::string_view kNames = "\"\\/bfnrt";
            constexpr std::string_view kValues = "\"\\/\b\f\n\r\t";
            const std::size_t known = at_end() ? std::string_view::npos : kNames.find(peek());
            if (known != std::string_view::npos) {
                out += kValues[known];
                take();
            } else if (peek() == 'u') {
                take();
                unicode_escape(out);
            } else {
                fail("one of \" \\ / b f n r t u after a backslash");
            }
        }
    }

    std::string_view text_;
    const JsonLimits& limits_;
    std::size_t at_ = 0;
    int line_ = 1, column_ = 1;
    std::string inside_;
    std::vector<JsonProblem> problems_;
};

}  // namespace

JsonDocument read_json(std::string_view text, const JsonLimits& limits) {
    JsonDocument document;
    if (text.size() > limits.bytes) {
        document.problems.push_back({"", 1, 1, fmt::format("{} bytes", text.size()),
                                     fmt::format("at most {} bytes", limits.bytes),
                                     "keep data out of this file"});
        return document;
    }
    if (text.substr(0, 3) == "\xEF\xBB\xBF") {
        text.remove_prefix(3);
    }
    if (const auto bad = first_invalid_utf8(text)) {
        int line = 1;
        int column = 1;
        for (const char c : text.substr(0, *bad)) {
            column = c == '\n' ? 1 : column + ((static_cast<unsigned char>(c) & 0xC0) != 0x80);
            line += c == '\n';
        }
        document.problems.push_back(
            {"", line, column,
             fmt::format("the byte 0x{:02x}", static_cast<unsigned char>(text[*bad])), "UTF-8 text",
             "save the file as UTF-8"});
        return document;
    }
    return Reader(text, limits).read();
}

}  // namespace steady
