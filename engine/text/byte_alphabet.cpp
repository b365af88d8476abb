// The table in both directions, built once.
#include "engine/text/byte_alphabet.h"

#include <array>

#include "kernels/base/utf8.h"

namespace steady {
namespace {

struct Alphabet {
    std::array<std::string, 256> texts;
    std::array<std::int16_t, 512> bytes{};  // by code point; -1: not in the alphabet

    Alphabet() {
        bytes.fill(-1);
        std::uint32_t next = 0x100;
        for (std::uint32_t byte = 0; byte < 256; ++byte) {
            const bool printable =
                (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
            const std::uint32_t code_point = printable ? byte : next++;
            utf8_append(texts[byte], code_point);
            bytes[code_point] = static_cast<std::int16_t>(byte);
        }
    }
};

const Alphabet& alphabet() {
    static const Alphabet table;
    return table;
}

}  // namespace

std::string_view byte_text(std::uint8_t byte) { return alphabet().texts[byte]; }

std::optional<std::string> bytes_of_text(std::string_view text) {
    std::string bytes;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = utf8_length(text, at);
        if (length == 0) return std::nullopt;
        const std::uint32_t code_point = utf8_decode(text, at, length);
        if (code_point >= 512 || alphabet().bytes[code_point] < 0) return std::nullopt;
        bytes += static_cast<char>(alphabet().bytes[code_point]);
        at += length;
    }
    return bytes;
}

}  // namespace steady
