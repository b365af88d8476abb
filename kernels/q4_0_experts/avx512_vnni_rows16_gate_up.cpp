// Gate and up fused down to the block: both matrices' rows in one pass, so that each broadcast of x
// serves two rows and two memory streams run side by side. Expected: a gain when the weights are
// warm; little when they are cold, where avx512_vnni_rows16 already waits for memory.
#include "kernels/q4_0_experts/rows16.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)
namespace {

using Form = q4_0_rows16::EightBit<>;

void run_hidden(const Q4_0Experts::Args& args, Range range) noexcept {
    const std::int64_t n_blocks = args.shape.cols / 32;
    for (std::int64_t r = range.begin; r < range.end; r += q4_0_rows16::kHiddenBlock) {
        const std::int64_t row = q4_0_rows16::expert_row(args, r);
        __m512 gate[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
        __m512 up[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
        for (int half = 0; half < 2; ++half) {
            for (std::int64_t b = 0; b < n_blocks; ++b) {
                const std::int64_t at =
                    (row + 16 * half) * n_blocks * 18 + b * q4_0_rows16::kBlockBytes;
                const float factor = Form::factor(args.x, b);
                gate[half] =
                    q4_0_rows16::add_block<Form>(args.gate + at, args.x, b, factor, gate[half]);
                up[half] = q4_0_rows16::add_block<Form>(args.up + at, args.x, b, factor, up[half]);
            }
        }
        q4_0_rows16::finish_hidden<Form>(args, r, gate, up);
    }
}

void run(const Q4_0Experts::Args& args, Range range) noexcept {
    range.phase == 0 ? run_hidden(args, range) : q4_0_rows16::run_down<Form>(args, range);
}

}  // namespace
KERNEL_TARGET_END

static const Variant<Q4_0Experts> variant{"avx512_vnni_rows16_gate_up",
                                          q4_0_rows16::experts_options<Form>(run)};

}  // namespace steady
