// Enqueues the attention of a block near the beginning of a text.
#include "kernels/block_decode/body_attention.h"

namespace steady::cuda {

void run_attention(const BlockDecode::Args& args, const Ways& ways) {
    const AttentionCall call = attention_call_of(args, ways);
    Room room = {};
    Size size;
    size.threads = kThreads;
    size.cluster = kAttentionTeam;
    size.blocks = static_cast<int>(args.shape.n_heads) * kAttentionTeam;
    size.shared_bytes = lay_out(call, nullptr, room);
    // The published models' widths with Q4_0 have a kernel of their own.
    if (call.head.latent.n == kKnownRank && call.head.n_rot == kKnownRot && all_q4_0(call)) {
        ways.lean&& call.head.value != Value::f32
            ? launch_body<AttentionBody<true, PackedLane, 3>>(size, call)
            : launch_body<AttentionBody<true, Lane, 2>>(size, call);
    } else {
        launch_body<AttentionBody<false, Lane, 2>>(size, call);
    }
}

AttentionCall attention_call_of(const BlockDecode::Args& args, const Ways& ways) {
    const BlockScratch scratch = scratch_of(args);
    AttentionCall call = {};
    call.head = call_of(args.attention, false);
    call.query_units = (call.head.n_nope + call.head.n_rot) / kUnit;
    call.nope_units = call.head.n_nope / kUnit;
    if (args.shape.q_rank != 0) call.query = scratch.query;
    call.query_squares = scratch.query_squares;
    call.kv_squares = scratch.kv_squares;
    call.out = scratch.values;
    call.late = ways.late;
    return call;
}

}  // namespace steady::cuda
