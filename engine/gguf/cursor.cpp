// Checks bounds before it reads bytes.
#include "engine/gguf/cursor.h"

#include <fmt/format.h>

#include "engine/gguf/gguf_error.h"

namespace steady {

std::span<const std::byte> Cursor::take(std::uint64_t n, std::string_view field) {
    if (n > remaining()) {
        fail(offset(), field, fmt::format("{} bytes wanted", n),
             fmt::format("at most the {} bytes that remain", remaining()));
    }
    const std::size_t size = static_cast<std::size_t>(n);
    if (window_ != nullptr) window_->load(offset() + n);
    const std::span<const std::byte> taken = bytes_.subspan(at_, size);
    at_ += size;
    return taken;
}

std::string_view Cursor::text(std::string_view field) {
    const std::uint64_t at = offset();
    const auto length = number<std::uint64_t>(field);
    if (length > remaining()) {
        fail(at, field, fmt::format("string length {}", length),
             fmt::format("at most the {} bytes that remain", remaining()));
    }
    const std::span<const std::byte> raw = take(length, field);
    return {reinterpret_cast<const char*>(raw.data()), raw.size()};
}

void Cursor::fail(std::uint64_t offset, std::string_view field, std::string found,
                  std::string allowed) const {
    throw GgufError(*file_, offset, std::string(field), std::move(found), std::move(allowed));
}

}  // namespace steady
