// As avx512_vnni_rows16_pair_prefetch, but the two groups of a pass lie half of the range apart:
// each of the two memory streams goes on where its last group ended, while those of a pair leap
// over each other at every group. The weights are fetched two kilobytes ahead, half as far as
// there. Expected: faster where memory is the bound, most on short rows, whose groups end soonest.
#include <algorithm>

#include "kernels/q4_0_matvec/rows16.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)
namespace {

using Form = q4_0_rows16::EightBit<2048>;
constexpr std::int64_t kRows = q4_0_rows16::kRows;

void run(const Q4_0Matvec::Args& args, Range range) noexcept {
    const std::int64_t n_blocks = args.shape.cols / 32;
    for (std::int64_t r = range.begin; r < range.end;) {  // one stretch for each x
        const std::int64_t n = std::min(range.end - r, args.shape.rows - r % args.shape.rows);
        const std::int64_t half = n / 2;
        const std::int64_t first = r / args.shape.rows * n_blocks;
        for (std::int64_t i = r; i < r + half; i += kRows) {
            const std::byte* rows = args.w + i * n_blocks * 18;
            __m512 y[2];
            q4_0_rows16::dot_pair<Form>(rows, rows + half * n_blocks * 18, args.x, first, n_blocks,
                                        y);
            _mm512_storeu_ps(args.y + i, y[0]);
            _mm512_storeu_ps(args.y + i + half, y[1]);
        }
        r += n;
    }
}

}  // namespace
KERNEL_TARGET_END

static const Variant<Q4_0Matvec> variant{
    "avx512_vnni_rows16_apart_prefetch",
    q4_0_rows16::options<Q4_0Matvec>(cpu::avx512_vnni, Form::input, 2 * kRows,
                                     q4_0_rows16::whole_groups<2 * kRows>, run)};

}  // namespace steady
