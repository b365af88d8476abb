// Weighting before down: an expert's weight goes into the scales of its hidden values, and what
// down gives is added up as it is. Expected: no gain here, since the weighting that it saves is one
// multiplication per expert and sixteen outputs; on a GPU the idea saved a pass over the outputs.
#include "kernels/q4_0_experts/rows16.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)
namespace {

using Form = q4_0_rows16::EightBit<>;

void run_down(const Q4_0Experts::Args& args, Range range) noexcept {
    const ExpertsShape& shape = args.shape;
    const std::int64_t n_blocks = shape.hidden / 32;
    const Activation hidden = args.hidden_activation();
    for (std::int64_t c = range.begin; c < range.end; c += q4_0_rows16::kRows) {
        __m512 y = _mm512_setzero_ps();
        for (std::int64_t e = 0; e < shape.n_used; ++e) {
            __m512 part = _mm512_setzero_ps();
            const std::byte* rows = args.down + (args.ids[e] * shape.cols + c) * n_blocks * 18;
            for (std::int64_t b = 0; b < n_blocks; ++b) {
                const std::int64_t at = e * n_blocks + b;
                const float factor = args.weights[e] * Form::factor(hidden, at);
                part = q4_0_rows16::add_block<Form>(rows + b * q4_0_rows16::kBlockBytes, hidden, at,
                                                    factor, part);
            }
            y = _mm512_add_ps(y, part);
        }
        _mm512_storeu_ps(args.y + c, y);
    }
}

void run(const Q4_0Experts::Args& args, Range range) noexcept {
    range.phase == 0 ? q4_0_rows16::run_hidden<Form>(args, range) : run_down(args, range);
}

}  // namespace
KERNEL_TARGET_END

static const Variant<Q4_0Experts> variant{"avx512_vnni_rows16_weight_first",
                                          q4_0_rows16::experts_options<Form>(run)};

}  // namespace steady
