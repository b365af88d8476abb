// As mla_absorbed over a cache of 16-bit integers, rounded about as finely as half floats: half the
// memory to read and twice the products per instruction, which is what counts deep in a text.
#include "engine/model/forward.h"
#include "engine/model/forward_parts.h"

namespace steady {

void mla_absorbed_i16(Arm& arm, const Block& b, std::int64_t index, std::int64_t first) {
    State& s = arm.state;
    const Config& c = arm.config;
    std::byte* cache = arm.cache.groups(index);
    for (std::int64_t t = 0; t < s.n; ++t) {
        mla_i16::store(cache, first + t, s.kv.data() + t * c.latent_size(), c.kv_rank, c.n_rot);
    }
    absorb_query(arm, b, index);
    join_query(arm, index, c.head_size(), c.n_nope);
    for (std::int64_t t = 0; t < s.n; ++t) {
        launch<MlaAttentionI16>(arm, {{c.n_heads, c.kv_rank, c.n_rot, first + t + 1},
                                      s.q_latent.data() + t * c.n_heads * c.latent_size(),
                                      cache,
                                      c.attention_scale,
                                      s.scores.data(),
                                      s.attended.f32.data() + t * c.n_heads * c.kv_rank});
    }
    project_attended(arm, b, index);
}

}  // namespace steady
