// The loop of matmul_rows16.h, blocked for a core's second-level cache: a stretch of rows meets a
// panel of vectors before the next panel's turn, and both fit. So a batch of hundreds of tokens
// reads neither weights nor vectors from memory again and again. Same sums, same order, same bits.
#pragma once

#include <algorithm>

#include "kernels/layouts/matmul_rows16.h"

namespace steady::matmul_panels {

constexpr std::int64_t kStretchBytes = 192 << 10;  // of weights
constexpr std::int64_t kPanelBytes = 192 << 10;    // of 8-bit vectors

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)

// As many whole units of `unit` things as fit, one unit at least.
inline std::int64_t that_fit(std::int64_t bytes, std::int64_t bytes_each, std::int64_t unit) {
    return std::max(bytes / bytes_each / unit * unit, unit);
}

// The tiles of matmul_rows16.h, of sixteen rows and vectors [v, end).
template <class Dot>
struct DotTiles : Dot {
    static constexpr std::int64_t kRows = matmul_rows16::kRows;
    static void run(const MatmulArgs& args, std::int64_t r, std::int64_t v, std::int64_t end) {
        matmul_rows16::even_tiles<Dot>(args, r, v, end);
    }
};

template <class Tiles>
void run(const MatmulArgs& args, Range range) noexcept {
    const MatmulShape& shape = args.shape;
    const std::int64_t stretch =
        that_fit(kStretchBytes, row_bytes(Tiles::kType, shape.cols), Tiles::kRows);
    const std::int64_t panel = that_fit(kPanelBytes, shape.cols, Tiles::kMost);
    for (std::int64_t r = range.begin; r < range.end;) {
        const std::int64_t group = r / shape.rows;
        const std::int64_t end = std::min({range.end, r + stretch, (group + 1) * shape.rows});
        const std::int64_t last = args.first[group + 1];
        for (std::int64_t v = args.first[group]; v < last; v += panel) {
            for (std::int64_t i = r; i < end; i += Tiles::kRows) {
                Tiles::run(args, i, v, std::min(v + panel, last));
            }
        }
        r = end;
    }
}

KERNEL_TARGET_END

template <class Op, class Tiles>
VariantOptions<Op> options(decltype(VariantOptions<Op>::pack) pack) {
    return packed_options<Op, matmul_rows16::kRows>(cpu::avx512_vnni, Tiles::kInput, pack,
                                                    in_whole_groups<MatmulShape, Tiles::kRows>,
                                                    run<Tiles>, Tiles::kRows);
}

}  // namespace steady::matmul_panels
