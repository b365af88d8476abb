// The layout rows16 with 16-bit activations: each weight byte meets the value's high and low byte,
// so the activation's rounding all but vanishes. Expected: as fast as avx512_vnni_rows16 wherever
// memory is the bound, since only multiplications are added; logits 50 times closer to the exact
// ones.
#include "kernels/base/q4_0_rows16.h"
#include "kernels/base/target.h"
#include "kernels/q4_0_matvec/op.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)
namespace {

void run(const Q4_0Matvec::Args& args, Range range) noexcept {
    const MatvecShape& shape = args.shape;
    const std::int64_t n_blocks = shape.cols / 32;
    for (std::int64_t r = range.begin; r < range.end; r += q4_0_rows16::kRows) {
        const std::int64_t first_block = r / shape.rows * n_blocks;
        const __m512 y =
            q4_0_rows16::dot16(args.w + r * n_blocks * 18, args.x.q8 + first_block * 32,
                               args.x.q8_low + first_block * 32, args.x.q8_scale + first_block,
                               args.x.q16_sum + first_block, n_blocks);
        _mm512_storeu_ps(args.y + r, y);
    }
}

}  // namespace
KERNEL_TARGET_END

static const Variant<Q4_0Matvec> variant{
    "avx512_vnni_rows16_q16",
    {
        .needs = cpu::avx512_vnni,
        .supports = [](const MatvecShape& shape) { return shape.rows % 16 == 0; },
        .granule = q4_0_rows16::kRows,
        .input = Input::q16,
        .layout = "rows16",
        .pack_rows = q4_0_rows16::kRows,
        .packed_bytes = q4_0_rows16::packed_bytes,
        .pack = q4_0_rows16::pack,
        .run = run,
    }};

}  // namespace steady
