// Enqueues the hidden values of a block's feed-forward.
#include <algorithm>

#include "kernels/block_decode/body_hidden.h"

namespace steady::cuda {
namespace {

// A launch of its own has a block for each group, so that all find room at once. A task has the
// blocks of the launch that it is part of.
template <int kRouted, int kShared>
void launch_groups(const Size& size, const HiddenCall& call) {
    recording_tasks() ? launch_body<HiddenBody<kRouted, kShared, kMostGroups>>(size, call)
                      : launch_body<HiddenBody<kRouted, kShared, 1>>(size, call);
}

}  // namespace

void run_hidden(const BlockDecode::Args& args, const Ways& ways) {
    const BlockScratch scratch = scratch_of(args);
    const BlockDecodeShape& s = args.shape;
    const MoeDecode::Args& e = args.experts;
    HiddenCall call = {};
    call.router = {scratch.logits,
                   e.bias,
                   static_cast<int>(s.cols / kGroup) / output_cluster(s),
                   static_cast<int>(s.n_experts),
                   static_cast<int>(s.n_used),
                   e.gating == Gating::sigmoid,
                   e.normalise,
                   e.scale == 0 ? 1.0F : e.scale,
                   MoeRouter::kSmallestSum};
    call.gate = device_matrix(e.gate, false);
    call.up = device_matrix(e.up, false);
    call.shared_gate = device_matrix(e.shared_gate, false);
    call.shared_up = device_matrix(e.shared_up, false);
    call.n = static_cast<int>(s.cols);
    call.hidden = static_cast<int>(s.hidden);
    call.shared = static_cast<int>(s.shared);
    call.eps = e.eps;
    call.handed = scratch.ffn;
    call.squares = scratch.ffn_squares;
    call.expert_groups = call.hidden / kGroup;
    call.ids = e.ids;
    call.weights = e.weights;
    if (ways.early) call.chosen = chosen_of(args);
    call.out = scratch.hidden;
    std::size_t rows = 0;
    const auto room_for = [&](const Matrix& gate, const Matrix& up) {
        rows = std::max(rows, 2 * static_cast<std::size_t>(chunk_bytes(gate.form, call.n) +
                                                           chunk_bytes(up.form, call.n)));
    };
    if (s.n_used > 0) room_for(call.gate, call.up);
    if (s.shared > 0) room_for(call.shared_gate, call.shared_up);
    call.groups = static_cast<int>(s.n_hidden()) / kGroup;
    call.group_bytes = static_cast<int>(rows);
    Size size;
    size.threads = kExpertThreads;
    size.blocks = call.groups;
    size.shared_bytes = handed_bytes(s.cols) + rows;
    size.most_groups = kMostGroups;
    size.group_bytes = rows;
    // The published mixture, and models of one type, have bodies of their own.
    const auto all = [](Form form, const Matrix& gate, const Matrix& up, bool used) {
        return !used || (gate.form == form && up.form == form);
    };
    const bool routed = all(Form::q4_0, call.gate, call.up, s.n_used > 0);
    if (routed && all(Form::q4_0, call.shared_gate, call.shared_up, s.shared > 0)) {
        launch_groups<only(Form::q4_0), only(Form::q4_0)>(size, call);
    } else if (routed && all(Form::q5_k, call.shared_gate, call.shared_up, s.shared > 0)) {
        launch_groups<only(Form::q4_0), only(Form::q5_k)>(size, call);
    } else {
        launch_groups<kAnyForm, kAnyForm>(size, call);
    }
}

}  // namespace steady::cuda
