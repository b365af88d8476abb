// The arithmetic of tiles_avx512.h in another order: all heads of a thread go over one tile before
// the next, so that a row comes from memory once per thread and not once per five heads. A cache of
// two bytes per value is made floats once per tile, for all heads. The bits are those of five heads
// over all positions.
#pragma once

#include "kernels/mla_attention/tiles_avx512.h"

namespace steady::mla_avx512 {

constexpr std::int64_t kTogether = 64;    // heads whose softmax runs side by side
constexpr std::int64_t kMaxWidth = 1088;  // of a row: a tile of floats lies on the stack

template <class Value = float>
bool supports_tile(const MlaAttentionShape& shape) {
    return supports<Value>(shape) && shape.kv_rank + shape.n_rot <= kMaxWidth;
}

KERNEL_TARGET_BEGIN(KERNEL_AVX512)

// The tile's n values as floats: where they lie, or in `room`.
template <class Value>
const float* as_floats(const Value* tile, std::int64_t n, float* room) {
    for (std::int64_t i = 0; i < n; i += 16) _mm512_store_ps(room + i, load(tile + i));
    return room;
}
inline const float* as_floats(const float* tile, std::int64_t /*n*/, float* /*room*/) {
    return tile;
}

// A tile for heads [first, last): by fives as far as they go, else by fours.
template <class Ahead>
void attend_heads(const MlaAttention::Args& args, const float* rows, std::int64_t n,
                  std::int64_t first, std::int64_t last, Running* running, Ahead& ahead) {
    const MlaAttentionShape& shape = args.shape;
    for (std::int64_t head = first; head < last;) {
        const float* q = args.q + head * (shape.kv_rank + shape.n_rot);
        float* out = args.out + head * shape.kv_rank;
        Running* state = running + (head - first);
        if ((last - head) % kHeads == 0) {
            attend_tile<kHeads>(q, rows, n, shape, args.scale, out, state, ahead);
            head += kHeads;
        } else if (last - head >= 4) {
            attend_tile<4>(q, rows, n, shape, args.scale, out, state, ahead);
            head += 4;
        } else {
            attend_tile<1>(q, rows, n, shape, args.scale, out, state, ahead);
            ++head;
        }
    }
}

// Heads [first, last), at most kTogether.
template <class Ahead, class Value>
void attend_together(const MlaAttention::Args& args, std::int64_t first, std::int64_t last) {
    const MlaAttentionShape& shape = args.shape;
    const std::int64_t width = shape.kv_rank + shape.n_rot;
    alignas(64) float room[std::is_same_v<Value, float> ? 1 : kTile * kMaxWidth];
    Running running[kTogether];
    for (std::int64_t t = 0; t < shape.n_positions; t += kTile) {
        const std::int64_t n = std::min(kTile, shape.n_positions - t);
        const float* rows = as_floats(args.rows<Value>() + t * width, n * width, room);
        auto ahead = ahead_of<Ahead, Value>(args, t);
        attend_heads(args, rows, n, first, last, running, ahead);
    }
    for (std::int64_t head = first; head < last; ++head) {
        finish(args, head, running[head - first]);
    }
}

template <class Ahead, class Value = float>
void run_all_heads(const MlaAttention::Args& args, Range range) noexcept {
    for (std::int64_t head = range.begin; head < range.end; head += kTogether) {
        attend_together<Ahead, Value>(args, head, std::min(head + kTogether, range.end));
    }
}

KERNEL_TARGET_END

template <class Value = float>
VariantOptions<MlaAttention> tile_options(MlaAttention::Run run_heads) {
    return {.needs = cpu::avx512, .supports = supports_tile<Value>, .run = run_heads};
}

}  // namespace steady::mla_avx512
