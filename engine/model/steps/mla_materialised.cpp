// Attention on full keys and values per head, computed from the latent once per position and kept.
// More memory and more bytes per position than the absorbed form, fewer multiplications per token
// at short context: the classic trade, kept here so that it can be asked again.
#include <cstring>

#include "engine/model/forward.h"
#include "engine/model/forward_parts.h"

namespace steady {
namespace {

// Per head, one cached row [value | key]: value = v_b[h] · c, key = [k rows of h · c | k_pe].
void cache_keys_and_values(Arm& arm, const Block& b, std::int64_t index, std::int64_t first) {
    State& s = arm.state;
    const Config& c = arm.config;
    // Every head multiplies the same latent, and a grouped product wants one x per group.
    for (std::int64_t row = 0; row < s.n * c.n_heads; ++row) {
        const float* latent = s.kv.data() + row / c.n_heads * c.latent_size();
        std::memcpy(s.attended.f32.data() + row * c.kv_rank, latent, floats(c.kv_rank));
    }
    quantize_for(arm, s.attended, s.n * c.n_heads * c.kv_rank, {&b.attn_k_rows, &b.attn_v_b});
    multiply(arm, std::array{Product{&b.attn_k_rows, s.attended.view(), s.k_nope.data()},
                             Product{&b.attn_v_b, s.attended.view(), s.values.f32.data()}});
    for (std::int64_t at = 0; at < s.n * c.n_heads; ++at) {
        const std::int64_t t = at / c.n_heads;
        std::byte* row = arm.cache.row(index, at % c.n_heads, first + t);
        const auto put = [&](const float* values, std::int64_t n) {
            mla_cache::store(arm.cache.type(), values, n, row);
            row += row_bytes(arm.cache.type(), n);
        };
        const float* k_pe = s.kv.data() + t * c.latent_size() + c.kv_rank;
        put(s.values.f32.data() + at * c.n_value, c.n_value);
        put(s.k_nope.data() + at * c.n_nope, c.n_nope);
        put(k_pe, c.n_rot);
    }
}

}  // namespace

// A head's attention is the latent op at n_heads = 1: the row's first n_value values are what is
// summed, and a query that is zero there scores against the key alone.
void mla_materialised(Arm& arm, const Block& b, std::int64_t index, std::int64_t first) {
    State& s = arm.state;
    const Config& c = arm.config;
    cache_keys_and_values(arm, b, index, first);
    const std::int64_t width = c.n_value + c.head_size();
    for (std::int64_t at = 0; at < s.n * c.n_heads; ++at) {
        float* q = s.q_latent.data() + at * width;
        std::memset(q, 0, floats(c.n_value));
        std::memcpy(q + c.n_value, s.q.data() + at * c.head_size(), floats(c.head_size()));
        call<MlaAttention>(
            arm, {{1, c.n_value, c.head_size(), first + at / c.n_heads + 1, arm.cache.type()},
                  q,
                  arm.cache.row(index, at % c.n_heads, 0),
                  c.attention_scale,
                  s.scores.data(),
                  s.values.f32.data() + at * c.n_value});
    }
    arm.note("kqv_out", index, values_of(s.values.f32, s.n, c.n_heads * c.n_value));
    quantize_for(arm, s.values, s.n * c.n_heads * c.n_value, {&b.attn_output});
    multiply(arm, {&b.attn_output, s.values.view(), s.attn_out.data()});
}

}  // namespace steady
