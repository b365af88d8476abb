// The matvec on the packed layout rows16: a lane is a row, so there is no horizontal sum, one scale
// load serves sixteen rows, and the weights are one sequential stream. A variant names the form in
// which rows meet x.
#pragma once

#include "kernels/layouts/q4_0_rows16.h"
#include "kernels/q4_0_matvec/op.h"
#include "kernels/simd/target.h"

namespace steady::q4_0_rows16 {

template <int kMultiple>
bool whole_groups(const MatvecShape& shape) {
    return shape.rows % kMultiple == 0;
}

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)

template <class Form>
void matvec(const Q4_0Matvec::Args& args, Range range) noexcept {
    const std::int64_t n_blocks = args.shape.cols / 32;
    for (std::int64_t r = range.begin; r < range.end; r += kRows) {
        const std::int64_t first = r / args.shape.rows * n_blocks;
        const __m512 y = dot<Form>(args.w + r * n_blocks * 18, args.x, first, n_blocks);
        _mm512_storeu_ps(args.y + r, y);
    }
}

// Two groups per pass.
template <class Form>
void matvec_pair(const Q4_0Matvec::Args& args, Range range) noexcept {
    const std::int64_t n_blocks = args.shape.cols / 32;
    for (std::int64_t r = range.begin; r < range.end; r += 2 * kRows) {
        const std::byte* rows = args.w + r * n_blocks * 18;
        __m512 y[2];
        dot_pair<Form>(rows, rows + n_blocks * kBlockBytes, args.x, r / args.shape.rows * n_blocks,
                       n_blocks, y);
        _mm512_storeu_ps(args.y + r, y[0]);
        _mm512_storeu_ps(args.y + r + kRows, y[1]);
    }
}

KERNEL_TARGET_END

template <class Form>
VariantOptions<Q4_0Matvec> pair_options() {
    return options<Q4_0Matvec>(cpu::avx512_vnni, Form::input, 2 * kRows, whole_groups<2 * kRows>,
                               matvec_pair<Form>);
}

template <class Form>
VariantOptions<Q4_0Matvec> matvec_options() {
    return options<Q4_0Matvec>(cpu::avx512_vnni, Form::input, kRows, whole_groups<kRows>,
                               matvec<Form>);
}

}  // namespace steady::q4_0_rows16
