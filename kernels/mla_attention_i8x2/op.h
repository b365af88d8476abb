// Attention of one token over a latent cache of two bytes per value, each with a sign: what op
// mla_attention_i16 does, with the bytes kept apart and in the order in which AMX multiplies them.
// Cache and query are rounded to a 32639th of their part's largest value, finer than half floats;
// of a product of two such numbers the product of their low bytes is left out.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/layouts/mla_integers.h"
#include "kernels/registry/registry.h"

namespace steady {

using MlaI8x2Shape = MlaIntegerShape;

// The cache: groups of sixteen positions. A group has blocks of 64 columns, first the latent ones,
// then the rotary ones; behind either part's columns lie some that mean nothing, up to a whole
// block. A block has its high bytes, then its low ones: [columns / 4][16 positions][4 columns].
// Behind the blocks lie 16 scales of the latent parts and 16 of the rotary parts.
namespace mla_i8x2 {

constexpr std::int64_t kGroup = 16;                 // positions
constexpr std::int64_t kColumns = 64;               // of a block
constexpr std::int64_t kPlane = kGroup * kColumns;  // bytes of a block's high or low bytes
constexpr int kLargest = 32639;  // 127 · 256 + 127: of a value, a query, a weight in steps

constexpr std::int64_t blocks(std::int64_t part) { return (part + kColumns - 1) / kColumns; }
constexpr std::int64_t group_bytes(std::int64_t kv_rank, std::int64_t n_rot) {
    return 2 * kPlane * (blocks(kv_rank) + blocks(n_rot)) + 8 * kGroup;
}
constexpr std::int64_t cache_bytes(std::int64_t kv_rank, std::int64_t n_rot,
                                   std::int64_t n_positions) {
    return (n_positions + kGroup - 1) / kGroup * group_bytes(kv_rank, n_rot);
}

// A value in whole steps is 256 · high + low.
struct Bytes {
    std::int8_t high = 0, low = 0;
    int steps() const { return 256 * high + low; }
};

// How a part x[n] of a row or of a head's query is rounded: to whole steps of max|x| / 32639, by
// division and to the nearest. Every variant rounds a query like this, so that none differs in a
// step.
inline float step_of(const float* x, std::int64_t n) {
    return mla_integers::step_of(x, n, kLargest);
}
inline Bytes rounded(float x, float step) {
    const int whole = mla_integers::whole_steps(x, step, kLargest);
    const int high = (whole + 128) >> 8;
    return {static_cast<std::int8_t>(high), static_cast<std::int8_t>(whole - 256 * high)};
}

// Writes the row [kv_rank + n_rot] of one position.
void store(std::byte* cache, std::int64_t position, const float* row, std::int64_t kv_rank,
           std::int64_t n_rot);

// One position's row again at another, bit by bit.
void copy(std::byte* cache, std::int64_t from, std::int64_t to, std::int64_t kv_rank,
          std::int64_t n_rot);

// What is stored of column c at a position, exactly, and what its part is stored in steps of.
Bytes bytes_at(const std::byte* cache, std::int64_t position, std::int64_t c, std::int64_t kv_rank,
               std::int64_t n_rot);
float scale_at(const std::byte* cache, std::int64_t position, std::int64_t c, std::int64_t kv_rank,
               std::int64_t n_rot);

// The value of column c at a position, exactly as stored.
double value(const std::byte* cache, std::int64_t position, std::int64_t c, std::int64_t kv_rank,
             std::int64_t n_rot);

}  // namespace mla_i8x2

struct MlaAttentionI8x2 {
    static constexpr const char* name = "mla_attention_i8x2";
    static constexpr int phases = 1;
    using Shape = MlaI8x2Shape;
    struct Args {
        Shape shape;
        const float* q = nullptr;          // [n_heads][kv_rank + n_rot]
        const std::byte* cache = nullptr;  // whole groups of positions, see mla_i8x2
        float scale = 1;
        float* scratch = nullptr;  // [n_heads][n_positions]
        float* out = nullptr;      // [n_heads][kv_rank]
        // If set, [n_heads][2]: the largest score, and Σ e^(score − largest). With them outputs
        // over several spans of positions can be joined.
        float* sums = nullptr;
        void keep_sums(std::int64_t head, float largest, float total) const {
            if (sums == nullptr) return;
            sums[2 * head] = largest;
            sums[2 * head + 1] = total;
        }
    };
    using Run = void (*)(const Args&, Range) noexcept;

    // The cache counts as a weight: it is large, and cold when a layer begins.
    static void set_weight(Args& args, std::size_t /*index*/, const std::byte* w) {
        args.cache = w;
    }

    // Row h, with q' the rounded query: s[t] = scale · (q'[h] · cache[t] without the products of
    // two low bytes); p = softmax(s); out[h] = Σ_t p[t] · cache[t][0:kv_rank]. A variant may round
    // p[t] times the position's latent scale to a 32639th of the largest one, and leave out its low
    // byte's products with low bytes.
    static std::int64_t rows(const Shape& shape, int /*phase*/) { return shape.n_heads; }
    static Cost cost(const Shape& shape) {
        const std::int64_t products =
            shape.n_heads * shape.n_positions * (shape.width() + shape.kv_rank);
        return {.weight_bytes = shape.n_positions *
                                mla_i8x2::group_bytes(shape.kv_rank, shape.n_rot) /
                                mla_i8x2::kGroup,
                .other_bytes = 4 * shape.n_heads * (shape.width() + shape.kv_rank),
                .flops = 2.0 * static_cast<double>(products)};
    }
    static std::vector<Shape> model_shapes();
    static std::vector<Shape> odd_shapes(Random& random);
    static Case<MlaAttentionI8x2> make_case(const Shape& shape, Random& random, Input input);
    static double worst_error(const Case<MlaAttentionI8x2>& test_case);
};

}  // namespace steady
