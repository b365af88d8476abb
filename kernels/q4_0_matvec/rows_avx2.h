// The matvec on packed rows with AVX2: a lane is a row, so there is no horizontal sum, one scale
// load serves eight rows, and a block widens from sixteen bits only once. A variant names the form
// in which rows meet x: its layout, how many rows go together, and what it reads of x.
#pragma once

#include "kernels/layouts/q4_0_rows8.h"
#include "kernels/q4_0_matvec/op.h"

namespace steady::q4_0_rows_avx2 {

template <class Form>
bool whole_groups(const MatvecShape& shape) {
    return shape.rows % Form::kRows == 0;
}

KERNEL_TARGET_BEGIN(KERNEL_AVX2)

template <class Form>
void matvec(const Q4_0Matvec::Args& args, Range range) noexcept {
    const std::int64_t n_blocks = args.shape.cols / 32;
    for (std::int64_t r = range.begin; r < range.end; r += Form::kRows) {
        const std::int64_t first = r / args.shape.rows * n_blocks;
        __m256 y[Form::kRows / 8];
        Form::dot(args.w + r * n_blocks * 18, args.x, first, n_blocks, y);
        for (int i = 0; i < Form::kRows / 8; ++i) _mm256_storeu_ps(args.y + r + 8 * i, y[i]);
    }
}

KERNEL_TARGET_END

template <class Form>
VariantOptions<Q4_0Matvec> matvec_options(Q4_0Matvec::Run run = matvec<Form>) {
    return Form::template options<Q4_0Matvec>(Form::kRows, whole_groups<Form>, run);
}

}  // namespace steady::q4_0_rows_avx2
