// Enqueues the first products of a block, and its output product with the residual and the router.
#include <algorithm>

#include "kernels/block_decode/body_first.h"
#include "kernels/block_decode/body_output.h"
#include "kernels/block_decode/cuda.h"
#include "kernels/mla_decode/cuda.h"

namespace steady::cuda {

int output_cluster(const BlockDecodeShape& shape) {
    const std::int64_t groups = shape.cols / kGroup;
    if (shape.dense()) return 1;
    return groups % 8 == 0 ? 8 : groups % 4 == 0 ? 4 : groups % 2 == 0 ? 2 : 1;
}

BlockScratch scratch_of(const BlockDecode::Args& args) {
    const BlockDecodeShape& s = args.shape;
    float* at = args.scratch;
    const auto take = [&](std::int64_t floats) {
        float* begin = at;
        at += (floats + 3) / 4 * 4;
        return begin;
    };
    const auto bytes = [&](std::int64_t n) {
        return reinterpret_cast<unsigned char*>(take(n / 32 * 12));
    };
    BlockScratch out = {};
    // What one block hands the next lies first, since the rest depends on the block's kind.
    out.x = bytes(s.cols);
    out.x_squares = take(s.cols / kGroup);
    out.query = bytes(s.q_rank);
    out.values = bytes(s.n_heads * s.n_value);
    out.ffn = bytes(kFfnCopies * s.cols);
    out.hidden = bytes(kHiddenCopies * s.n_hidden());
    out.query_squares = take(s.q_rank / kGroup);
    out.kv_squares = take(s.kv_rank / kGroup);
    out.ffn_squares = take(kFfnCopies * (s.cols / kGroup));
    out.logits = take(kFfnCopies * (s.cols / kGroup) * s.n_experts);
    return out;
}

void run_phase(const BlockDecode::Args& args, int phase, const Ways& ways) {
    const bool deep = args.shape.n_positions > kDeepFrom;
    const bool tiles = ways.tiles && deep && tiles_fit(args.shape);
    const bool from_floats = !ways.tiles && deep && deep_fits(args.attention);
    switch (phase) {
        case 0:
            return run_first(args);
        case 1:
            // A part's block would have a multiprocessor of a persistent launch for itself.
            if (tiles && ways.parts && !recording_tasks()) return run_parts(args, ways);
            if (tiles) return run_tiles(args, ways);
            if (from_floats) return run_deep(args.attention, kAttentionTeam);
            return run_attention(args, ways);
        case 2:
            return run_output(args, from_floats, ways);
        case 3:
            return;  // the router came with the output product
        case 4:
            return run_hidden(args, ways);
        default:
            return run_outputs(args, ways);
    }
}

void run_first(const BlockDecode::Args& args) {
    const BlockScratch scratch = scratch_of(args);
    FirstCall call = {};
    for (int i = 0; i < 2; ++i) {
        call.m[i] = device_matrix(args.first.m[static_cast<std::size_t>(i)], false);
        call.y[i] = args.first.y[static_cast<std::size_t>(i)];
    }
    call.first_block = call.m[0].rows / kGroup;
    call.n = static_cast<int>(args.shape.cols);
    call.eps = args.first.eps;
    call.x = args.first.x;
    call.norm = args.first.norm;
    if (args.handed) call.handed = scratch.x;
    call.squares = scratch.x_squares;
    if (args.shape.q_rank != 0) call.query_norm = args.attention.q_norm;
    call.query = scratch.query;
    call.out_squares[0] = scratch.query_squares;
    call.out_squares[1] = scratch.kv_squares;
    call.square_groups = static_cast<int>(args.shape.kv_rank) / kGroup;
    call.chosen = chosen_of(args);
    Size size;
    size.threads = kFirstThreads;
    size.blocks = (call.m[0].rows + call.m[1].rows) / kGroup;
    size.shared_bytes = handed_bytes(call.n) +
                        2 * static_cast<std::size_t>(std::max(chunk_bytes(call.m[0].form, call.n),
                                                              chunk_bytes(call.m[1].form, call.n)));
    if (call.m[0].form == Form::q4_0 && call.m[1].form == Form::q4_0) {
        launch_body<FirstBody<only(Form::q4_0)>>(size, call);
    } else {
        launch_body<FirstBody<kAnyForm>>(size, call);
    }
}

void run_output(const BlockDecode::Args& args, bool from_floats, const Ways& ways) {
    const BlockScratch scratch = scratch_of(args);
    OutputCall call = {};
    call.m = device_matrix(args.output.m[0], false);
    call.n = call.m.cols;
    if (from_floats) call.floats = args.output.x;
    call.handed = scratch.values;
    call.x = args.output.y[0];
    call.norm = args.experts.norm;
    call.ffn = scratch.ffn;
    call.squares = scratch.ffn_squares;
    call.router = reinterpret_cast<const float*>(args.experts.router.w);
    call.n_experts = static_cast<int>(args.shape.n_experts);
    call.logits = scratch.logits;
    Size size;
    size.threads = kOutputThreads;
    size.blocks = call.m.rows / kGroup;
    size.cluster = output_cluster(args.shape);
    size.shared_bytes =
        handed_bytes(call.n) + 2 * static_cast<std::size_t>(chunk_bytes(call.m.form, call.n));
    if (call.m.form != Form::q4_0) {
        launch_body<OutputBody<kAnyForm, 1, 1>>(size, call);
    } else if (!ways.split) {
        launch_body<OutputBody<only(Form::q4_0), 1, 1>>(size, call);
    } else if (recording_tasks()) {
        launch_body<OutputBody<only(Form::q4_0), 2, 1>>(size, call);
    } else {
        size.threads *= 2;
        launch_body<OutputBody<only(Form::q4_0), 2, 2>>(size, call);
    }
}

}  // namespace steady::cuda
