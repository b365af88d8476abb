// As avx512_vnni_rows16_prefetch, two groups of rows per pass: gate with up, and thirty-two outputs
// of down. 8-bit activations, half the multiplications of avx512_vnni_rows16_q16_pair_prefetch.
// Expected: faster than that variant where multiplications are the bound and memory is not.
#include "kernels/q4_0_experts/rows16.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)
namespace {

using Form = q4_0_rows16::EightBit<4096>;

void run(const Q4_0Experts::Args& args, Range range) noexcept {
    range.phase == 0 ? q4_0_rows16::run_hidden<Form, true>(args, range)
                     : q4_0_rows16::run_down_pair<Form>(args, range);
}

}  // namespace
KERNEL_TARGET_END

static const Variant<Q4_0Experts> variant{"avx512_vnni_rows16_pair_prefetch",
                                          q4_0_rows16::experts_options<Form>(run)};

}  // namespace steady
