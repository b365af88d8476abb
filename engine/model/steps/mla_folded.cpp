// As mla_absorbed, but the product of k_b and the query's matrix was made when the model was
// loaded: one multiplication in place of two in a row, for more bytes. On GLM-4.7-Flash the two
// take 147,456 and 98,304 values a head, their product 393,216, and it is kept in Q8_0.
#include "engine/model/forward.h"
#include "engine/model/forward_parts.h"

namespace steady {

void mla_folded(Arm& arm, const Block& b, std::int64_t index, std::int64_t first) {
    cache_latent(arm, index, first);
    join_query(arm, index, arm.config.n_rot, 0);
    attend<MlaAttention>(arm, index, first);
    project_attended(arm, b, index);
}

}  // namespace steady
