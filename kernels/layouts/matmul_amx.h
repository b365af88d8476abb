// The loop of every matmul over a layout of sixteen rows side by side with the tiles of AMX. A
// stripe of sixteen rows becomes bytes once for all vectors of its group; then each product of two
// tiles takes one block of columns of up to sixteen vectors. The blocks' sums are whole numbers
// with a scale each, and turning them into floats costs more than the products do. So the sums of
// one part of the columns are made while those of the part before become floats, and the bytes of
// the part after them lie ready. Per vector the floats are added in the order of the matvec of the
// same layout: the same bits.
#pragma once

#include <algorithm>
#include <cstring>

#include "kernels/layouts/matmul_rows16.h"
#include "kernels/simd/amx.h"
#include "kernels/simd/prefetch.h"

namespace steady::matmul_amx {

constexpr std::int64_t kRows = 16;         // of a stripe
constexpr std::int64_t kVectors = 16;      // of a tile, at most
constexpr std::int64_t kColumns = 256;     // of a part
constexpr std::int64_t kMostCols = 16384;  // two stripes' bytes live on the stack
constexpr std::int64_t kMostParts = kMostCols / kColumns;

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
    std::int64_t row(std::int64_t i) const { return args.x_row[v + i]; }
    // Of the vector's scales and sums: where the block of 32 columns from `column` on is.
    std::int64_t block(std::int64_t i, std::int64_t column) const {
        return (row(i) * args.shape.cols + column) / kActivationBlock;
    }
    // Whether the rows of x lie evenly, so that a tile can load them as they lie.
    bool even() const {
        for (std::int64_t i = 2; i < n; ++i) {
            if (row(i) - row(i - 1) != row(1) - row(0)) return false;
        }
        return true;
    }
    std::int64_t step() const { return n > 1 ? row(1) - row(0) : 0; }
};

// Where the loop is: part of the columns, tile of the vectors, stripe of the rows.
struct Place {
    std::int64_t part = 0, tile = 0, stripe = 0;
    std::int64_t n = 0;  // of places before it
};

template <class Format>
struct Scratch {
    alignas(64) Sums<Format> sums[2];
    alignas(64) float total[kVectors][kRows];
    alignas(64) std::byte gathered[kVectors][kColumns];
    alignas(64) PartBytes bytes[2 * kMostParts];
};

// The product of some rows of one group with its vectors.
template <class Format>
struct Work {
    const MatmulArgs& args;
    Scratch<Format>& scratch;
    std::int64_t row = 0;         // the first one, of all groups
    std::int64_t v = 0, end = 0;  // the group's vectors
    std::int64_t n_vectors = 0;   // of a tile
    std::int64_t n_parts = 0, n_tiles = 0, n_stripes = 0;
    std::int64_t part_bytes = 0, stripe_bytes = 0;  // of packed weights

    std::int64_t units(const Place& at) const {
        return std::min(kColumns, args.shape.cols - at.part * kColumns) / Format::kUnit;
    }
    const std::byte* packed(const Place& at) const {
        return args.w + (row / kRows + at.stripe) * stripe_bytes + at.part * part_bytes;
    }
    // A ring where each stripe's bytes are used once, else two stripes'.
    PartBytes& right(const Place& at) const {
        return scratch.bytes[n_tiles == 1 ? at.n % 4 : at.stripe % 2 * n_parts + at.part];
    }
    Sums<Format>& sums(const Place& at) const { return scratch.sums[at.n % 2]; }
    // The last tile may share vectors with the one before.
    Vectors vectors(const Place& at) const {
        return {args, std::min(v + at.tile * n_vectors, end - n_vectors), n_vectors};
    }
    bool done(const Place& at) const { return at.stripe >= n_stripes; }
    void advance(Place& at) const {
        ++at.n;
        if (++at.part < n_parts) return;
        at.part = 0;
        if (++at.tile < n_tiles) return;
        at.tile = 0;
        ++at.stripe;
    }
};

KERNEL_TARGET_BEGIN(KERNEL_AMX)

// Multiplies one unit of all vectors of a tile; kOf: into which of the registers, 0 … 3.
template <int kOf>
[[gnu::always_inline]] inline void multiply(const std::byte* left, std::int64_t stride,
                                            const std::byte* right) {
    constexpr int kLeft = 4 + kOf % 2, kRight = 6 + kOf % 2;
    amx::load<kLeft>(left, stride);
    amx::load<kRight>(right);
    amx::zero<kOf>();
    amx::dot<amx::Signs::both, kOf, kLeft, kRight>();
}
template <class Format, int kOf>
[[gnu::always_inline]] inline void store(std::int32_t* sums) {
    amx::store<kOf>(sums, kUnits<Format> * kRows * sizeof(std::int32_t));
}

