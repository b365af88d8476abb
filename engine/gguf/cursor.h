// The only code that moves through the bytes of a model file. Every step is checked against the
// length first, sizes are 64-bit, and nothing else in the loader does pointer arithmetic.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "engine/gguf/window.h"

namespace steady {

class Cursor {
public:
    // Walks `bytes`, whose first byte is byte `base` of `file`. With a window, bytes are loaded
    // from it as the cursor advances.
    Cursor(std::span<const std::byte> bytes, std::uint64_t base, const std::string& file,
           HeaderWindow* window = nullptr)
        : bytes_(bytes), base_(base), file_(&file), window_(window) {}

    std::uint64_t offset() const { return base_ + at_; }  // in the file
    std::uint64_t remaining() const { return bytes_.size() - at_; }

    // The next n bytes; GgufError naming `field` if fewer remain.
    std::span<const std::byte> take(std::uint64_t n, std::string_view field);

    // A little-endian number.
    template <typename T>
    T number(std::string_view field) {
        static_assert(std::is_arithmetic_v<T>);
        const std::span<const std::byte> raw = take(sizeof(T), field);
        T value;
        std::memcpy(&value, raw.data(), sizeof(T));
        return value;
    }

    // A string as GGUF stores it: 64-bit length, then that many bytes (any bytes).
    std::string_view text(std::string_view field);

    // Throws GgufError for a field that starts at byte `offset` of the file.
    [[noreturn]] void fail(std::uint64_t offset, std::string_view field, std::string found,
                           std::string allowed) const;

private:
    std::span<const std::byte> bytes_;
    std::uint64_t base_;
    std::size_t at_ = 0;
    const std::string* file_;
    HeaderWindow* window_;
};

// a * b and a + b, false on overflow of 64 bits.
inline bool checked_multiply(std::uint64_t a, std::uint64_t b, std::uint64_t& out) {
    return !__builtin_mul_overflow(a, b, &out);
}
inline bool checked_add(std::uint64_t a, std::uint64_t b, std::uint64_t& out) {
    return !__builtin_add_overflow(a, b, &out);
}

}  // namespace steady
