// Attention of one token over the latent cache (multi-head latent attention, absorbed form), for
// any format of the cache: all heads share one key row per position, and the row's first kv_rank
// values are also the values. An op is this template over a codec, which says how the cache holds
// rows and how a query is rounded to meet them; grouped_cache.h makes a codec of a format of
// integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "kernels/registry/activation.h"
#include "kernels/registry/registry.h"

namespace steady {

template <class ShapeOf, class Query>
struct AttentionArgs {
    ShapeOf shape;
    Query q{};                         // [n_heads][kv_rank + n_rot]
    const std::byte* cache = nullptr;  // whole groups of positions, as the codec keeps them
    float scale = 1;
    float* scratch = nullptr;  // [n_heads][AttentionOp::scratch_positions]
    float* out = nullptr;      // [n_heads][kv_rank]
    // If set, [n_heads][2]: the largest score, and Σ e^(score − largest). With them outputs over
    // several spans of positions can be joined. Only ops that say so (kKeepsSums) write it.
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

template <class CacheCodec>
struct AttentionOp {
    using Codec = CacheCodec;
    static constexpr const char* name = Codec::kOp;
    static constexpr int phases = 1;
    static constexpr bool kKeepsSums = Codec::kKeepsSums;
    using Shape = typename Codec::Shape;
    using Args = AttentionArgs<Shape, typename Codec::Query>;
    using Run = void (*)(const Args&, Range) noexcept;

    // The cache counts as a weight: it is large, and cold when a layer begins.
    static void set_weight(Args& args, std::size_t /*index*/, const std::byte* w) {
        args.cache = w;
    }

    // Row h, with q' the query as the codec rounds it: s[t] = scale · (q'[h] · cache[t]);
    // p = softmax(s); out[h] = Σ_t p[t] · cache[t][0:kv_rank]. A variant may round p[t] times the
    // position's latent scale to a kWeightSteps-th of the largest such product, where that is not
    // 0.
    static std::int64_t rows(const Shape& shape, int /*phase*/) { return shape.n_heads; }
    static std::int64_t cache_bytes(const Shape& shape) {
        return groups(shape, Codec::kGroup) * Codec::group_bytes(shape);
    }
    static std::int64_t scratch_positions(const Shape& shape) {
        return groups(shape, Codec::kScratchGroup) * Codec::kScratchGroup;
    }
    static Cost cost(const Shape& shape) {
        const std::int64_t products =
            shape.n_heads * shape.n_positions * (shape.width() + shape.kv_rank);
        return {.weight_bytes = shape.n_positions * Codec::group_bytes(shape) / Codec::kGroup,
                .other_bytes = 4 * shape.n_heads * (shape.width() + shape.kv_rank),
                .flops = 2.0 * static_cast<double>(products)};
    }
    // Defined in attention_case.h, which the op's op.cpp includes.
    static std::vector<Shape> model_shapes();
    static std::vector<Shape> odd_shapes(Random& random);
    static Case<AttentionOp> make_case(const Shape& shape, Random& random, Input input);
    static double worst_error(const Case<AttentionOp>& test_case);

private:
    static std::int64_t groups(const Shape& shape, std::int64_t positions) {
        return (shape.n_positions + positions - 1) / positions;
    }
};

template <class Op>
constexpr bool kIsAttention = false;
template <class Codec>
constexpr bool kIsAttention<AttentionOp<Codec>> = true;

// Of a head, as the reference reads it.
inline const float* head_query(const float* q, std::int64_t at) { return q + at; }
inline const float* head_query(const Activation& q, std::int64_t at) { return q.f32 + at; }

}  // namespace steady
