// Split-K: a row is cut into two halves with partial sums of their own, added at the end.
// Expected: no gain on a CPU, where one row's chain is already overlapped with the next one's by
// the out-of-order core; on a GPU the same idea fills idle lanes.
#include "kernels/layouts/q4_0_vnni.h"
#include "kernels/q4_0_matvec/op.h"
#include "kernels/simd/target.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)
namespace {

void run(const Q4_0Matvec::Args& args, Range range) noexcept {
    const std::int64_t n_blocks = args.shape.cols / 32;
    const std::int64_t half = n_blocks / 8 * 4;  // whole fours
    for (std::int64_t r = range.begin; r < range.end; ++r) {
        const std::int64_t first = r / args.shape.rows * n_blocks;
        const std::byte* row = args.w + r * n_blocks * 18;
        __m512 sums[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
        for (std::int64_t b = 0; b < half; b += 4) {
            for (int k = 0; k < 2; ++k) {
                const std::int64_t at = b + k * half;
                const q4_0_vnni::Quad x =
                    q4_0_vnni::load_quad(args.x.q8 + 32 * (first + at),
                                         args.x.q8_scale + first + at, args.x.q8_sum + first + at);
                sums[k] = q4_0_vnni::add_quad(row + 18 * at, x, sums[k]);
            }
        }
        float rest = 0;
        const std::int64_t at = 2 * half;
        q4_0_vnni::dots<1>(row + 18 * at, args.x.q8 + 32 * (first + at),
                           args.x.q8_scale + first + at, args.x.q8_sum + first + at, n_blocks - at,
                           &rest);
        args.y[r] = avx512::sum(_mm512_add_ps(sums[0], sums[1])) + rest;
    }
}

}  // namespace
KERNEL_TARGET_END

static const Variant<Q4_0Matvec> variant{
    "avx512_vnni_split_k", {.needs = cpu::avx512_vnni, .input = Input::q8, .run = run}};

}  // namespace steady
