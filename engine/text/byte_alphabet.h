// Byte-level BPE writes every byte as one printable character, so that vocabularies are text: bytes
// that are printable in Latin-1 stand for themselves, the other 68 are U+0100 onwards in byte
// order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace steady {

// The character that stands for `byte`, in UTF-8 (one or two bytes).
std::string_view byte_text(std::uint8_t byte);

// The bytes that `text` stands for, or nullopt if it holds a character outside of the alphabet.
std::optional<std::string> bytes_of_text(std::string_view text);

}  // namespace steady
