// The loop of every matmul over a layout of sixteen rows side by side with the tiles of AMX. Up to
// sixteen vectors are a tile; vectors that do not lie evenly, as an expert's, are copied once.
// Two stripes of sixteen rows go through part by part: a part's quants become bytes once and meet
// all tiles while they are in the nearest cache. Each product of two tiles takes one block of
// columns, and its sums are whole numbers with a scale each, which then become floats. Measured:
// tiles and vector instructions do not run at the same time, so nothing is woven. Per vector the
// floats are added in the order of the matvec of the same layout: the same bits.
#pragma once

#include <algorithm>
#include <cstring>

#include "kernels/layouts/matmul_rows16.h"
#include "kernels/simd/amx.h"
#include "kernels/simd/prefetch.h"

namespace steady::matmul_amx {

constexpr std::int64_t kRows = 16;       // of a stripe
constexpr int kMostStripes = 2;          // that meet a tile together
constexpr std::int64_t kVectors = 16;    // of a tile, at most
constexpr std::int64_t kColumns = 256;   // of a part
constexpr std::int64_t kMostTiles = 32;  // that meet a stripe together
constexpr std::int64_t kMostCols = 16384;
constexpr std::int64_t kLeftBytes = std::int64_t{1} << 19;  // of gathered vectors; on the stack

using PartBytes = std::byte[kRows * kColumns];

// A format of weights says:
//   kType, kInput;
//   kUnit: columns that share a scale of their own, 16 or 32;
//   Sums: SumsOf<kInput, kUnit>;
//   kFewest: vectors of a group from which tiles are worth their while;
//   few(args, rows, v, end): what computes fewer, for rows of one group;
//   unpack(packed, units, bytes): a part's quants as signed bytes, four columns of a row together;
//   add(packed, units, sums, x, first, total): puts a part's sums into the totals.
template <class Format>
constexpr std::int64_t kUnits = kColumns / Format::kUnit;  // of a part
template <class Format>
constexpr int kBytes = Format::kInput == Input::q16 ? 2 : 1;  // of an activation

// Of a part: [byte of the activations][vector][unit][row].
template <Input kInput, std::int64_t kUnit>
using SumsOf = std::int32_t[kInput == Input::q16 ? 2 : 1][kVectors][kColumns / kUnit][kRows];
template <class Format>
using Sums = typename Format::Sums;

// A tile's vectors: n of one group, from number v on.
struct Vectors {
    const MatmulArgs& args;
    std::int64_t v, n;
    const std::int64_t* first_block;  // [n], of the vector's scales and sums
    std::int64_t row(std::int64_t i) const { return args.x_row[v + i]; }
    // Of the vector's scales and sums: where the block of 32 columns from `column` on is.
    std::int64_t block(std::int64_t i, std::int64_t column) const {
        return first_block[i] + column / kActivationBlock;
    }
    // Whether the rows of x lie evenly, so that a tile can load them as they lie.
    bool even() const {
        for (std::int64_t i = 2; i < n; ++i) {
            if (row(i) - row(i - 1) != row(1) - row(0)) return false;
        }
        return true;
    }
};

template <class Format>
struct Scratch {
    alignas(64) Sums<Format> sums[kMostStripes];
    alignas(64) float total[kMostTiles][kMostStripes][kVectors][kRows];
    alignas(64) PartBytes right[2][kMostStripes];  // a part's, and the next one's
    alignas(64) std::byte left[kLeftBytes];        // [byte][tile][unit][vector][kUnit]
    std::int64_t first_block[kMostTiles][kVectors];
};

// Where the loop is: a part of the columns of some stripes.
struct Place {
    std::int64_t part = 0, stripe = 0;
    std::int64_t n = 0;  // of places before it
};

// Left factors: the first unit's first vector, and bytes from one to the next.
struct Left {
    const std::byte* first;
    std::int64_t vector, unit;
};

// The product of some rows of one group with some tiles of its vectors.
template <class Format>
struct Work {
    const MatmulArgs& args;
    Scratch<Format>& scratch;
    std::int64_t row = 0;         // the first one, of all groups
    std::int64_t v = 0, end = 0;  // the tiles' vectors
    std::int64_t n_vectors = 0;   // of a tile
    bool gathered = false;        // they are copied into scratch.left
    std::int64_t n_parts = 0, n_tiles = 0, n_stripes = 0;
    std::int64_t part_bytes = 0, stripe_bytes = 0;  // of packed weights

