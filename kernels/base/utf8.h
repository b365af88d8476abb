// UTF-8, decoded strictly: no overlong forms, no surrogates, nothing above U+10FFFF. Bytes that do
// not belong to a valid sequence are reported one by one, so that callers can keep them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace steady {

// Length (1..4) of the valid sequence that starts at byte `at`, or 0 if there is none.
std::size_t utf8_length(std::string_view text, std::size_t at);

// The code point of the valid sequence of `length` bytes at `at`.
std::uint32_t utf8_decode(std::string_view text, std::size_t at, std::size_t length);

// Appends code_point (≤ U+10FFFF) to out.
void utf8_append(std::string& out, std::uint32_t code_point);

}  // namespace steady
