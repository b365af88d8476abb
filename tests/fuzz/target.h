// What every target has in common: bytes come in, and the only exception that may come out of the
// code under test is steady::Error, the one that is shown to a user.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/base/error.h"

namespace steady::fuzz {

inline std::string_view text_of(const std::uint8_t* bytes, std::size_t size) {
    return {reinterpret_cast<const char*>(bytes), size};
}

// Any other exception ends the program, and so is found.
template <class F>
void may_refuse(F use) {
    try {
        use();
    } catch (const Error&) {
    }
}

}  // namespace steady::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);
