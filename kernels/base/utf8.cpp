// Strict UTF-8, by the table of well-formed sequences of the Unicode standard.
#include "kernels/base/utf8.h"

namespace steady {
namespace {

unsigned char byte_at(std::string_view text, std::size_t at) {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
}

bool continues(unsigned char byte) { return (byte & 0xC0) == 0x80; }

}  // namespace

std::size_t utf8_length(std::string_view text, std::size_t at) {
    const unsigned char a = byte_at(text, at);
    if (at >= text.size()) return 0;
    if (a < 0x80) return 1;
    const unsigned char b = byte_at(text, at + 1);
    if (a >= 0xC2 && a <= 0xDF) return continues(b) ? 2 : 0;
    if (!continues(b) || !continues(byte_at(text, at + 2))) return 0;
    if (a == 0xE0) return b >= 0xA0 ? 3 : 0;
    if (a == 0xED) return b < 0xA0 ? 3 : 0;
    if (a >= 0xE1 && a <= 0xEF) return 3;
    if (!continues(byte_at(text, at + 3))) return 0;
    if (a == 0xF0) return b >= 0x90 ? 4 : 0;
    if (a == 0xF4) return b < 0x90 ? 4 : 0;
    return a >= 0xF1 && a <= 0xF3 ? 4 : 0;
}

std::uint32_t utf8_decode(std::string_view text, std::size_t at, std::size_t length) {
    const std::uint32_t first = byte_at(text, at);
    if (length <= 1) return first;
    std::uint32_t code_point = first & (0x7FU >> length);
    for (std::size_t i = 1; i < length; ++i) {
        code_point = (code_point << 6) | (byte_at(text, at + i) & 0x3FU);
    }
    return code_point;
}

void utf8_append(std::string& out, std::uint32_t code_point) {
    if (code_point < 0x80) {
        out += static_cast<char>(code_point);
    } else if (code_point < 0x800) {
        out += static_cast<char>(0xC0 | (code_point >> 6));
        out += static_cast<char>(0x80 | (code_point & 0x3F));
    } else if (code_point < 0x10000) {
        out += static_cast<char>(0xE0 | (code_point >> 12));
        out += static_cast<char>(0x80 | ((code_point >> 6) & 0x3F));
        out += static_cast<char>(0x80 | (code_point & 0x3F));
    } else {
        out += static_cast<char>(0xF0 | (code_point >> 18));
        out += static_cast<char>(0x80 | ((code_point >> 12) & 0x3F));
        out += static_cast<char>(0x80 | ((code_point >> 6) & 0x3F));
        out += static_cast<char>(0x80 | (code_point & 0x3F));
    }
}

}  // namespace steady
