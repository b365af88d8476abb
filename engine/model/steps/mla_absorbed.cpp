// Attention on the latent itself: the query is multiplied into the latent space (k_b absorbed), all
// heads attend to one shared row per position, and v_b brings the result back. Reads 576 values per
// position where full keys and values of 20 heads would be 10 240.
#include <cstring>

#include "engine/model/forward.h"
#include "engine/model/forward_parts.h"

namespace steady {

void absorb_query(Arm& arm, const Block& b, std::int64_t index) {
    State& s = arm.state;
    const Config& c = arm.config;
    const std::int64_t n_rows = s.n * c.n_heads;
    spread(arm, n_rows, [&](Range rows) {
        for (std::int64_t h = rows.begin; h < rows.end; ++h) {
            std::memcpy(s.q_nope.f32.data() + h * c.n_nope, s.q.data() + h * c.head_size(),
                        floats(c.n_nope));
        }
    });
    quantize_for(arm, s.q_nope, n_rows * c.n_nope, {&b.attn_k_b});
    multiply(arm, {&b.attn_k_b, s.q_nope.view(), s.q_absorbed.data()});
    arm.note("q_nope_absorbed", index, values_of(s.q_absorbed, n_rows, c.kv_rank));
}

void cache_latent(Arm& arm, std::int64_t index, std::int64_t first) {
    const std::int64_t width = arm.config.latent_size();
    for (std::int64_t t = 0; t < arm.state.n; ++t) {
        const float* row = arm.state.kv.data() + t * width;
        if (arm.plan.mla->format != nullptr) {
            arm.cache.store(index, first + t, row);
        } else {
            mla_cache::store(arm.cache.type(), row, width, arm.cache.row(index, first + t));
        }
    }
}

void join_query(Arm& arm, std::int64_t index, std::int64_t stride, std::int64_t offset) {
    State& s = arm.state;
    const Config& c = arm.config;
    const std::int64_t n_rows = s.n * c.n_heads;
    spread(arm, n_rows, [&](Range rows) {
        for (std::int64_t h = rows.begin; h < rows.end; ++h) {
            float* row = s.q_latent.data() + h * c.latent_size();
            std::memcpy(row, s.q_absorbed.data() + h * c.kv_rank, floats(c.kv_rank));
            std::memcpy(row + c.kv_rank, s.q.data() + h * stride + offset, floats(c.n_rot));
        }
    });
    arm.note("Qcur", index, values_of(s.q_latent, n_rows, c.latent_size()));
}

void project_attended(Arm& arm, const Block& b, std::int64_t index) {
    State& s = arm.state;
    const Config& c = arm.config;
    quantize_for(arm, s.attended, s.n * c.n_heads * c.kv_rank, {&b.attn_v_b});
    multiply(arm, {&b.attn_v_b, s.attended.view(), s.values.f32.data()});
    arm.note("kqv_out", index, values_of(s.values.f32, s.n, c.n_heads * c.n_value));
    quantize_for(arm, s.values, s.n * c.n_heads * c.n_value, {&b.attn_output});
    multiply(arm, {&b.attn_output, s.values.view(), s.attn_out.data()});
}

template <class Op>
void mla_absorbed(Arm& arm, const Block& b, std::int64_t index, std::int64_t first) {
    cache_latent(arm, index, first);
    absorb_query(arm, b, index);
    join_query(arm, index, arm.config.head_size(), arm.config.n_nope);
    attend<Op>(arm, index, first);
    project_attended(arm, b, index);
}

template void mla_absorbed<MlaAttention>(Arm&, const Block&, std::int64_t, std::int64_t);
template void mla_absorbed<MlaAttentionI16>(Arm&, const Block&, std::int64_t, std::int64_t);

}  // namespace steady
