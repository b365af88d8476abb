// Attention of one token over a latent cache of 16-bit integers: what op mla_attention does, on
// half of its memory and with integer products, of which a CPU does twice as many as of floats.
// Cache and query are rounded to a 4095th of their part's largest value, about as fine as half
// floats; with that, whole rows are added up in 32 bits.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/layouts/mla_integers.h"
#include "kernels/registry/registry.h"

namespace steady {

using MlaI16Shape = MlaIntegerShape;

// The cache: groups of sixteen positions. A group has eight pairs of positions, each [width][2]
// values, then 16 scales of the latent parts and 16 of the rotary parts.
namespace mla_i16 {

constexpr std::int64_t kGroup = 16;        // positions
constexpr int kLargest = 4095;             // of a stored value and of a rounded query
constexpr int kLargestWeight = 16383;      // of a position's weight, in whole steps
constexpr std::int64_t kWeighed = 32;      // positions whose weights share a step, and a sum
constexpr std::int64_t kScored = 4 * 128;  // columns whose products a sum of eight lanes holds

inline std::int64_t group_bytes(std::int64_t width) { return kGroup * (2 * width + 8); }
inline std::int64_t cache_bytes(std::int64_t width, std::int64_t n_positions) {
    return (n_positions + kGroup - 1) / kGroup * group_bytes(width);
}
// Of the group's positions; the rotary ones follow the latent ones.
inline const float* scales(const std::byte* group, std::int64_t width) {
    return reinterpret_cast<const float*>(group + 2 * kGroup * width);
}

// Writes the row [kv_rank + n_rot] of one position: each part in steps of a 4095th of its largest.
void store(std::byte* cache, std::int64_t position, const float* row, std::int64_t kv_rank,
           std::int64_t n_rot);

// One position's row again at another, bit by bit.
void copy(std::byte* cache, std::int64_t from, std::int64_t to, std::int64_t width);

// The value of column c at a position, exactly as stored.
double value(const std::byte* cache, std::int64_t position, std::int64_t c, std::int64_t kv_rank,
             std::int64_t n_rot);

// How a part x[n] of a row or of a head's query is rounded: to whole steps of max|x| / 4095, by
// division and to the nearest. Every variant rounds a query like this, so that none differs in a
// step.
inline float step_of(const float* x, std::int64_t n) {
    return mla_integers::step_of(x, n, kLargest);
}
inline std::int16_t rounded(float x, float step) {
    return static_cast<std::int16_t>(mla_integers::whole_steps(x, step, kLargest));
}

}  // namespace mla_i16

struct MlaAttentionI16 {
    static constexpr const char* name = "mla_attention_i16";
    static constexpr int phases = 1;
    using Shape = MlaI16Shape;
    struct Args {
        Shape shape;
        const float* q = nullptr;          // [n_heads][kv_rank + n_rot]
        const std::byte* cache = nullptr;  // whole groups of positions, see mla_i16
        float scale = 1;
        float* scratch = nullptr;  // [n_heads][n_positions]
        float* out = nullptr;      // [n_heads][kv_rank]
    };
    using Run = void (*)(const Args&, Range) noexcept;

    // The cache counts as a weight: it is large, and cold when a layer begins.
    static void set_weight(Args& args, std::size_t /*index*/, const std::byte* w) {
        args.cache = w;
    }

    // Row h, with q' the rounded query: s[t] = scale · (q'[h] · cache[t]); p = softmax(s);
    // out[h] = Σ_t p[t] · cache[t][0:kv_rank]. A variant may round p[t] times the position's latent
    // scale to a 16383rd of the largest one.
    static std::int64_t rows(const Shape& shape, int /*phase*/) { return shape.n_heads; }
    static Cost cost(const Shape& shape) {
        const std::int64_t products =
            shape.n_heads * shape.n_positions * (shape.width() + shape.kv_rank);
        return {.weight_bytes = shape.n_positions * (2 * shape.width() + 8),
                .other_bytes = 4 * shape.n_heads * (shape.width() + shape.kv_rank),
                .flops = 2.0 * static_cast<double>(products)};
    }
    static std::vector<Shape> model_shapes();
    static std::vector<Shape> odd_shapes(Random& random);
    static Case<MlaAttentionI16> make_case(const Shape& shape, Random& random, Input input);
    static double worst_error(const Case<MlaAttentionI16>& test_case);
};

}  // namespace steady
