// As cuda_wide, but a kernel does not wait for the end of the one before: it looks at the places of
// its vector's words until they are there. Up to 512 positions that holds for all kernels, and
// attention's blocks send each other values where they met; deeper, attention is that of cuda_wide.
// Of a block's 36 µs about 5 go into waiting for ends and then for the vector, 3 into attention's
// meetings, and 2 into a choice of experts by whole blocks. Expected: GLM-4.7-Flash decodes at 640
// to 690 tok/s at the beginning of a text where 561 were, DeepSeek-V2-Lite and youtu-llm 8 to 15 %
// faster; with 2,048 positions and more GLM-4.7-Flash by 2 to 6 %. In a persistent launch, where a
// matrix of the attention is no Q4_0, and for dense blocks deep in a text, which lost 2 to 6 % by
// looking, it enqueues what cuda_wide does. Expected of that: youtu-llm, whose blocks are all
// dense, decodes as fast as by cuda_wide from 513 positions on, within 1 %; the families with one
// dense block, the first, change by less than 0.5 %.
#include <algorithm>

#include "kernels/block_decode/body_polled_attention.h"
#include "kernels/block_decode/body_polled_first.h"
#include "kernels/block_decode/body_polled_hidden.h"
#include "kernels/block_decode/body_polled_output.h"
#include "kernels/block_decode/body_polled_outputs.h"
#include "kernels/block_decode/cuda.h"
#include "kernels/layouts/planes.h"

