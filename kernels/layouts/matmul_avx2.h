// The loop of every matmul with AVX2: for each group of packed rows, the vectors in tiles of up to
// kMost, so that weights are decoded once per tile and come from memory once. A Dot computes eight
// rows of a tile; per vector it does what the matvec of the same layout does, in the same order, so
// that a batch gives the same bits. What matmul_rows16.h is to AVX-512.
#pragma once

#include "kernels/layouts/matmul_vectors.h"
#include "kernels/layouts/packed_rows.h"
#include "kernels/simd/avx2.h"
#include "kernels/simd/target.h"

namespace steady::matmul_avx2 {

KERNEL_TARGET_BEGIN(KERNEL_AVX2)

template <class Dot, int kN>
void tile(const MatmulArgs& args, std::int64_t r, std::int64_t v) {
    const MatmulShape& shape = args.shape;
    const auto x = matmul_vectors<Dot::kInput, kN>(args, v);
    const std::byte* rows = args.w + r * row_bytes(Dot::kType, shape.cols);
    for (int first = 0; first < Dot::kRows; first += 8) {
        __m256 y[kN];
        Dot::template run<kN>(rows, first, x, shape.cols, y);
        for (int i = 0; i < kN; ++i) {
            float* to = args.y + args.y_row[v + i] * shape.rows + r % shape.rows + first;
            _mm256_storeu_ps(to, y[i]);
        }
    }
}

// Vectors [v, end) in tiles of kN, the rest in halves of it.
template <class Dot, int kN>
void tiles(const MatmulArgs& args, std::int64_t r, std::int64_t v, std::int64_t end) {
    for (; end - v >= kN; v += kN) tile<Dot, kN>(args, r, v);
    if constexpr (kN > 1) tiles<Dot, kN / 2>(args, r, v, end);
}

template <class Dot>
void run(const MatmulArgs& args, Range range) noexcept {
    for (std::int64_t r = range.begin; r < range.end; r += Dot::kRows) {
        const std::int64_t group = r / args.shape.rows;
        tiles<Dot, Dot::kMost>(args, r, args.first[group], args.first[group + 1]);
    }
}

KERNEL_TARGET_END

template <class Op, class Dot>
VariantOptions<Op> options(decltype(VariantOptions<Op>::pack) pack) {
    return packed_options<Op, Dot::kRows>(cpu::avx2, Dot::kInput, pack,
                                          in_whole_groups<MatmulShape, Dot::kRows>, run<Dot>);
}

}  // namespace steady::matmul_avx2
