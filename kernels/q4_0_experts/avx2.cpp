// The experts with AVX2, row by row in the file's layout, SwiGLU and quantisation every 32 values.
// Expected: the best choice on a CPU without AVX-512.
#include "kernels/simd/avx2.h"

#include "kernels/q4_0_experts/op.h"
#include "kernels/simd/target.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX2)
namespace {

void run_hidden(const Q4_0Experts::Args& args, Range range) noexcept {
    const ExpertsShape& shape = args.shape;
    const std::int64_t n_blocks = shape.cols / 32;
    const std::int64_t stride = n_blocks * 18;
    for (std::int64_t r = range.begin; r < range.end; r += 32) {
        const std::int64_t row = args.expert_row(r);
        float gate[32];
        float up[32];
        for (int i = 0; i < 32; ++i) {
            const std::int64_t offset = (row + i) * stride;
            gate[i] = avx2::q4_0_dot(args.gate + offset, args.x.q8, args.x.q8_scale, n_blocks);
            up[i] = avx2::q4_0_dot(args.up + offset, args.x.q8, args.x.q8_scale, n_blocks);
        }
        for (int i = 0; i < 32; i += 8) {
            const __m256 h = avx2::swiglu(_mm256_loadu_ps(gate + i), _mm256_loadu_ps(up + i));
            _mm256_storeu_ps(gate + i, h);
        }
        avx2::quantize_block(gate, args.hidden_q8 + r, args.hidden_scale + r / 32,
                             args.hidden_sum + r / 32);
    }
}

void run_down(const Q4_0Experts::Args& args, Range range) noexcept {
    const ExpertsShape& shape = args.shape;
    const std::int64_t n_blocks = shape.hidden / 32;
    for (std::int64_t c = range.begin; c < range.end; ++c) {
        float y = 0;
        for (std::int64_t e = 0; e < shape.n_used; ++e) {
            const std::int64_t row = args.ids[e] * shape.cols + c;
            y += args.weights[e] * avx2::q4_0_dot(args.down + row * n_blocks * 18,
                                                  args.hidden_q8 + e * shape.hidden,
                                                  args.hidden_scale + e * n_blocks, n_blocks);
        }
        args.y[c] = y;
    }
}

void run(const Q4_0Experts::Args& args, Range range) noexcept {
    range.phase == 0 ? run_hidden(args, range) : run_down(args, range);
}

}  // namespace
KERNEL_TARGET_END

static const Variant<Q4_0Experts> variant{
    "avx2", {.needs = cpu::avx2, .granule = 32, .input = Input::q8, .run = run}};

}  // namespace steady