namespace steady::cuda_polled {
namespace {

using namespace cuda;

constexpr Ways kElse = {.tiles = true,
                        .lean = true,
                        .late = true,
                        .split = true,
                        .early = true,
                        .parts = true,
                        .wide = true};

// The places' memory: the part of attention's scratch that no way of attention here uses.
unsigned char* places_of(const BlockDecode::Args& args) {
    const std::int64_t used =
        args.shape.n_heads * (args.attention.shape.width() + MlaDecode::kParts * kKnownRank / 2 +
                              2 * MlaDecode::kParts + 4 * kKnownRank);
    return reinterpret_cast<unsigned char*>(args.attention.scratch + used);
}
std::int64_t set_bytes(const BlockDecode::Args& args) {
    const auto* end = reinterpret_cast<unsigned char*>(
        args.attention.scratch + MlaDecode::scratch_floats(args.attention.shape));
    return (end - places_of(args)) / 2 / 128 * 128;
}

// Where this thread's launches are: which set the block uses, and what the next one must find to
// use the other one.
struct Turn {
    bool polled = false, fresh = true;
    bool was_polled = false;  // of a block that is not: whether the one before was
    int set = 0;
    const float* scratch = nullptr;
    std::int64_t bytes = 0;  // of a set, as it is laid out
};
thread_local Turn turn_of_thread;

PolledSet set_of(const BlockDecode::Args& args, int set) {
    return polled_set(args.shape, places_of(args) + set * set_bytes(args));
}

bool is_deep(const BlockDecodeShape& s) { return s.n_positions > kMostPlaces; }
bool looks_deep(const BlockDecodeShape& s) { return !s.dense() && tiles_fit(s); }

bool fits(const BlockDecode::Args& args) {
    const BlockDecodeShape& s = args.shape;
    const auto q4 = [](const AnyMatrix& m) { return m.type == Type::q4_0; };
    if (recording_tasks() || (is_deep(s) && !looks_deep(s)) || s.kv_rank != kKnownRank ||
        s.n_rot != kKnownRot || (s.cache != Type::f16 && s.cache != Type::bf16) ||
        (s.n_value != kThreads && s.n_value != kThreads / 2) || s.q_rank % (4 * kGroup) != 0 ||
        s.cols % (4 * kGroup) != 0 || s.cols > 128 * kGroup || s.n_experts > kMostPolledExperts ||
        s.n_experts % 4 != 0) {
        return false;
    }
    const MlaDecode::Args& a = args.attention;
    const PolledSet set = set_of(args, 0);
    return q4(args.first.m[0]) && q4(args.first.m[1]) && q4(a.k_b) && q4(a.v_b) &&
           (s.q_rank == 0 || q4(a.q_b)) && q4(args.output.m[0]) &&
           set.end - set.query <= set_bytes(args);
}

void take_turn(const BlockDecode::Args& args) {
    Turn& turn = turn_of_thread;
    if (!fits(args)) {
        turn = {.was_polled = turn.polled};
        return;
    }
    const PolledSet set = set_of(args, 0);
    const std::int64_t bytes = set.end - set.query;
    turn.fresh = !args.handed || !turn.polled || turn.scratch != args.attention.scratch ||
                 turn.bytes != bytes;
    turn.set = turn.fresh ? 0 : 1 - turn.set;
    turn.polled = true;
    turn.scratch = args.attention.scratch;
    turn.bytes = bytes;
}

void run_polled_first(const BlockDecode::Args& args, const Turn& turn) {
    const PolledSet own = set_of(args, turn.set), before = set_of(args, 1 - turn.set);
    PolledFirstCall call = {};
    FirstCall& first = call.first;
    for (int i = 0; i < 2; ++i) {
        first.m[i] = device_matrix(args.first.m[static_cast<std::size_t>(i)], false);
    }
    first.first_block = first.m[0].rows / kGroup;
    first.n = static_cast<int>(args.shape.cols);
    first.eps = args.first.eps;
    first.x = args.first.x;
    first.norm = args.first.norm;
    call.fresh = turn.fresh;
    // Measured at a text's beginning, with experts; elsewhere nothing is asked for early.
    if (args.shape.n_used > 0 && !is_deep(args.shape)) {
        call.shared_gate = device_matrix(args.experts.shared_gate, false);
        call.shared_up = device_matrix(args.experts.shared_up, false);
    }
    if (!turn.fresh) {
        first.handed = before.x;
        first.squares = before.x_squares;
        call.go = before.go;
    }
    if (args.shape.q_rank != 0) first.query_norm = args.attention.q_norm;
    first.query = own.query;
    first.square_groups = static_cast<int>(args.shape.kv_rank) / kGroup;
    call.query_squares = own.query_squares;
    call.query_whole = reinterpret_cast<float*>(own.query);
    call.kv = own.kv;
    call.kv_squares = own.kv_squares;
    call.copies = kFewCopies;
    if (is_deep(args.shape)) {
        const BlockScratch scratch = scratch_of(args);
        first.query = scratch.query;
        call.query_squares = scratch.query_squares;
        call.query_whole = args.first.y[0];
        call.kv = args.first.y[1];
        call.kv_squares = scratch.kv_squares;
        call.copies = 1;
    }
    call.clear = reinterpret_cast<uint4*>(own.values);
    call.n_clear = static_cast<int>((own.end - own.values) / 16);
    Size size;
    size.threads = kFirstThreads;
    size.blocks = (first.m[0].rows + first.m[1].rows) / kGroup;
    size.shared_bytes =
        handed_bytes(first.n) + 2 * static_cast<std::size_t>(chunk_bytes(Form::q4_0, first.n));
    launch_body<PolledFirstBody>(size, call);
}

// Positions that attention has room for. A recorded pass is issued for later positions, too: from
// 320 and from 512 positions on the engine records others (kDepths in engine/model/joined.cpp).
int room_for(std::int64_t n_positions) { return n_positions <= 320 ? 320 : kMostPlaces; }
// Three blocks that need less find room on one multiprocessor, and all wait for the slowest.
constexpr std::size_t kTwoToAProcessor = 76 * 1024;

void run_polled_attention(const BlockDecode::Args& args, const Turn& turn) {
    const PolledSet own = set_of(args, turn.set), other = set_of(args, 1 - turn.set);
    PolledAttentionCall call = {};
    call.of = attention_call_of(args, kElse);
    call.fresh = turn.fresh;
    call.query = own.query;
    call.query_squares = own.query_squares;
    call.query_whole = reinterpret_cast<const float*>(own.query);
    call.kv = own.kv;
    call.kv_squares = own.kv_squares;
    call.values = own.values;
    call.clear = reinterpret_cast<uint4*>(other.query);
    call.n_clear = static_cast<int>((other.end - other.query) / 16);
    call.n_places = room_for(args.shape.n_positions);
    PolledRoom room = {};
    Size size;
    size.threads = kThreads;
    size.cluster = kAttentionTeam;
    size.blocks = static_cast<int>(args.shape.n_heads) * kAttentionTeam;
    size.shared_bytes = std::max(
        kTwoToAProcessor, lay_out(call.of, call.of.query != nullptr, call.n_places, nullptr, room));
    args.shape.cache == Type::f16 ? launch_body<PolledAttentionBody<__half>>(size, call)
                                  : launch_body<PolledAttentionBody<__nv_bfloat16>>(size, call);
}

void run_polled_output(const BlockDecode::Args& args, const Turn& turn) {
    const PolledSet own = set_of(args, turn.set);
    PolledOutputCall call = {};
    OutputCall& of = call.of;
    of.m = device_matrix(args.output.m[0], false);
    of.n = of.m.cols;
    of.handed = own.values;
    of.x = args.output.y[0];
    of.norm = args.experts.norm;
    of.ffn = own.ffn;
    of.squares = own.ffn_squares;
    of.router = reinterpret_cast<const float*>(args.experts.router.w);
    of.n_experts = static_cast<int>(args.shape.n_experts);
    of.logits = own.logits;
    call.shared_down = device_matrix(args.experts.shared_down, false);
    if (is_deep(args.shape)) {
        const PolledSet other = set_of(args, 1 - turn.set);
        of.handed = scratch_of(args).values;
        call.deep = true;
        call.clear = reinterpret_cast<uint4*>(other.query);
        call.n_clear = static_cast<int>((other.end - other.query) / 16);
    }
    Size size;
    size.threads = PolledOutputBody::kThreads;
    size.blocks = of.m.rows / kGroup;
    size.cluster = output_cluster(args.shape);
    size.shared_bytes =
        handed_bytes(of.n) + 2 * static_cast<std::size_t>(chunk_bytes(of.m.form, of.n));
    launch_body<PolledOutputBody>(size, call);
}

void run_polled_hidden(const BlockDecode::Args& args, const Turn& turn) {
    const PolledSet own = set_of(args, turn.set);
    const BlockDecodeShape& s = args.shape;
    const MoeDecode::Args& e = args.experts;
    PolledHiddenCall call = {};
    HiddenCall& of = call.of;
    of.router = {own.logits,
                 e.bias,
                 static_cast<int>(s.cols / kGroup) / output_cluster(s),
                 static_cast<int>(s.n_experts),
                 static_cast<int>(s.n_used),
                 e.gating == Gating::sigmoid,
                 e.normalise,
                 e.scale == 0 ? 1.0F : e.scale,
                 MoeRouter::kSmallestSum};
    of.gate = device_matrix(e.gate, false);
    of.up = device_matrix(e.up, false);
    of.shared_gate = device_matrix(e.shared_gate, false);
    of.shared_up = device_matrix(e.shared_up, false);
    of.n = static_cast<int>(s.cols);
    of.hidden = static_cast<int>(s.hidden);
    of.shared = static_cast<int>(s.shared);
    of.eps = e.eps;
    of.handed = own.ffn;
    of.squares = own.ffn_squares;
    of.expert_groups = std::max(1, of.hidden / kGroup);
    of.out = own.hidden;
    call.ids = own.ids;
    call.weights = own.weights;
    call.go = own.go;
    std::size_t rows = 0;
    const auto room_for = [&](const Matrix& gate, const Matrix& up) {
        rows = std::max(rows, 2 * static_cast<std::size_t>(chunk_bytes(gate.form, of.n) +
                                                           chunk_bytes(up.form, of.n)));
    };
    if (s.n_used > 0) room_for(of.gate, of.up);
    if (s.shared > 0) room_for(of.shared_gate, of.shared_up);
    Size size;
    size.threads = kExpertThreads;
    size.blocks = static_cast<int>(s.n_hidden()) / kGroup;
    size.shared_bytes = handed_bytes(s.cols) + rows;
    const auto all = [](Form form, const Matrix& gate, const Matrix& up, bool used) {
        return !used || (gate.form == form && up.form == form);
    };
    constexpr int kQ4 = only(Form::q4_0);
    const bool routed = all(Form::q4_0, of.gate, of.up, s.n_used > 0);
    if (routed && all(Form::q4_0, of.shared_gate, of.shared_up, s.shared > 0)) {
        launch_body<PolledHiddenBody<kQ4, kQ4>>(size, call);
    } else if (routed && all(Form::q5_k, of.shared_gate, of.shared_up, s.shared > 0)) {
        launch_body<PolledHiddenBody<kQ4, only(Form::q5_k)>>(size, call);
    } else {
        launch_body<PolledHiddenBody<kAnyForm, kAnyForm>>(size, call);
    }
}

void run_polled_outputs(const BlockDecode::Args& args, const Turn& turn) {
    const PolledSet own = set_of(args, turn.set);
    const BlockDecodeShape& s = args.shape;
    const MoeDecode::Args& e = args.experts;
    PolledOutputsCall call = {};
    OutputsCall& of = call.of;
    of.down = device_matrix(e.down, false);
    of.shared_down = device_matrix(e.shared_down, false);
    of.n_used = static_cast<int>(s.n_used);
    of.hidden = static_cast<int>(s.hidden);
    of.shared = static_cast<int>(s.shared);
    of.handed = own.hidden;
    of.x = e.x;
    of.norm = args.next_norm;
    of.out = own.x;
    of.squares = own.x_squares;
    call.ids = own.ids;
    call.weights = reinterpret_cast<const unsigned*>(own.weights);
    Size size;
    size.threads = 2 * kExpertThreads;
    size.blocks = static_cast<int>(s.cols) / kGroup;
    size.shared_bytes = handed_bytes(s.n_hidden());
    if (s.n_used > 0) {
        size.shared_bytes +=
            static_cast<std::size_t>(2 * of.n_used * chunk_bytes(of.down.form, of.hidden));
    }
    if (s.shared > 0) {
        size.shared_bytes +=
            static_cast<std::size_t>(2 * chunk_bytes(of.shared_down.form, of.shared));
    }
    constexpr int kQ4 = only(Form::q4_0);
    const bool routed = s.n_used == 0 || of.down.form == Form::q4_0;
    if (routed && (s.shared == 0 || of.shared_down.form == Form::q4_0)) {
        launch_body<PolledOutputsBody<kQ4, kQ4, 2>>(size, call);
    } else if (routed && of.shared_down.form == Form::q6_k) {
        launch_body<PolledOutputsBody<kQ4, only(Form::q6_k), 2>>(size, call);
    } else {
        size.threads = kExpertThreads;
        launch_body<PolledOutputsBody<kAnyForm, kAnyForm, 1>>(size, call);
    }
}

void run(const BlockDecode::Args& args, Range range) noexcept {
    if (range.phase == 0) take_turn(args);
    const Turn& turn = turn_of_thread;
    if (!turn.polled) {
        if (!turn.was_polled) return run_phase(args, range.phase, kElse);
        // x was handed over where this way does not look.
        BlockDecode::Args from_floats = args;
        from_floats.handed = false;
        return run_phase(from_floats, range.phase, kElse);
    }
    switch (range.phase) {
        case 0:
            return run_polled_first(args, turn);
        case 1:
            return is_deep(args.shape) ? run_parts(args, kElse) : run_polled_attention(args, turn);
        case 2:
            return run_polled_output(args, turn);
        case 3:
            return;  // the router came with the output product
        case 4:
            return run_polled_hidden(args, turn);
        default:
            return run_polled_outputs(args, turn);
    }
}

}  // namespace

static const Variant<BlockDecode> variant{"cuda_polled",
                                          {.compute = 90,
                                           .persistent = true,
                                           .supports = cuda::handed_fits,
                                           .granule = kWhole,
                                           .input = Input::q8,
                                           .layout = planes::kLayout,
                                           .pack_rows = planes::kRows,
                                           .packed_bytes = planes::packed_bytes,
                                           .pack = planes::pack,
                                           .run = run}};

}  // namespace steady::cuda_polled
