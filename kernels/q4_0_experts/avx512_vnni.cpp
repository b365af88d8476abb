// The experts in the file's own layout: gate and up row by row, four rows per pass, SwiGLU and
// quantisation in the epilogue of each 32 hidden values, the weighted sum in the epilogue of down.
// Expected: behind the packed layout by what collecting scattered scales costs; no packing at load.
#include "kernels/layouts/q4_0_vnni.h"
#include "kernels/q4_0_experts/op.h"
#include "kernels/simd/target.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)
namespace {

void run_hidden(const Q4_0Experts::Args& args, Range range) noexcept {
    const ExpertsShape& shape = args.shape;
    const std::int64_t n_blocks = shape.cols / 32;
    const std::int64_t stride = n_blocks * 18;
    const Activation& x = args.x;
    for (std::int64_t r = range.begin; r < range.end; r += 32) {
        const std::int64_t row = args.expert_row(r);
        alignas(64) float gate[32];
        alignas(64) float up[32];
        for (int i = 0; i < 32; i += 4) {
            q4_0_vnni::dots<4>(args.gate + (row + i) * stride, x.q8, x.q8_scale, x.q8_sum, n_blocks,
                               gate + i);
        }
        for (int i = 0; i < 32; i += 4) {
            q4_0_vnni::dots<4>(args.up + (row + i) * stride, x.q8, x.q8_scale, x.q8_sum, n_blocks,
                               up + i);
        }
        const __m512 low = avx512::swiglu(_mm512_load_ps(gate), _mm512_load_ps(up));
        const __m512 high = avx512::swiglu(_mm512_load_ps(gate + 16), _mm512_load_ps(up + 16));
        avx512::quantize_block(low, high, args.hidden_q8 + r, args.hidden_scale + r / 32,
                               args.hidden_sum + r / 32);
    }
}

void run_down(const Q4_0Experts::Args& args, Range range) noexcept {
    const ExpertsShape& shape = args.shape;
    const std::int64_t n_blocks = shape.hidden / 32;
    for (std::int64_t c = range.begin; c < range.end; c += 4) {
        float y[4] = {};
        for (std::int64_t e = 0; e < shape.n_used; ++e) {
            const std::int64_t row = args.ids[e] * shape.cols + c;
            float part[4];
            q4_0_vnni::dots<4>(args.down + row * n_blocks * 18, args.hidden_q8 + e * shape.hidden,
                               args.hidden_scale + e * n_blocks, args.hidden_sum + e * n_blocks,
                               n_blocks, part);
            for (int i = 0; i < 4; ++i) y[i] += args.weights[e] * part[i];
        }
        for (int i = 0; i < 4; ++i) args.y[c + i] = y[i];
    }
}

void run(const Q4_0Experts::Args& args, Range range) noexcept {
    range.phase == 0 ? run_hidden(args, range) : run_down(args, range);
}

}  // namespace
KERNEL_TARGET_END

static const Variant<Q4_0Experts> variant{
    "avx512_vnni", {.needs = cpu::avx512_vnni, .granule = 32, .input = Input::q8, .run = run}};

}  // namespace steady