// Makes the sums of a part, of one byte of the activations.
template <class Format>
void start_byte(const Work<Format>& work, const Place& at, const Vectors& x, bool even,
                const std::int8_t* values, std::int32_t (&sums)[kVectors][kUnits<Format>][kRows]) {
    constexpr std::int64_t kUnit = Format::kUnit;
    const std::int64_t cols = work.args.shape.cols;
    const std::int64_t n_units = work.units(at);
    const std::byte* left =
        reinterpret_cast<const std::byte*>(values) + x.row(0) * cols + at.part * kColumns;
    std::int64_t stride = x.step() * cols;
    if (!even) {
        for (std::int64_t i = 0; i < x.n; ++i) {
            std::memcpy(work.scratch.gathered[i], values + x.row(i) * cols + at.part * kColumns,
                        static_cast<std::size_t>(n_units * kUnit));
        }
        left = work.scratch.gathered[0];
        stride = kColumns;
    }
    const std::byte* right = work.right(at);
    std::int64_t u = 0;
    // Stores stand behind all four products: each waits for the sums that it takes.
    for (; u + 4 <= n_units; u += 4, left += 4 * kUnit, right += 4 * kUnit * kRows) {
        multiply<0>(left, stride, right);
        multiply<1>(left + kUnit, stride, right + kUnit * kRows);
        multiply<2>(left + 2 * kUnit, stride, right + 2 * kUnit * kRows);
        multiply<3>(left + 3 * kUnit, stride, right + 3 * kUnit * kRows);
        store<Format, 0>(sums[0][u]);
        store<Format, 1>(sums[0][u + 1]);
        store<Format, 2>(sums[0][u + 2]);
        store<Format, 3>(sums[0][u + 3]);
    }
    for (; u < n_units; ++u, left += kUnit, right += kUnit * kRows) {
        multiply<0>(left, stride, right);
        store<Format, 0>(sums[0][u]);
    }
}

template <class Format>
void start(const Work<Format>& work, const Place& at, bool even) {
    const Vectors x = work.vectors(at);
    auto& sums = work.sums(at);
    start_byte<Format>(work, at, x, even, work.args.x.q8, sums[0]);
    if constexpr (kBytes<Format> == 2) {
        start_byte<Format>(work, at, x, even, work.args.x.q8_low, sums[1]);
    }
}

// A part's sums become floats; the last part's are the tile's results.
template <class Format>
void finish(const Work<Format>& work, const Place& at) {
    const Vectors x = work.vectors(at);
    if (at.part == 0) std::memset(work.scratch.total, 0, sizeof work.scratch.total);
    Format::add(work.packed(at), work.units(at), work.sums(at), x, at.part * kColumns,
                work.scratch.total);
    if (at.part + 1 < work.n_parts) return;
    const std::int64_t rows = work.args.shape.rows;
    const std::int64_t r = (work.row + at.stripe * kRows) % rows;
    for (std::int64_t i = 0; i < x.n; ++i) {
        _mm512_storeu_ps(work.args.y + work.args.y_row[x.v + i] * rows + r,
                         _mm512_load_ps(work.scratch.total[i]));
    }
}

template <class Format>
void unpack(const Work<Format>& work, const Place& at) {
    if (at.tile == 0 && !work.done(at)) {
        Format::unpack(work.packed(at), work.units(at), work.right(at));
    }
}

template <class Format>
void multiply_group(const MatmulArgs& args, Range rows, std::int64_t v, std::int64_t end) {
    const std::int64_t n_tiles = (end - v + kVectors - 1) / kVectors;
    const std::int64_t n_vectors = (end - v + n_tiles - 1) / n_tiles;
    const amx::Tiles<2, 2> tiles(Format::kUnit, n_vectors);
    Scratch<Format> scratch;
    const Work<Format> work{args,
                            scratch,
                            rows.begin,
                            v,
                            end,
                            n_vectors,
                            (args.shape.cols + kColumns - 1) / kColumns,
                            n_tiles,
                            (rows.end - rows.begin) / kRows,
                            kRows * row_bytes(Format::kType, kColumns),
                            kRows * row_bytes(Format::kType, args.shape.cols)};
    const bool even = Vectors{args, v, end - v}.even();
    Place ready, next, now;  // bytes, sums, floats
    for (int i = 0; i < 2; ++i, work.advance(ready)) unpack(work, ready);
    start(work, next, even);
    while (!work.done(now)) {
        unpack(work, ready);
        work.advance(ready);
        work.advance(next);
        if (!work.done(next)) start(work, next, even);
        finish(work, now);
        work.advance(now);
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
    for (std::int64_t i = 0; i < x.n; ++i) {
        const float* scale = x.args.x.q8_scale + x.block(i, first) + u;
        __m512 sum = _mm512_load_ps(total[i]);
        for (int s = 0; s < kN; ++s) {
            __m512i exact = avx512::load(sums[0][i][u + s]);
            if constexpr (kBytes<Format> == 2) {
                exact =
                    _mm512_add_epi32(_mm512_slli_epi32(exact, 8), avx512::load(sums[1][i][u + s]));
            }
            sum = _mm512_fmadd_ps(_mm512_cvtepi32_ps(exact),
                                  _mm512_mul_ps(d[s], _mm512_set1_ps(scale[s])), sum);
        }
        _mm512_store_ps(total[i], sum);
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
