// Matrix times vector for the rarer weight types (F16, BF16, Q4_1, Q5_0, Q5_1, Q4_K), so that every
// file loads. One op for all of them: the type is part of the shape. Cols is a multiple of the
// type's block.
#pragma once

#include "kernels/matrix/matvec.h"

namespace steady {

struct OtherMatvecShape {
    Type type = Type::f32;
    std::int64_t groups = 1;
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    static std::array<ShapeField<OtherMatvecShape>, 4> fields() {
        return {{{"type", nullptr, &OtherMatvecShape::type},
                 {"groups", &OtherMatvecShape::groups},
                 {"rows", &OtherMatvecShape::rows},
                 {"cols", &OtherMatvecShape::cols}}};
    }
    std::string problem() const {
        if (rows <= 0 || cols <= 0) return "rows and cols are required";
        return cols % block_values(type) == 0 ? "" : "cols must be a multiple of the type's block";
    }
};

struct OtherMatvec {
    static constexpr const char* name = "other_matvec";
    static constexpr int phases = 1;
    using Shape = OtherMatvecShape;
    struct Args {
        Shape shape;
        const std::byte* w = nullptr;  // [groups * rows][cols]
        Activation x;                  // [groups][cols]
        float* y = nullptr;            // [groups * rows]
    };
    using Run = void (*)(const Args&, Range) noexcept;

    static void set_weight(Args& args, std::size_t /*index*/, const std::byte* w) { args.w = w; }

    // y[r] = Σ_c w[r][c] · x[r / rows][c]
    static std::int64_t rows(const Shape& shape, int /*phase*/) {
        return shape.groups * shape.rows;
    }
    static Cost cost(const Shape& shape) {
        const std::int64_t n_rows = shape.groups * shape.rows;
        return {.weight_bytes = n_rows * row_bytes(shape.type, shape.cols),
                .other_bytes = 4 * (n_rows + shape.groups * shape.cols),
                .flops = 2.0 * static_cast<double>(n_rows * shape.cols)};
    }
    static std::vector<Shape> model_shapes();
    static std::vector<Shape> odd_shapes(Random& random);
    static Case<OtherMatvec> make_case(const Shape& shape, Random& random, Input input);
    static double worst_error(const Case<OtherMatvec>& test_case);
};

}  // namespace steady
