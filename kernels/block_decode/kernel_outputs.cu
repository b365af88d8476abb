// Enqueues the outputs of a block's feed-forward.
#include <algorithm>

#include "kernels/block_decode/body_outputs.h"

namespace steady::cuda {
namespace {

// Experts of Q4_0, with a shared one of another type.
template <int kShared>
void launch_split(Size size, const OutputsCall& call, const Ways& ways) {
    constexpr int kRouted = only(Form::q4_0);
    if (!ways.split) {
        launch_body<OutputsBody<kRouted, kShared, 1, 1>>(size, call);
    } else if (recording_tasks()) {
        launch_body<OutputsBody<kRouted, kShared, 2, 1>>(size, call);
    } else {
        size.threads *= 2;
        launch_body<OutputsBody<kRouted, kShared, 2, 2>>(size, call);
    }
}

}  // namespace

void run_outputs(const BlockDecode::Args& args, const Ways& ways) {
    const BlockScratch scratch = scratch_of(args);
    const BlockDecodeShape& s = args.shape;
    const MoeDecode::Args& e = args.experts;
    OutputsCall call = {};
    call.down = device_matrix(e.down, false);
    call.shared_down = device_matrix(e.shared_down, false);
    call.n_used = static_cast<int>(s.n_used);
    call.hidden = static_cast<int>(s.hidden);
    call.shared = static_cast<int>(s.shared);
    call.handed = scratch.hidden;
    call.ids = e.ids;
    call.weights = e.weights;
    if (ways.early) call.chosen = chosen_of(args);
    call.x = e.x;
    call.norm = args.next_norm;
    call.out = scratch.x;
    call.squares = scratch.x_squares;
    Size size;
    size.threads = kExpertThreads;
    size.blocks = static_cast<int>(s.cols) / kGroup;
    size.shared_bytes = handed_bytes(s.n_hidden());
    if (s.n_used > 0) {
        size.shared_bytes +=
            static_cast<std::size_t>(2 * call.n_used * chunk_bytes(call.down.form, call.hidden));
    }
    if (s.shared > 0) {
        size.shared_bytes +=
            static_cast<std::size_t>(2 * chunk_bytes(call.shared_down.form, call.shared));
    }
    const bool routed = s.n_used == 0 || call.down.form == Form::q4_0;
    if (routed && (s.shared == 0 || call.shared_down.form == Form::q4_0)) {
        launch_split<only(Form::q4_0)>(size, call, ways);
    } else if (routed && call.shared_down.form == Form::q6_k) {
        launch_split<only(Form::q6_k)>(size, call, ways);
    } else {
        launch_body<OutputsBody<kAnyForm, kAnyForm, 1, 1>>(size, call);
    }
}

}  // namespace steady::cuda
