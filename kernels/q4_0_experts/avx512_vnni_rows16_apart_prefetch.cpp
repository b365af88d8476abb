// As avx512_vnni_rows16_pair_prefetch, but down goes through a stretch of one expert's outputs
// before the next expert's turn, as two memory streams half of the stretch apart; that variant
// turns to another expert after every 32 outputs. Gate and up are two long streams in both. The
// weights are fetched two kilobytes ahead, half as far as there. Expected: faster where memory is
// the bound, since fewer streams begin cold.
#include "kernels/q4_0_experts/rows16.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)
namespace {

using Form = q4_0_rows16::EightBit<2048>;
constexpr std::int64_t kRows = q4_0_rows16::kRows;

void run_down(const Q4_0Experts::Args& args, Range range) noexcept {
    const ExpertsShape& shape = args.shape;
    const std::int64_t n_blocks = shape.hidden / 32;
    const Activation hidden = args.hidden_activation();
    const std::int64_t half = (range.end - range.begin) / 2;
    for (std::int64_t e = 0; e < shape.n_used; ++e) {
        const __m512 weight = _mm512_set1_ps(args.weights[e]);
        for (std::int64_t c = range.begin; c < range.begin + half; c += kRows) {
            const std::byte* rows = args.down + (args.ids[e] * shape.cols + c) * n_blocks * 18;
            __m512 part[2];
            q4_0_rows16::dot_pair<Form>(rows, rows + half * n_blocks * 18, hidden, e * n_blocks,
                                        n_blocks, part);
            for (int k = 0; k < 2; ++k) {
                float* y = args.y + c + k * half;
                const __m512 before = e == 0 ? _mm512_setzero_ps() : _mm512_loadu_ps(y);
                _mm512_storeu_ps(y, _mm512_fmadd_ps(part[k], weight, before));
            }
        }
    }
}

void run(const Q4_0Experts::Args& args, Range range) noexcept {
    range.phase == 0 ? q4_0_rows16::run_hidden<Form, true>(args, range) : run_down(args, range);
}

}  // namespace
KERNEL_TARGET_END

static const Variant<Q4_0Experts> variant{"avx512_vnni_rows16_apart_prefetch",
                                          q4_0_rows16::experts_options<Form>(run)};

}  // namespace steady
