// Enqueues the attention of a block deep in a text.
#include "kernels/block_decode/body_tiles.h"

namespace steady::cuda {
namespace {

template <class T, bool kAllQ4>
void run(const AttentionCall& call, const BlockDecode::Args& args) {
    const int n_heads = static_cast<int>(args.shape.n_heads);
    float* query = args.attention.scratch;
    float* sums = query + static_cast<std::ptrdiff_t>(n_heads) * kWidth;
    float* most = sums + static_cast<std::ptrdiff_t>(kParts) * n_heads * kRank / 2;
    run_query(call, n_heads, query, false);
    Size size;
    size.threads = kThreads;
    size.cluster = kAttentionTeam;
    const TilesCall tiles = {reinterpret_cast<const unsigned char*>(query),
                             call.head.cache,
                             call.head.position,
                             n_heads,
                             call.head.scale,
                             reinterpret_cast<unsigned char*>(sums),
                             most,
                             call.late};
    size.blocks = kTileBlocks;
    size.shared_bytes = sizeof(TileMemory<T>);
    launch_body<TilesBody<T>>(size, tiles);
    const JoinCall join = {call, n_heads, tiles.sums, most};
    size.cluster = 1;
    size.blocks = n_heads * kAttentionTeam;
    size.shared_bytes = handed_bytes(kRank) + static_cast<std::size_t>(v_bytes_of(call));
    launch_body<JoinBody<T, kAllQ4>>(size, join);
}

}  // namespace

bool tiles_fit(const BlockDecodeShape& s) {
    return (s.cache == Type::f16 || s.cache == Type::bf16) && s.kv_rank == kRank &&
           s.n_rot == kKnownRot && s.n_heads <= kHeads;
}

void run_tiles(const BlockDecode::Args& args, const Ways& ways) {
    const AttentionCall call = attention_call_of(args, ways);
    const bool halves = args.shape.cache == Type::f16;
    if (all_q4_0(call)) {
        halves ? run<__half, true>(call, args) : run<__nv_bfloat16, true>(call, args);
    } else {
        halves ? run<__half, false>(call, args) : run<__nv_bfloat16, false>(call, args);
    }
}

}  // namespace steady::cuda
