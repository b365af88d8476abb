// Tiles of AMX over the layout rows16 of Q4_0 (kernels/layouts/q4_0_rows16.h): a block of sixteen
// rows is the right factor when its nibbles are bytes, sixteen vectors' block is the left one. The
// sums of a block are whole numbers, so that this gives the bits of rows16.h, which takes what is
// left of a group's vectors.
#pragma once

#include <algorithm>
#include <cstring>

#include "kernels/q4_0_matmul/rows16.h"
#include "kernels/simd/amx.h"

namespace steady::q4_0_matmul {

constexpr std::int64_t kFewest = 9;  // vectors that are worth a tile of sixteen
constexpr std::int64_t kVectors = amx::kRows;

KERNEL_TARGET_BEGIN(KERNEL_AMX)

// Up to sixteen vectors of one group, from number v on.
struct Vectors {
    const MatmulArgs& args;
    std::int64_t v, n;
    std::int64_t row(std::int64_t i) const { return args.x_row[v + i]; }
    // Whether their activations are sixteen rows in a row, which a tile can load as they lie.
    bool together() const {
        for (std::int64_t i = 0; i < n; ++i) {
            if (row(i) != row(0) + i) return false;
        }
        return n == kVectors;
    }
};

// Block b of the vectors' activations, for a left factor.
template <int kTile>
[[gnu::always_inline]] inline void load_left(const Vectors& vectors, bool together,
                                             const std::int8_t* x, std::int64_t b,
                                             std::byte (&gathered)[kVectors][32]) {
    const std::int64_t cols = vectors.args.shape.cols;
    if (together) {
        amx::load<kTile>(x + vectors.row(0) * cols + 32 * b, cols);
        return;
    }
    for (std::int64_t i = 0; i < vectors.n; ++i) {
        std::memcpy(gathered[i], x + vectors.row(i) * cols + 32 * b, 32);
    }
    amx::load<kTile>(gathered, 32);
}

// A block's nibbles as bytes, four columns of each row together: columns 0 … 3, then 4 … 7.
[[gnu::always_inline]] inline void load_right(const std::byte* block, std::byte (&bytes)[8][64]) {
    const __m512i nibble = _mm512_set1_epi8(15);
    for (int j = 0; j < 4; ++j) {
        const __m512i w = avx512::load(block + 32 + 64 * j);
        _mm512_store_si512(bytes[j], _mm512_and_si512(w, nibble));
        _mm512_store_si512(bytes[4 + j], _mm512_and_si512(_mm512_srli_epi16(w, 4), nibble));
    }
    amx::load<6>(bytes);
}

// The products of some vectors with sixteen rows.
template <Input kForm>
void multiply(const Vectors& vectors, std::int64_t r) {
    constexpr bool kTwoBytes = kForm == Input::q16;
    const MatmulArgs& args = vectors.args;
    const std::int64_t blocks = args.shape.cols / 32;
    const std::byte* block = args.w + r * row_bytes(Type::q4_0, args.shape.cols);
    const std::int32_t* x_sums = kTwoBytes ? args.x.q16_sum : args.x.q8_sum;
    const bool together = vectors.together();
    alignas(64) std::byte gathered[2][kVectors][32] = {};
    alignas(64) std::byte bytes[8][64];
    alignas(64) std::int32_t sums[2][kVectors][16];
    __m512 total[kVectors];
    for (__m512& each : total) each = _mm512_setzero_ps();
    for (std::int64_t b = 0; b < blocks; ++b, block += q4_0_rows16::kBlockBytes) {
        load_right(block, bytes);
        load_left<4>(vectors, together, args.x.q8, b, gathered[0]);
        amx::zero<0>();
        amx::dot<amx::Signs::left, 0, 4, 6>();
        amx::store<0>(sums[0]);
        if constexpr (kTwoBytes) {
            load_left<5>(vectors, together, args.x.q8_low, b, gathered[1]);
            amx::zero<1>();
            amx::dot<amx::Signs::left, 1, 5, 6>();
            amx::store<1>(sums[1]);
        }
        const __m512 d = avx512::halves(block);
        for (std::int64_t i = 0; i < vectors.n; ++i) {
            const std::int64_t at = vectors.row(i) * blocks + b;
            __m512i sum = avx512::load(sums[0][i]);
            if constexpr (kTwoBytes) {
                sum = _mm512_add_epi32(_mm512_slli_epi32(sum, 8), avx512::load(sums[1][i]));
            }
            const float step = kTwoBytes ? args.x.q8_scale[at] / 256.0F : args.x.q8_scale[at];
            // The quants are stored with 8 added.
            const __m512i exact = _mm512_sub_epi32(sum, _mm512_set1_epi32(8 * x_sums[at]));
            total[i] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(exact),
                                       _mm512_mul_ps(d, _mm512_set1_ps(step)), total[i]);
        }
    }
    for (std::int64_t i = 0; i < vectors.n; ++i) {
        float* y = args.y + args.y_row[vectors.v + i] * args.shape.rows + r % args.shape.rows;
        _mm512_storeu_ps(y, total[i]);
    }
}

template <class Few>
void run_amx(const MatmulArgs& args, Range range) noexcept {
    const amx::Tiles<2, 2> tiles(32);
    for (std::int64_t r = range.begin; r < range.end; r += matmul_rows16::kRows) {
        const std::int64_t group = r / args.shape.rows;
        const std::int64_t end = args.first[group + 1];
        std::int64_t v = args.first[group];
        for (; end - v >= kFewest; v += std::min(kVectors, end - v)) {
            multiply<Few::kInput>({args, v, std::min(kVectors, end - v)}, r);
        }
        matmul_rows16::tiles<Few, Few::kMost>(args, r, v, end);
    }
}

KERNEL_TARGET_END

// Few computes what is left of a group's vectors.
template <class Few>
VariantOptions<Q4_0Matmul> amx_options() {
    auto options = matmul_rows16::options<Q4_0Matmul, Few>(q4_0_rows16::pack);
    options.needs = cpu::amx;
    options.run = run_amx<Few>;
    return options;
}

}  // namespace steady::q4_0_matmul
