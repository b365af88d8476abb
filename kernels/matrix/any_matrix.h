// A matrix as ops take it that join several products, of types that differ.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/formats/formats.h"

namespace steady {

struct AnyMatrix {
    Type type = Type::f32;
    std::int64_t rows = 0, cols = 0;  // rows of all groups, where there are several
    const std::byte* w = nullptr;     // in the variant's layout
    bool present() const { return rows != 0; }
};

}  // namespace steady
