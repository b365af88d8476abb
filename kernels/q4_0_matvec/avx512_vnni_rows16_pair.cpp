// Two groups of sixteen rows per pass: each broadcast of x serves both, and two memory streams run
// side by side. Expected: a gain where the weights are warm and broadcasts are the bound; none when
// they are cold, where one stream already keeps the memory busy.
#include "kernels/q4_0_matvec/rows16.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)
namespace {

using Form = q4_0_rows16::EightBit<>;

void run(const Q4_0Matvec::Args& args, Range range) noexcept {
    const std::int64_t n_blocks = args.shape.cols / 32;
    for (std::int64_t r = range.begin; r < range.end; r += 2 * q4_0_rows16::kRows) {
        const std::int64_t first = r / args.shape.rows * n_blocks;
        const std::byte* upper = args.w + r * n_blocks * 18;
        const std::byte* lower = upper + n_blocks * q4_0_rows16::kBlockBytes;
        __m512 y[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
        for (std::int64_t b = 0; b < n_blocks; ++b) {
            const std::int64_t at = b * q4_0_rows16::kBlockBytes;
            const float factor = Form::factor(args.x, first + b);
            y[0] = q4_0_rows16::add_block<Form>(upper + at, args.x, first + b, factor, y[0]);
            y[1] = q4_0_rows16::add_block<Form>(lower + at, args.x, first + b, factor, y[1]);
        }
        _mm512_storeu_ps(args.y + r, y[0]);
        _mm512_storeu_ps(args.y + r + q4_0_rows16::kRows, y[1]);
    }
}

}  // namespace
KERNEL_TARGET_END

static const Variant<Q4_0Matvec> variant{
    "avx512_vnni_rows16_pair",
    q4_0_rows16::options<Q4_0Matvec>(cpu::avx512_vnni, Input::q8, 2 * q4_0_rows16::kRows,
                                     q4_0_rows16::whole_groups<2 * q4_0_rows16::kRows>, run)};

}  // namespace steady
