// Attention of one token over a latent cache of bytes: what op mla_attention does, on a quarter of
// its memory and with integer products. A position has two scales, one for the latent part and one
// for the rotary part.
#pragma once

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/registry/activation.h"
#include "kernels/registry/registry.h"

namespace steady {

struct MlaQ8Shape {
    std::int64_t n_heads = 0;
    std::int64_t kv_rank = 0;      // a multiple of 32
    std::int64_t n_rot = 0;        // a multiple of 32
    std::int64_t n_positions = 0;  // cached positions that are attended, this token's included
    static std::array<ShapeField<MlaQ8Shape>, 4> fields() {
        return {{{"n_heads", &MlaQ8Shape::n_heads},
                 {"kv_rank", &MlaQ8Shape::kv_rank},
                 {"n_rot", &MlaQ8Shape::n_rot},
                 {"n_positions", &MlaQ8Shape::n_positions}}};
    }
    std::string problem() const {
        if (kv_rank % 32 != 0 || n_rot % 32 != 0) return "kv_rank and n_rot: multiples of 32";
        return n_heads > 0 && kv_rank > 0 && n_rot > 0 && n_positions > 0
                   ? ""
                   : "n_heads, kv_rank, n_rot and n_positions are required";
    }
    std::int64_t width() const { return kv_rank + n_rot; }
};

// The cache: groups of sixteen positions. A group has width / 4 times 64 bytes (byte 4p + i of the
// j-th: column 4j + i of position p, with 128 added), then 16 latent scales and 16 rotary scales.
namespace mla_q8 {

constexpr std::int64_t kGroup = 16;  // positions

inline std::int64_t group_bytes(std::int64_t width) { return kGroup * (width + 8); }
inline std::int64_t cache_bytes(std::int64_t width, std::int64_t n_positions) {
    return (n_positions + kGroup - 1) / kGroup * group_bytes(width);
}
// Of the group's positions; the rotary ones follow the latent ones.
inline const float* scales(const std::byte* group, std::int64_t width) {
    return reinterpret_cast<const float*>(group + kGroup * width);
}

// Writes the row [kv_rank + n_rot] of one position: each part in steps of a 127th of its largest.
void store(std::byte* cache, std::int64_t position, const float* row, std::int64_t kv_rank,
           std::int64_t n_rot);

// One position's row again at another, bit by bit.
void copy(std::byte* cache, std::int64_t from, std::int64_t to, std::int64_t width);

// The value of column c at a position, exactly as stored.
double value(const std::byte* cache, std::int64_t position, std::int64_t c, std::int64_t kv_rank,
             std::int64_t n_rot);

}  // namespace mla_q8

struct MlaAttentionQ8 {
    static constexpr const char* name = "mla_attention_q8";
    static constexpr int phases = 1;
    using Shape = MlaQ8Shape;
    struct Args {
        Shape shape;
        Activation q;                      // [n_heads][kv_rank + n_rot]
        const std::byte* cache = nullptr;  // whole groups of positions, see mla_q8
        float scale = 1;
        float* scratch = nullptr;  // [n_heads][n_positions rounded up to whole groups]
        float* out = nullptr;      // [n_heads][kv_rank]
    };
    using Run = void (*)(const Args&, Range) noexcept;

    // The cache counts as a weight: it is large, and cold when a layer begins.
    static void set_weight(Args& args, std::size_t /*index*/, const std::byte* w) {
        args.cache = w;
    }

    // Row h: s[t] = scale · (q[h] · cache[t]); p = softmax(s); out[h] = Σ_t p[t] ·
    // cache[t][0:kv_rank]. A variant may round p[t] times the position's latent scale to 16 bits.
    static std::int64_t rows(const Shape& shape, int /*phase*/) { return shape.n_heads; }
    static Cost cost(const Shape& shape) {
        const std::int64_t products =
            shape.n_heads * shape.n_positions * (shape.width() + shape.kv_rank);
        return {.weight_bytes = mla_q8::cache_bytes(shape.width(), shape.n_positions),
                .other_bytes = 4 * shape.n_heads * (shape.width() + shape.kv_rank),
                .flops = 2.0 * static_cast<double>(products)};
    }
    static std::vector<Shape> model_shapes();
    static std::vector<Shape> odd_shapes(Random& random);
    static Case<MlaAttentionQ8> make_case(const Shape& shape, Random& random, Input input);
    static double worst_error(const Case<MlaAttentionQ8>& test_case);
};

}  // namespace steady
