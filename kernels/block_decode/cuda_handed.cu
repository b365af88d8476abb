// A block in five kernels. Expected: each is a matter of latencies, and their sum falls by half: a
// vector arrives ready to multiply, weights are on their way before it, the router is no phase of
// its own, and attention meets twice where it met four times.
#include <algorithm>

#include "kernels/block_decode/cuda.h"
#include "kernels/layouts/planes.h"
#include "kernels/mla_decode/cuda.h"

namespace steady {

static void run(const BlockDecode::Args& args, Range range) noexcept {
    const bool deep = args.shape.n_positions > cuda::kDeepFrom && cuda::deep_fits(args.attention);
    switch (range.phase) {
        case 0:
            return cuda::run_first(args);
        case 1:
            return deep ? cuda::run_deep(args.attention, cuda::kAttentionTeam)
                        : cuda::run_attention(args);
        case 2:
            return cuda::run_output(args, deep);
        case 3:
            return;  // the router came with the output product
        case 4:
            return cuda::run_hidden(args);
        default:
            return cuda::run_outputs(args);
    }
}

static bool in_planes(Type type) { return planes::has_planes(type); }

static bool attention_supported(const BlockDecodeShape& s) {
    const bool whole = s.q_rank % 32 == 0 && s.n_nope % 32 == 0 && s.n_rot % 32 == 0 &&
                       s.kv_rank % 32 == 0 && s.n_value % 128 == 0;
    return whole && in_planes(s.type) && s.n_nope + s.n_rot <= 256 && s.n_value <= 256 &&
           s.kv_rank <= cuda::kMostRank && s.n_rot <= cuda::kMostRot;
}

static bool feed_forward_supported(const BlockDecodeShape& s) {
    const auto fits = [](Type type, std::int64_t width) {
        return width == 0 || (in_planes(type) && width % 32 == 0);
    };
    return fits(s.expert_type, s.hidden) && fits(s.shared_type, s.shared) && s.n_experts <= 256 &&
           s.n_used <= 16 && !in_planes(s.router_type);
}

// Of the kernel that takes most: each keeps its vector and all its rows in shared memory.
static std::int64_t shared_bytes(const BlockDecodeShape& s) {
    const auto rows = [](std::int64_t n, std::int64_t cols, Type type) {
        return cols == 0 ? 0 : planes::packed_bytes({n, cols, type});
    };
    const auto vector = [](std::int64_t n) { return n / 32 * 48; };
    const std::int64_t group = 16, values = s.n_heads * s.n_value;
    const std::int64_t hidden = std::max(s.n_used > 0 ? rows(group, s.cols, s.expert_type) : 0,
                                         s.shared > 0 ? rows(group, s.cols, s.shared_type) : 0);
    const std::int64_t attention =
        rows(32, s.q_rank, s.type) + rows(s.n_value / cuda::kAttentionTeam, s.kv_rank, s.type) +
        vector(s.q_rank + s.kv_rank) +
        4 * (2 * (s.kv_rank + s.n_rot) + (s.n_nope / 32 + 16) * (s.kv_rank + 4));
    return std::max({vector(s.cols) + rows(group, s.cols, s.type), attention,
                     vector(values) + rows(group, values, s.type), vector(s.cols) + 2 * hidden,
                     vector(s.n_hidden()) + s.n_used * rows(group, s.hidden, s.expert_type) +
                         rows(group, s.shared, s.shared_type)});
}

static bool supports(const BlockDecodeShape& s) {
    return s.cols % 64 == 0 && attention_supported(s) && feed_forward_supported(s) &&
           shared_bytes(s) <= cuda::kMostShared;
}

static const Variant<BlockDecode> variant{"cuda_handed",
                                          {.compute = 90,
                                           .supports = supports,
                                           .granule = kWhole,
                                           .input = Input::q8,
                                           .layout = planes::kLayout,
                                           .pack_rows = planes::kRows,
                                           .packed_bytes = planes::packed_bytes,
                                           .pack = planes::pack,
                                           .run = run}};

}  // namespace steady
