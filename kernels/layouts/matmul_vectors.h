// Where the activations of a tile of vectors lie, for the loops of matmul_rows16.h and
// matmul_avx2.h.
#pragma once

#include <array>

#include "kernels/matrix/matmul.h"

namespace steady {

struct MatmulVector {
    const std::int8_t* q8;
    const std::int8_t* low;   // q16 only
    const float* scale;       // [cols / 32]
    const std::int32_t* sum;  // [cols / 32]: q8_sum, or q16_sum for a q16 variant
};

// Vectors v … v + kN - 1 of the batch.
template <Input kInput, int kN>
std::array<MatmulVector, kN> matmul_vectors(const MatmulArgs& args, std::int64_t v) {
    constexpr bool kTwoBytes = kInput == Input::q16;
    const std::int64_t cols = args.shape.cols;
    std::array<MatmulVector, kN> x;
    for (int i = 0; i < kN; ++i) {
        const std::int64_t row = args.x_row[v + i];
        const std::int64_t block = row * (cols / 32);
        x[static_cast<std::size_t>(i)] = {
            args.x.q8 + row * cols, kTwoBytes ? args.x.q8_low + row * cols : nullptr,
            args.x.q8_scale + block, (kTwoBytes ? args.x.q16_sum : args.x.q8_sum) + block};
    }
    return x;
}

}  // namespace steady
