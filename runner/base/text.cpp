// Escaping works on decoded characters, never on bytes, so that no half of a character survives and
// a terminal cannot be steered by what stands in an experiment file or in a child's stderr.
#include "runner/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace steady {
namespace {

struct Decoded {
    unsigned code = 0;
    std::size_t size = 0;  // 0: not well-formed here
};

Decoded decode(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) -> unsigned {
        return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U;
    };
    const auto tail = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
    const unsigned first = byte(0);
    if (first < 0x80) {
        return {first, 1};
    }
    if (first >= 0xC2 && first <= 0xDF && tail(1)) {
        return {(first & 0x1FU) << 6 | (byte(1) & 0x3FU), 2};
    }
    if (first >= 0xE0 && first <= 0xEF && tail(1) && tail(2)) {
        const unsigned code = (first & 0x0FU) << 12 | (byte(1) & 0x3FU) << 6 | (byte(2) & 0x3FU);
        return code < 0x800 || (code >= 0xD800 && code <= 0xDFFF) ? Decoded{} : Decoded{code, 3};
    }
    if (first >= 0xF0 && first <= 0xF4 && tail(1) && tail(2) && tail(3)) {
        const unsigned code = (first & 0x07U) << 18 | (byte(1) & 0x3FU) << 12 |
                              (byte(2) & 0x3FU) << 6 | (byte(3) & 0x3FU);
        return code < 0x10000 || code > 0x10FFFF ? Decoded{} : Decoded{code, 4};
    }
    return {};
}

// C0, DEL, C1, line separators, bidirectional controls, byte order mark.
bool steers(unsigned code) {
    return code < 0x20 || (code >= 0x7F && code <= 0x9F) || (code >= 0x200E && code <= 0x200F) ||
           (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069) ||
           code == 0xFEFF;
}

std::string escaped_control(unsigned code) {
    switch (code) {
        case '\n':
            return "\\n";
        case '\r':
            return "\\r";
        case '\t':
            return "\\t";
        default:
            return code < 0x100 ? fmt::format("\\x{:02x}", code) : fmt::format("\\u{:04x}", code);
    }
}

bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

bool is_letter_or_digit(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

std::string lower(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), [](char c) { return lower(c); });
    return out;
}

// End of a run of characters that may belong to a secret.
std::size_t secret_end(std::string_view text, std::size_t at) {
    while (at < text.size() && (is_word(text[at]) || std::string_view("./+=~").find(text[at]) !=
                                                         std::string_view::npos)) {
        ++at;
    }
    return at;
}

// "password=", "api_key: ", "token \"": the name and the separator; returns where the value begins.
std::optional<std::size_t> named_secret(const std::string& low, std::size_t at) {
    constexpr std::array<std::string_view, 11> kNames = {
        "password", "passwd",     "secret",        "api_key",     "apikey",    "api-key",
        "token",    "access_key", "authorization", "private_key", "credential"};
    for (const std::string_view word : kNames) {
        // Most characters begin no name: the first one tells without a call.
        if (low[at] != word[0] || low.compare(at, word.size(), word) != 0) {
            continue;
        }
        std::size_t end = at + word.size();
        end += end < low.size() && low[end] == '"' ? 1 : 0;
        const std::size_t before = end;
        while (end < low.size() && (low[end] == ' ' || low[end] == '=' || low[end] == ':')) {
            ++end;
        }
        const bool separated =
            low.substr(before, end - before).find_first_of("=:") != std::string::npos;
        // "time per token: 37 ms" is no secret; a real one is long.
        const bool plausible =
            word != "token" || secret_end(low, end) - end >= 12 || low.compare(end, 1, "\"") == 0;
        if (separated && end < low.size() && plausible) {
            return end;
        }
    }
    return std::nullopt;
}

// Well-known prefixes of machine-made credentials, and "bearer".
std::optional<std::size_t> prefixed_secret(std::string_view text, const std::string& low,
                                           std::size_t at) {
    constexpr std::array<std::string_view, 10> kPrefixes = {
        "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "sk-", "xoxb-", "xoxp-", "akia", "hf_"};
    if (at > 0 && is_word(text[at - 1])) {
        return std::nullopt;
    }
    for (const std::string_view prefix : kPrefixes) {
        if (low[at] != prefix[0] || low.compare(at, prefix.size(), prefix) != 0) {
            continue;
        }
        if (secret_end(text, at) - at >= prefix.size() + 12) {
            return at;
        }
    }
    if (low.compare(at, 7, "bearer ") == 0 && secret_end(text, at + 7) - at >= 7 + 8) {
        return at + 7;
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::size_t> first_invalid_utf8(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        const Decoded one = decode(text, at);
        if (one.size == 0) {
            return at;
        }
        at += one.size;
    }
    return std::nullopt;
}

void append_utf8(std::string& out, unsigned code) {
    const auto byte = [&out](unsigned value) { out += static_cast<char>(value); };
    if (code < 0x80) {
        byte(code);
    } else if (code < 0x800) {
        byte(0xC0 | code >> 6);
        byte(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        byte(0xE0 | code >> 12);
        byte(0x80 | (code >> 6 & 0x3F));
        byte(0x80 | (code & 0x3F));
    } else {
        byte(0xF0 | code >> 18);
        byte(0x80 | (code >> 12 & 0x3F));
        byte(0x80 | (code >> 6 & 0x3F));
        byte(0x80 | (code & 0x3F));
    }
}

std::size_t count_characters(std::string_view utf8) {
    return static_cast<std::size_t>(std::count_if(utf8.begin(), utf8.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    }));
}

std::string shorten(std::string_view utf8, std::size_t n) {
    if (count_characters(utf8) <= n) {
        return std::string(utf8);
    }
    std::size_t at = 0;
    for (std::size_t i = 0; i + 1 < n; ++i) {
        at += std::max<std::size_t>(1, decode(utf8, at).size);
    }
    return std::string(utf8.substr(0, at)) + "…";
}

std::string escape_line(std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const Decoded one = decode(text, at);
        if (one.size == 0) {
            out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at]));
            ++at;
            continue;
        }
        if (steers(one.code)) {
            out += escaped_control(one.code);
        } else {
            out += text.substr(at, one.size);
        }
        at += one.size;
    }
    return out;
}

