// The loop of every matmul over a layout of sixteen rows side by side: for each sixteen rows, the
// group's vectors in tiles of up to kMost, so that weights are decoded once per tile and read from
// memory once. A Dot computes one tile; per vector it does what the matvec of the same layout does,
// in the same order, so that a batch gives the same bits.
#pragma once

#include "kernels/layouts/matmul_vectors.h"
#include "kernels/layouts/packed_rows.h"
#include "kernels/simd/avx512.h"
#include "kernels/simd/target.h"

namespace steady::matmul_rows16 {

constexpr std::int64_t kRows = 16;

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)

template <class Dot, int kN>
[[gnu::always_inline]] inline void tile(const MatmulArgs& args, std::int64_t r, std::int64_t v) {
    const MatmulShape& shape = args.shape;
    const auto x = matmul_vectors<Dot::kInput, kN>(args, v);
    __m512 y[kN];
    Dot::template run<kN>(args.w + r * row_bytes(Dot::kType, shape.cols), x, shape.cols, y);
    for (int i = 0; i < kN; ++i) {
        _mm512_storeu_ps(args.y + args.y_row[v + i] * shape.rows + r % shape.rows, y[i]);
    }
}

// Vectors [v, end) in tiles of kN, the rest in halves of it.
template <class Dot, int kN>
inline void tiles(const MatmulArgs& args, std::int64_t r, std::int64_t v, std::int64_t end) {
    for (; end - v >= kN; v += kN) tile<Dot, kN>(args, r, v);
    if constexpr (kN > 1) tiles<Dot, kN / 2>(args, r, v, end);
}

template <class Dot>
void run(const MatmulArgs& args, Range range) noexcept {
    for (std::int64_t r = range.begin; r < range.end; r += kRows) {
        const std::int64_t group = r / args.shape.rows;
        tiles<Dot, Dot::kMost>(args, r, args.first[group], args.first[group + 1]);
    }
}

// n vectors, of kN at most, in one tile.
template <class Dot, int kN>
inline void tile_of(const MatmulArgs& args, std::int64_t r, std::int64_t v, std::int64_t n) {
    if constexpr (kN > 1) {
        if (n < kN) return tile_of<Dot, kN - 1>(args, r, v, n);
    }
    tile<Dot, kN>(args, r, v);
}

// Vectors [v, end) in as few tiles as possible, of about the same size: weights are decoded no
// more often than needed.
template <class Dot>
inline void even_tiles(const MatmulArgs& args, std::int64_t r, std::int64_t v, std::int64_t end) {
    for (std::int64_t left = (end - v + Dot::kMost - 1) / Dot::kMost; left > 0; --left) {
        const std::int64_t n = (end - v + left - 1) / left;
        tile_of<Dot, Dot::kMost>(args, r, v, n);
        v += n;
    }
}

template <class Dot>
void run_even(const MatmulArgs& args, Range range) noexcept {
    for (std::int64_t r = range.begin; r < range.end; r += kRows) {
        const std::int64_t group = r / args.shape.rows;
        even_tiles<Dot>(args, r, args.first[group], args.first[group + 1]);
    }
}

KERNEL_TARGET_END

// kEven: tiles of about the same size, not of halves of the largest.
template <class Op, class Dot, bool kEven = false>
VariantOptions<Op> options(decltype(VariantOptions<Op>::pack) pack) {
    return packed_options<Op, kRows>(cpu::avx512_vnni, Dot::kInput, pack,
                                     in_whole_groups<MatmulShape, kRows>,
                                     kEven ? run_even<Dot> : run<Dot>);
}

}  // namespace steady::matmul_rows16
