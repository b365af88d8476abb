// As avx512_vnni_rows16, with 16-bit activations in both products: the quantisation in the epilogue
// writes two bytes per value. Expected: as fast where memory is the bound, and far closer to exact.
#include "kernels/base/q16.h"
#include "kernels/base/q4_0_rows16.h"
#include "kernels/base/target.h"
#include "kernels/q4_0_experts/op.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)
namespace {

void run_hidden(const Q4_0Experts::Args& args, Range range) noexcept {
    const ExpertsShape& shape = args.shape;
    const std::int64_t n_blocks = shape.cols / 32;
    for (std::int64_t r = range.begin; r < range.end; r += 32) {
        const std::int64_t row = args.ids[r / shape.hidden] * shape.hidden + r % shape.hidden;
        __m512 h[2];
        for (int half = 0; half < 2; ++half) {
            const std::int64_t offset = (row + 16 * half) * n_blocks * 18;
            const Activation& x = args.x;
            const __m512 gate = q4_0_rows16::dot16(args.gate + offset, x.q8, x.q8_low, x.q8_scale,
                                                   x.q16_sum, n_blocks);
            const __m512 up = q4_0_rows16::dot16(args.up + offset, x.q8, x.q8_low, x.q8_scale,
                                                 x.q16_sum, n_blocks);
            h[half] = avx512::swiglu(gate, up);
        }
        q16::quantize_block(h[0], h[1], args.hidden_q8 + r, args.hidden_low + r,
                            args.hidden_scale + r / 32, args.hidden_sum + r / 32);
    }
}

void run_down(const Q4_0Experts::Args& args, Range range) noexcept {
    const ExpertsShape& shape = args.shape;
    const std::int64_t n_blocks = shape.hidden / 32;
    for (std::int64_t c = range.begin; c < range.end; c += 16) {
        __m512 y = _mm512_setzero_ps();
        for (std::int64_t e = 0; e < shape.n_used; ++e) {
            const std::int64_t row = args.ids[e] * shape.cols + c;
            const __m512 part = q4_0_rows16::dot16(
                args.down + row * n_blocks * 18, args.hidden_q8 + e * shape.hidden,
                args.hidden_low + e * shape.hidden, args.hidden_scale + e * n_blocks,
                args.hidden_sum + e * n_blocks, n_blocks);
            y = _mm512_fmadd_ps(part, _mm512_set1_ps(args.weights[e]), y);
        }
        _mm512_storeu_ps(args.y + c, y);
    }
}

void run(const Q4_0Experts::Args& args, Range range) noexcept {
    range.phase == 0 ? run_hidden(args, range) : run_down(args, range);
}

}  // namespace
KERNEL_TARGET_END

static const Variant<Q4_0Experts> variant{"avx512_vnni_rows16_q16",
                                          {
                                              .needs = cpu::avx512_vnni,
                                              .granule = 32,
                                              .input = Input::q16,
                                              .layout = "rows16",
                                              .pack_rows = q4_0_rows16::kRows,
                                              .packed_bytes = q4_0_rows16::packed_bytes,
                                              .pack = q4_0_rows16::pack,
                                              .run = run,
                                          }};

}  // namespace steady
