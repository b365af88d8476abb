// The one-line text of a GGUF error, and the escaping that keeps file contents from reaching a
// terminal raw.
#include "engine/gguf/gguf_error.h"

#include <fmt/format.h>

#include "kernels/base/utf8.h"

namespace steady {

GgufError::GgufError(std::string_view file, std::uint64_t at, std::string field_name,
                     std::string found_text, std::string allowed_text)
    : Error(fmt::format("{}: byte {}: {}: found {}, allowed: {}", printable(file, 400), at,
                        field_name, found_text, allowed_text)),
      offset(at),
      field(std::move(field_name)),
      found(std::move(found_text)),
      allowed(std::move(allowed_text)) {}

std::string printable(std::string_view text, std::size_t max_bytes) {
    std::string out;
    std::size_t i = 0;
    while (i < text.size()) {
        if (i >= max_bytes) {
            out += "…";
            break;
        }
        const std::size_t length = utf8_length(text, i);
        const auto byte = static_cast<unsigned char>(text[i]);
        // C1 controls (U+0080..U+009F) drive terminals just as C0 controls do.
        const bool c1 =
            length == 2 && byte == 0xC2 && static_cast<unsigned char>(text[i + 1]) < 0xA0;
        if (length == 0 || byte < 0x20 || byte == 0x7F || byte == '\'' || c1) {
            const std::size_t n = length == 0 ? 1 : length;
            for (std::size_t j = 0; j < n; ++j) {
                out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i + j]));
            }
            i += n;
        } else {
            out += text.substr(i, length);
            i += length;
        }
    }
    return out;
}

}  // namespace steady
