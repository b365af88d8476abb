// Enqueues the attention of a block deep in a text, where each block of tiles hands on its sums.
#include "kernels/block_decode/body_wide.h"

namespace steady::cuda {
namespace {

// Too much for two blocks on a multiprocessor: Hopper has 228 KB, and each block takes 1 KB more.
constexpr std::size_t kAlone = 116 * 1024;
static_assert(sizeof(WideMemory<__half>) <= kAlone);

template <class T, bool kAllQ4>
void run(const AttentionCall& call, const BlockDecode::Args& args, bool wide) {
    const int n_heads = static_cast<int>(args.shape.n_heads);
    float* query = args.attention.scratch;
    float* sums = query + static_cast<std::ptrdiff_t>(n_heads) * kWidth;
    float* most = sums + static_cast<std::ptrdiff_t>(n_heads) * kPartBlocks * kRank / 2;
    static_assert(kPartBlocks * (kRank / 2 + 2) <= MlaDecode::kParts * (kRank + 2));
    run_query(call, n_heads, query, true);
    const PartsCall parts = {reinterpret_cast<const unsigned char*>(query),
                             call.head.cache,
                             call.head.position,
                             n_heads,
                             call.head.scale,
                             reinterpret_cast<unsigned char*>(sums),
                             most,
                             call.late};
    Size size;
    size.threads = kThreads;
    size.blocks = kPartBlocks;
    // While a block's positions are one tile of 48, those tiles are no slower.
    if (wide && args.shape.n_positions > kPartBlocks * kTile) {
        size.shared_bytes = sizeof(WideMemory<T>);
        // With more than one tile, two blocks on one multiprocessor would be ready last.
        if (args.shape.n_positions > kPartBlocks * kTileRows) size.shared_bytes = kAlone;
        launch_body<WideBody<T>>(size, parts);
    } else {
        size.shared_bytes = sizeof(PartMemory<T>);
        launch_body<PartsBody<T>>(size, parts);
    }
    const ValuesCall values = {call, parts.sums, most};
    size.cluster = kAttentionTeam;
    size.blocks = n_heads * kAttentionTeam;
    size.shared_bytes = 0;
    launch_body<ValuesBody<T, kAllQ4>>(size, values);
}

}  // namespace

void run_parts(const BlockDecode::Args& args, const Ways& ways) {
    const AttentionCall call = attention_call_of(args, ways);
    const bool halves = args.shape.cache == Type::f16;
    if (all_q4_0(call)) {
        halves ? run<__half, true>(call, args, ways.wide)
               : run<__nv_bfloat16, true>(call, args, ways.wide);
    } else {
        halves ? run<__half, false>(call, args, ways.wide)
               : run<__nv_bfloat16, false>(call, args, ways.wide);
    }
}

}  // namespace steady::cuda
