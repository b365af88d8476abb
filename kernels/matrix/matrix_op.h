// What the ops that multiply a quantised matrix have in common, with one vector or with several.
#pragma once

#include <string>

#include "kernels/formats/formats.h"
#include "kernels/registry/registry.h"

namespace steady {

// kType is the weights' type; the shape has groups, rows (per group) and cols.
template <Type kType, class ShapeOf, class ArgsOf>
struct MatrixOp {
    static constexpr Type type = kType;
    static constexpr int phases = 1;
    using Shape = ShapeOf;
    using Args = ArgsOf;
    using Run = void (*)(const Args&, Range) noexcept;

    // Beyond what the shape itself requires.
    static std::string problem(const Shape& shape) {
        const std::int64_t block = block_values(kType);
        return shape.cols % block == 0 ? "" : "cols must be a multiple of " + std::to_string(block);
    }

    static void set_weight(Args& args, std::size_t /*index*/, const std::byte* w) { args.w = w; }

    static std::int64_t rows(const Shape& shape, int /*phase*/) {
        return shape.groups * shape.rows;
    }
};

}  // namespace steady
