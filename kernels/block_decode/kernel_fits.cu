// Which blocks the GPU variants of a whole block take.
#include <algorithm>

#include "kernels/block_decode/cuda.h"
#include "kernels/layouts/planes.h"
#include "kernels/mla_decode/cuda.h"

namespace steady::cuda {
namespace {

bool in_planes(Type type) { return planes::has_planes(type); }

bool attention_supported(const BlockDecodeShape& s) {
    const bool whole = s.q_rank % 32 == 0 && s.n_nope % 32 == 0 && s.n_rot % 32 == 0 &&
                       s.kv_rank % 32 == 0 && s.n_value % 128 == 0;
    return whole && in_planes(s.type) && s.n_nope + s.n_rot <= 256 && s.n_value <= 256 &&
           s.kv_rank <= kMostRank && s.n_rot <= kMostRot;
}

bool feed_forward_supported(const BlockDecodeShape& s) {
    const auto fits = [](Type type, std::int64_t width) {
        return width == 0 || (in_planes(type) && width % 32 == 0);
    };
    return fits(s.expert_type, s.hidden) && fits(s.shared_type, s.shared) && s.n_experts <= 256 &&
           s.n_used <= 16 && !in_planes(s.router_type);
}

// Of the kernel that takes most: each keeps its vector and all its rows in shared memory.
std::int64_t shared_bytes(const BlockDecodeShape& s) {
    const auto rows = [](std::int64_t n, std::int64_t cols, Type type) {
        return cols == 0 ? 0 : planes::packed_bytes({n, cols, type});
    };
    const auto vector = [](std::int64_t n) { return n / 32 * 48; };
    const std::int64_t group = 16, values = s.n_heads * s.n_value;
    const std::int64_t hidden = std::max(s.n_used > 0 ? rows(group, s.cols, s.expert_type) : 0,
                                         s.shared > 0 ? rows(group, s.cols, s.shared_type) : 0);
    const std::int64_t attention =
        rows(32, s.q_rank, s.type) + rows(s.n_value / kAttentionTeam, s.kv_rank, s.type) +
        vector(s.q_rank + s.kv_rank) +
        4 * (2 * (s.kv_rank + s.n_rot) + (s.n_nope / 32 + 16) * (s.kv_rank + 4));
    return std::max({vector(s.cols) + rows(group, s.cols, s.type), attention,
                     vector(values) + rows(group, values, s.type), vector(s.cols) + 2 * hidden,
                     vector(s.n_hidden()) + s.n_used * rows(group, s.hidden, s.expert_type) +
                         rows(group, s.shared, s.shared_type)});
}

}  // namespace

bool handed_fits(const BlockDecodeShape& s) {
    return s.cols % 64 == 0 && attention_supported(s) && feed_forward_supported(s) &&
           shared_bytes(s) <= kMostShared;
}

}  // namespace steady::cuda
