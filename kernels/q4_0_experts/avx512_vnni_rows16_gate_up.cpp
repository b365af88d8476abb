// Gate and up fused down to the block: both matrices' rows in one pass, so that each broadcast of x
// serves two rows and two memory streams run side by side. Expected: a gain when the weights are
// warm; little when they are cold, where avx512_vnni_rows16 already waits for memory.
#include "kernels/q4_0_experts/rows16.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)
namespace {

using Form = q4_0_rows16::EightBit<>;

void run(const Q4_0Experts::Args& args, Range range) noexcept {
    range.phase == 0 ? q4_0_rows16::run_hidden<Form, true>(args, range)
                     : q4_0_rows16::run_down<Form>(args, range);
}

}  // namespace
KERNEL_TARGET_END

static const Variant<Q4_0Experts> variant{"avx512_vnni_rows16_gate_up",
                                          q4_0_rows16::experts_options<Form>(run)};

}  // namespace steady