std::string json_quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        switch (c) {
            case '"':
                out += "\\\"";
                break;
            case '\\':
                out += "\\\\";
                break;
            case '\n':
                out += "\\n";
                break;
            case '\r':
                out += "\\r";
                break;
            case '\t':
                out += "\\t";
                break;
            default:
                if (static_cast<unsigned char>(c) < 0x20) {
                    out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
                } else {
                    out += c;
                }
        }
    }
    return out + "\"";
}

std::string escape_markdown(std::string_view text) {
    const std::string line = safe_line(text);
    std::string out;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        const bool inside_word = c == '_' && i > 0 && i + 1 < line.size() &&
                                 is_letter_or_digit(line[i - 1]) && is_letter_or_digit(line[i + 1]);
        if (c == '&') {
            out += "&amp;";
        } else if (c == '<') {
            out += "&lt;";
        } else if (c == '>') {
            out += "&gt;";
        } else if (std::string_view("\\`*_[]|~").find(c) != std::string_view::npos &&
                   !inside_word) {
            out += '\\';
            out += c;
        } else {
            out += c;
        }
    }
    // Headings, lists and rules begin only at the start of a line.
    if (!out.empty() && std::string_view("-+=#").find(out[0]) != std::string_view::npos) {
        out.insert(0, "\\");
    }
    const std::size_t digits = out.find_first_not_of("0123456789");
    if (digits != std::string::npos && digits > 0 && (out[digits] == '.' || out[digits] == ')')) {
        out.insert(digits, "\\");
    }
    // Some renderers turn bare addresses into links.
    for (std::size_t at = out.find("://"); at != std::string::npos; at = out.find("://", at)) {
        out.replace(at, 1, "&#58;");
    }
    return out;
}

std::string markdown_code(std::string_view text) {
    const std::string line = safe_line(text);
    std::size_t longest = 0;
    std::size_t run = 0;
    for (const char c : line) {
        run = c == '`' ? run + 1 : 0;
        longest = std::max(longest, run);
    }
    const std::string fence(longest + 1, '`');
    const bool pad = line.empty() || line.front() == '`' || line.back() == '`';
    return fence + (pad ? " " : "") + line + (pad ? " " : "") + fence;
}

std::string redact(std::string_view text) {
    const std::string low = lower(text);
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t scheme = low.compare(at, 3, "://") == 0 ? at + 3 : 0;
        if (scheme != 0) {
            const std::size_t end = std::min(low.find_first_of("/ \t\n\"'?#", scheme), low.size());
            const std::size_t user = low.rfind('@', end);
            out += "://";
            at = scheme;
            if (user != std::string::npos && user >= scheme && user < end) {
                out += "[redacted]";
                at = user;
            }
            continue;
        }
        std::optional<std::size_t> begin = named_secret(low, at);
        if (!begin) {
            begin = prefixed_secret(text, low, at);
        }
        if (begin) {
            std::size_t value = *begin;
            out += text.substr(at, value - at);
            if (low.compare(value, 7, "bearer ") == 0 || low.compare(value, 6, "basic ") == 0) {
                const std::size_t space = low.find(' ', value) + 1;
                out += text.substr(value, space - value);
                value = space;
            }
            const bool quoted = value < text.size() && (text[value] == '"' || text[value] == '\'');
            const std::size_t end =
                quoted ? std::min(text.find(text[value], value + 1), text.size())
                       : std::min(text.find_first_of(" \t\n,;\"'&)}", value), text.size());
            out += quoted ? text.substr(value, 1) : "";
            out += "[redacted]";
            at = std::max(end, value);
            continue;
        }
        out += text[at++];
    }
    return out;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) {
        for (std::size_t j = 0; j <= b.size(); ++j) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            const bool same = lower(a[i - 1]) == lower(b[j - 1]);
            d[i][j] =
                std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (same ? 0 : 1)});
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                lower(a[i - 2]) == lower(b[j - 1])) {
                d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
            }
        }
    }
    return d[a.size()][b.size()];
}

std::string closest(std::string_view word, const std::vector<std::string>& choices) {
    if (word.empty() || word.size() > 64) {
        return "";
    }
    std::string best;
    std::size_t best_distance = word.size();
    for (const std::string& choice : choices) {
        const std::size_t distance = edit_distance(word, choice);
        const std::size_t longer = std::max(word.size(), choice.size());
        const std::size_t common = std::min(word.size(), choice.size());
        const bool begins = common >= 4 && word.substr(0, common) == choice.substr(0, common);
        const bool close = distance <= std::max<std::size_t>(1, longer / 3) || begins;
        if (close && distance < longer && (best.empty() || distance < best_distance)) {
            best = choice;
            best_distance = distance;
        }
    }
    return best;
}

std::string safe_line(std::string_view text) { return escape_line(redact(text)); }

}  // namespace steady
