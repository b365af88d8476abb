// Attention of one token over a latent cache of values: floats, half floats or bfloats, row after
// row.
#pragma once

#include <array>
#include <bit>
#include <cstring>
#include <string>

#include "kernels/attention/attention_op.h"

namespace steady {

struct MlaAttentionShape {
    std::int64_t n_heads = 0;
    std::int64_t kv_rank = 0;
    std::int64_t n_rot = 0;
    std::int64_t n_positions = 0;  // cached positions that are attended, this token's included
    Type cache = Type::f32;        // of the cached values: f32, f16 or bf16
    static std::array<ShapeField<MlaAttentionShape>, 5> fields() {
        return {{{"n_heads", &MlaAttentionShape::n_heads},
                 {"kv_rank", &MlaAttentionShape::kv_rank},
                 {"n_rot", &MlaAttentionShape::n_rot},
                 {"n_positions", &MlaAttentionShape::n_positions},
                 {"cache", nullptr, &MlaAttentionShape::cache}}};
    }
    std::string problem() const {
        if (cache != Type::f32 && cache != Type::f16 && cache != Type::bf16) {
            return "cache must be f32, f16 or bf16";
        }
        return n_heads > 0 && kv_rank > 0 && n_positions > 0
                   ? ""
                   : "n_heads, kv_rank and n_positions are required";
    }
    std::int64_t width() const { return kv_rank + n_rot; }
};

// The upper half of a float.
struct Bfloat {
    std::uint16_t bits;
};

namespace mla_cache {

// Writes n values as the cache's type holds them: nearest, ties to even; a value beyond the range
// of f16 (65504) becomes infinite.
void store(Type type, const float* values, std::int64_t n, std::byte* out) noexcept;

// The cache type of rows of Value.
template <class Value>
constexpr Type kType = std::is_same_v<Value, float>  ? Type::f32
                       : std::is_same_v<Value, Half> ? Type::f16
                                                     : Type::bf16;

struct Codec {
    static constexpr const char* kOp = "mla_attention";
    using Shape = MlaAttentionShape;
    using Query = const float*;
    static constexpr std::int64_t kGroup = 1, kScratchGroup = 1;
    static constexpr int kWeightSteps = 0;
    static constexpr bool kKeepsSums = true, kDropsLowBytes = false;
    static std::int64_t group_bytes(const Shape& shape) {
        return row_bytes(shape.cache, shape.width());
    }
    static void store(std::byte* cache, std::int64_t position, const float* row,
                      const Shape& shape) {
        mla_cache::store(shape.cache, row, shape.width(), cache + position * group_bytes(shape));
    }
    static double key(const std::byte* cache, std::int64_t position, std::int64_t c,
                      const Shape& shape) {
        const std::int64_t at = position * shape.width() + c;
        if (shape.cache == Type::f32) {
            return static_cast<double>(reinterpret_cast<const float*>(cache)[at]);
        }
        const std::uint16_t bits = reinterpret_cast<const std::uint16_t*>(cache)[at];
        return static_cast<double>(
            shape.cache == Type::f16
                ? half_to_float(Half{bits})
                : std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16));
    }
    static double scale(const std::byte* /*cache*/, std::int64_t /*position*/,
                        const Shape& /*shape*/) {
        return 1;
    }
    static std::vector<double> query(const Shape& shape, const float* q) {
        return std::vector<double>(q, q + shape.width());
    }
    static std::vector<Shape> more_model_shapes() {
        return {{20, 512, 64, 2048, Type::f16}, {20, 512, 64, 2048, Type::bf16}};
    }
    static std::vector<Shape> odd_shapes(auto& random) {
        const Shape any{random.integer(1, 24), 16 * random.integer(1, 40),
                        2 * random.integer(1, 40), random.integer(1, 300)};
        std::vector<Shape> shapes;
        for (const Type cache : {Type::f32, Type::f16, Type::bf16}) {
            for (Shape shape : {Shape{1, 1, 2, 1}, Shape{3, 40, 6, 5}, Shape{7, 32, 16, 33},
                                Shape{5, 512, 64, 7}, any}) {
                shape.cache = cache;
                shapes.push_back(shape);
            }
        }
        return shapes;
    }
};

}  // namespace mla_cache

using MlaAttention = AttentionOp<mla_cache::Codec>;

}  // namespace steady
