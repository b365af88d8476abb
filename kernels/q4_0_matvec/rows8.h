// The matvec on the packed layout rows8 with AVX2: a lane is a row, so there is no horizontal sum,
// one scale load serves eight rows, and a block widens from sixteen bits only once. A variant names
// the form in which rows meet x.
#pragma once

#include "kernels/base/q4_0_rows8.h"
#include "kernels/q4_0_matvec/op.h"

namespace steady::q4_0_rows8 {

inline bool whole_groups(const MatvecShape& shape) { return shape.rows % kRows == 0; }

KERNEL_TARGET_BEGIN(KERNEL_AVX2)

template <class Form>
void matvec(const Q4_0Matvec::Args& args, Range range) noexcept {
    const std::int64_t n_blocks = args.shape.cols / 32;
    for (std::int64_t r = range.begin; r < range.end; r += kRows) {
        const std::int64_t first = r / args.shape.rows * n_blocks;
        const __m256 y = dot<Form>(args.w + r * n_blocks * 18, args.x, first, n_blocks);
        _mm256_storeu_ps(args.y + r, y);
    }
}

KERNEL_TARGET_END

template <class Form>
VariantOptions<Q4_0Matvec> matvec_options() {
    return options<Q4_0Matvec>(cpu::avx2, Form::input, kRows, whole_groups, matvec<Form>);
}

}  // namespace steady::q4_0_rows8