    std::int64_t stripes(const Place& at) const {
        return std::min<std::int64_t>(kMostStripes, n_stripes - at.stripe);
    }
    std::int64_t units(const Place& at) const {
        return std::min(kColumns, args.shape.cols - at.part * kColumns) / Format::kUnit;
    }
    const std::byte* packed(const Place& at, std::int64_t stripe) const {
        return args.w + (row / kRows + at.stripe + stripe) * stripe_bytes + at.part * part_bytes;
    }
    PartBytes (&right(const Place& at) const)[kMostStripes] { return scratch.right[at.n % 2]; }
    // Of a tile's part, for one byte of the activations.
    Left left(int byte, std::int64_t tile, std::int64_t part) const {
        const std::int64_t cols = args.shape.cols, column = part * kColumns;
        if (gathered) {
            return {scratch.left + ((byte * n_tiles + tile) * cols + column) * n_vectors,
                    Format::kUnit, Format::kUnit * n_vectors};
        }
        const std::int8_t* values = byte == 0 ? args.x.q8 : args.x.q8_low;
        const Vectors x = vectors(tile);
        return {reinterpret_cast<const std::byte*>(values) + x.row(0) * cols + column,
                n_vectors > 1 ? (x.row(1) - x.row(0)) * cols : 0, Format::kUnit};
    }
    // The last tile may share vectors with the one before.
    Vectors vectors(std::int64_t tile) const {
        return {args, std::min(v + tile * n_vectors, end - n_vectors), n_vectors,
                scratch.first_block[tile]};
    }
    bool done(const Place& at) const { return at.stripe >= n_stripes; }
    Place after(Place at) const {
        ++at.n;
        if (++at.part == n_parts) {
            at.part = 0;
            at.stripe += kMostStripes;
        }
        return at;
    }
};

KERNEL_TARGET_BEGIN(KERNEL_AMX)

// Copies the tiles' vectors in the order that left factors have.
template <class Format>
void gather(const Work<Format>& work) {
    constexpr std::size_t kUnit = Format::kUnit;
    const std::int64_t cols = work.args.shape.cols;
    std::byte* to = work.scratch.left;
    for (int byte = 0; byte < kBytes<Format>; ++byte) {
        const std::int8_t* values = byte == 0 ? work.args.x.q8 : work.args.x.q8_low;
        for (std::int64_t tile = 0; tile < work.n_tiles; ++tile) {
            const Vectors x = work.vectors(tile);
            const std::int8_t* from[kVectors];
            for (std::int64_t i = 0; i < x.n; ++i) from[i] = values + x.row(i) * cols;
            for (std::int64_t c = 0; c < cols; c += kUnit) {
                for (std::int64_t i = 0; i < x.n; ++i, to += kUnit) {
                    std::memcpy(to, from[i] + c, kUnit);
                }
            }
        }
    }
}

// Brings a tile's part of the vectors into the nearest cache.
template <class Format>
void fetch_left(const Work<Format>& work, const Place& at, std::int64_t tile) {
    const auto fetch_from = [](const std::byte* from, std::int64_t bytes) {
        for (std::int64_t i = 0; i < bytes; i += 64) {
            _mm_prefetch(reinterpret_cast<const char*>(from + i), _MM_HINT_T0);
        }
    };
    const std::int64_t bytes = work.units(at) * Format::kUnit;
    for (int byte = 0; byte < kBytes<Format>; ++byte) {
        const Left left = work.left(byte, tile, at.part);
        if (work.gathered) {
            fetch_from(left.first, bytes * work.n_vectors);
            continue;
        }
        for (std::int64_t i = 0; i < work.n_vectors; ++i) {
            fetch_from(left.first + i * left.vector, bytes);
        }
    }
}

// A part of one tile's vectors, for one byte of the activations.
template <class Format>
struct Factors {
    static constexpr std::int64_t kRightStep = Format::kUnit * kRows;  // bytes from unit to unit
    Left left;
    const PartBytes* right;  // [stripe]
    std::int32_t (*sums[kMostStripes])[kRows];
};

// Multiplies unit u of a tile with kStripes stripes: into registers 0 and 1, or 2 and 3.
template <class Format, int kStripes, int kOdd>
[[gnu::always_inline]] inline void multiply(const Factors<Format>& of, std::int64_t u) {
    constexpr int kLeft = 4 + kOdd, kSum = 2 * kOdd;
    const std::int64_t at = u * Factors<Format>::kRightStep;
    amx::load<kLeft>(of.left.first + u * of.left.unit, of.left.vector);
    amx::load<6>(of.right[0] + at);
    amx::zero<kSum>();
    amx::dot<amx::Signs::both, kSum, kLeft, 6>();
    if constexpr (kStripes == 1) return;
    amx::load<7>(of.right[1] + at);
    amx::zero<kSum + 1>();
    amx::dot<amx::Signs::both, kSum + 1, kLeft, 7>();
}

template <class Format, int kStripes, int kOdd>
[[gnu::always_inline]] inline void store(const Factors<Format>& of, std::int64_t u) {
    constexpr std::int64_t kStride = kUnits<Format> * kRows * sizeof(std::int32_t);
    amx::store<2 * kOdd>(of.sums[0][u], kStride);
    if constexpr (kStripes == 2) amx::store<2 * kOdd + 1>(of.sums[1][u], kStride);
}

// Makes the sums of a part. A store waits for the sums that it takes, and what comes next waits for
// the store, so that a unit's sums are stored when the next one's products have begun.
template <class Format, int kStripes>
void start(const Factors<Format>& of, std::int64_t n_units) {
    std::int64_t u = 0;
    for (; u + 2 <= n_units; u += 2) {
        multiply<Format, kStripes, 0>(of, u);
        if (u > 0) store<Format, kStripes, 1>(of, u - 1);
        multiply<Format, kStripes, 1>(of, u + 1);
        store<Format, kStripes, 0>(of, u);
    }
    if (u > 0) store<Format, kStripes, 1>(of, u - 1);
    if (u == n_units) return;
    multiply<Format, kStripes, 0>(of, u);
    store<Format, kStripes, 0>(of, u);
}

template <class Format>
void start(const Work<Format>& work, const Place& at, std::int64_t tile) {
    auto& sums = work.scratch.sums;
    for (int byte = 0; byte < kBytes<Format>; ++byte) {
        const Factors<Format> of{
            work.left(byte, tile, at.part), work.right(at), {sums[0][byte][0], sums[1][byte][0]}};
        work.stripes(at) == 2 ? start<Format, 2>(of, work.units(at))
                              : start<Format, 1>(of, work.units(at));
    }
}

// A part's sums become floats; the last part's are the tile's results.
template <class Format>
void finish(const Work<Format>& work, const Place& at, std::int64_t tile) {
    const Vectors x = work.vectors(tile);
    const std::int64_t rows = work.args.shape.rows;
    for (std::int64_t stripe = 0; stripe < work.stripes(at); ++stripe) {
        auto& total = work.scratch.total[tile][stripe];
        if (at.part == 0) std::memset(total, 0, sizeof total);
        Format::add(work.packed(at, stripe), work.units(at), work.scratch.sums[stripe], x,
                    at.part * kColumns, total);
        if (at.part + 1 < work.n_parts) continue;
        const std::int64_t r = (work.row + (at.stripe + stripe) * kRows) % rows;
        for (std::int64_t i = 0; i < x.n; ++i) {
            _mm512_storeu_ps(work.args.y + work.args.y_row[x.v + i] * rows + r,
                             _mm512_load_ps(total[i]));
        }
    }
}

// Before the part ahead of it is multiplied: a tile's load waits until what it reads has reached
// the cache.
template <class Format>
void unpack(const Work<Format>& work, const Place& at) {
    if (work.done(at)) return;
    for (std::int64_t stripe = 0; stripe < work.stripes(at); ++stripe) {
        Format::unpack(work.packed(at, stripe), work.units(at), work.right(at)[stripe]);
    }
}

template <class Format>
void multiply_tiles(const Work<Format>& work) {
    for (std::int64_t tile = 0; tile < work.n_tiles; ++tile) {
        const Vectors x = work.vectors(tile);
        for (std::int64_t i = 0; i < x.n; ++i) {
            work.scratch.first_block[tile][i] = x.row(i) * work.args.shape.cols / kActivationBlock;
        }
    }
    if (work.gathered) gather(work);
    unpack(work, Place{});
    for (Place at; !work.done(at); at = work.after(at)) {
        const Place next = work.after(at);
        unpack(work, next);
        for (std::int64_t tile = 0; tile < work.n_tiles; ++tile) {
            start(work, at, tile);
            if (tile + 1 < work.n_tiles) {
                fetch_left(work, at, tile + 1);
            } else if (!work.done(next)) {
                fetch_left(work, next, 0);
            }
            finish(work, at, tile);
        }
    }
}

template <class Format>
void multiply_group(const MatmulArgs& args, Range rows, std::int64_t v, std::int64_t end) {
    const std::int64_t cols = args.shape.cols;
    const std::int64_t n_tiles = (end - v + kVectors - 1) / kVectors;
    const std::int64_t n_vectors = (end - v + n_tiles - 1) / n_tiles;
    const bool gathered = !Vectors{args, v, end - v, nullptr}.even();
    const std::int64_t fit = kLeftBytes / (cols * n_vectors * kBytes<Format>);
    const std::int64_t most = gathered ? std::min(kMostTiles, fit) : kMostTiles;
    const amx::Tiles<2, 2> tiles(Format::kUnit, n_vectors);
    Scratch<Format> scratch;
    for (std::int64_t tile = 0; tile < n_tiles; tile += most) {
        const std::int64_t n = std::min(most, n_tiles - tile);
        const std::int64_t to = std::min(end, v + (tile + n) * n_vectors);
        multiply_tiles(Work<Format>{
            args, scratch, rows.begin, std::max(v, to - n * n_vectors), to, n_vectors, gathered,
            (cols + kColumns - 1) / kColumns, n, (rows.end - rows.begin) / kRows,
            kRows * row_bytes(Format::kType, kColumns), kRows * row_bytes(Format::kType, cols)});
    }
}

template <class Format>
void run(const MatmulArgs& args, Range range) noexcept {
    for (std::int64_t r = range.begin; r < range.end;) {
        const std::int64_t group = r / args.shape.rows;
        const Range rows{r, std::min(range.end, (group + 1) * args.shape.rows), 0};
        const std::int64_t v = args.first[group], end = args.first[group + 1];
        if (end - v < Format::kFewest) {
            Format::few(args, rows, v, end);
        } else {
            multiply_group<Format>(args, rows, v, end);
        }
        r = rows.end;
    }
}

// What add does where each unit of 32 columns has one scale, which packed units of kUnitBytes begin
// with.
template <class Format, int kN>
[[gnu::always_inline]] inline void add_units(const std::byte* packed, std::int64_t u,
                                             const Sums<Format>& sums, const Vectors& x,
                                             std::int64_t first, float (&total)[kVectors][kRows]) {
    __m512 d[kN];
    for (int s = 0; s < kN; ++s) {
        d[s] = avx512::halves(packed + (u + s) * Format::kUnitBytes);
        if (kBytes<Format> == 2) d[s] = _mm512_mul_ps(d[s], _mm512_set1_ps(1.0F / 256.0F));
    }
    const auto add = [&](std::int64_t i, const float* scale, int s, __m512 sum) {
        __m512i exact = avx512::load(sums[0][i][u + s]);
        if constexpr (kBytes<Format> == 2) {
            exact = _mm512_add_epi32(_mm512_slli_epi32(exact, 8), avx512::load(sums[1][i][u + s]));
        }
        return _mm512_fmadd_ps(_mm512_cvtepi32_ps(exact),
                               _mm512_mul_ps(d[s], _mm512_set1_ps(scale[s])), sum);
    };
    const float* scales = x.args.x.q8_scale + first / kActivationBlock + u;
    std::int64_t i = 0;
    for (; i + 2 <= x.n; i += 2) {
        const float* scale_a = scales + x.first_block[i];
        const float* scale_b = scales + x.first_block[i + 1];
        __m512 a = _mm512_load_ps(total[i]), b = _mm512_load_ps(total[i + 1]);
        for (int s = 0; s < kN; ++s) {
            a = add(i, scale_a, s, a);
            b = add(i + 1, scale_b, s, b);
        }
        _mm512_store_ps(total[i], a);
        _mm512_store_ps(total[i + 1], b);
    }
    for (; i < x.n; ++i) {
        __m512 a = _mm512_load_ps(total[i]);
        for (int s = 0; s < kN; ++s) a = add(i, scales + x.first_block[i], s, a);
        _mm512_store_ps(total[i], a);
    }
}
template <class Format>
[[gnu::always_inline]] inline void add_blocks(const std::byte* packed, std::int64_t units,
                                              const Sums<Format>& sums, const Vectors& x,
                                              std::int64_t first, float (&total)[kVectors][kRows]) {
    if (units == kUnits<Format>) {
        return add_units<Format, kUnits<Format>>(packed, 0, sums, x, first, total);
    }
    for (std::int64_t u = 0; u < units; ++u) {
        add_units<Format, 1>(packed, u, sums, x, first, total);
    }
}

KERNEL_TARGET_END

template <class Op, class Format>
VariantOptions<Op> options(decltype(VariantOptions<Op>::pack) pack) {
    return packed_options<Op, kRows>(
        cpu::amx, Format::kInput, pack,
        [](const MatmulShape& shape) { return shape.rows % kRows == 0 && shape.cols <= kMostCols; },
        run<Format>);
}

}  // namespace steady::matmul_amx
