// What a bad model file gets as an answer: one line that names the file, the byte, the field, what
// was found there and what is allowed. The parts are kept apart so that tests and callers need not
// read the text back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/base/error.h"

namespace steady {

// Exit code 2, like every bad input.
struct GgufError : Error {
    GgufError(std::string_view file, std::uint64_t offset, std::string field, std::string found,
              std::string allowed);
    std::uint64_t offset;  // bytes from the start of the file
    std::string field;     // "n_tensors", "tensor 'output.weight': dim 0", …
    std::string found;
    std::string allowed;
};

// Text from a file made safe for a terminal: control characters, quotes and bytes that are not
// UTF-8 become \xHH, and what is longer than max_bytes is cut with "…".
std::string printable(std::string_view text, std::size_t max_bytes = 80);

}  // namespace steady
