// Attention of one token over the latent cache (multi-head latent attention, absorbed form): all
// heads share one key row per position, and the row's first kv_rank values are also the values.
#pragma once

#include <array>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/registry/activation.h"
#include "kernels/registry/registry.h"

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

}  // namespace mla_cache

struct MlaAttention {
    static constexpr const char* name = "mla_attention";
    static constexpr int phases = 1;
    using Shape = MlaAttentionShape;
    struct Args {
        Shape shape;
        const float* q = nullptr;          // [n_heads][kv_rank + n_rot]
        const std::byte* cache = nullptr;  // [n_positions][kv_rank + n_rot] of type shape.cache
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
        // The cache as rows of floats, Half or Bfloat.
        template <class Value>
        const Value* rows() const {
            return reinterpret_cast<const Value*>(cache);
        }
    };
    using Run = void (*)(const Args&, Range) noexcept;

    // The cache counts as a weight: it is large, and cold when a layer begins.
    static void set_weight(Args& args, std::size_t /*index*/, const std::byte* w) {
        args.cache = w;
    }

    // Row h: s[t] = scale · (q[h] · cache[t]); p = softmax(s); out[h] = Σ_t p[t] ·
    // cache[t][0:kv_rank]
    static std::int64_t rows(const Shape& shape, int /*phase*/) { return shape.n_heads; }
    static Cost cost(const Shape& shape) {
        const std::int64_t width = shape.kv_rank + shape.n_rot;
        const std::int64_t products = shape.n_heads * shape.n_positions * (width + shape.kv_rank);
        return {.weight_bytes = shape.n_positions * width * block_bytes(shape.cache),
                .other_bytes = 4 * shape.n_heads * (width + shape.kv_rank),
                .flops = 2.0 * static_cast<double>(products)};
    }
    static std::vector<Shape> model_shapes();
    static std::vector<Shape> odd_shapes(Random& random);
    static Case<MlaAttention> make_case(const Shape& shape, Random& random, Input input);
    static double worst_error(const Case<MlaAttention>& test_case);
};

}  // namespace steady
