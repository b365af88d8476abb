// The experts without intrinsics, for rungs that differ in how a row meets x.
#pragma once

#include <cmath>

#include "kernels/formats/formats.h"
#include "kernels/q4_0_experts/op.h"

namespace steady::experts_portable {

// The dot product of one row in GGUF layout with x.
using Dot = float (*)(const std::byte* row, const float* x, std::int64_t n_blocks);

template <Dot kDot>
void run(const Q4_0Experts::Args& args, Range range) noexcept {
    const ExpertsShape& shape = args.shape;
    for (std::int64_t r = range.begin; r < range.end && range.phase == 0; ++r) {
        const std::int64_t n_blocks = shape.cols / 32;
        const std::int64_t row = args.expert_row(r);
        const float gate = kDot(args.gate + row * n_blocks * 18, args.x.f32, n_blocks);
        const float up = kDot(args.up + row * n_blocks * 18, args.x.f32, n_blocks);
        // With e^-|gate|, which cannot overflow.
        const float e = std::exp(-std::fabs(gate));
        args.hidden[r] = (gate < 0 ? gate * e : gate) / (1.0F + e) * up;
    }
    for (std::int64_t c = range.begin; c < range.end && range.phase == 1; ++c) {
        const std::int64_t n_blocks = shape.hidden / 32;
        float sum = 0;
        for (std::int64_t e = 0; e < shape.n_used; ++e) {
            const std::int64_t row = args.ids[e] * shape.cols + c;
            sum += args.weights[e] *
                   kDot(args.down + row * n_blocks * 18, args.hidden + e * shape.hidden, n_blocks);
        }
        args.y[c] = sum;
    }
}

}  // namespace steady::experts_portable
