// The joined experts over weights that are stored twice: the shared expert's, in Q5_K and Q6_K, are
// read in planes or as half floats, the others as cuda_planes reads them. For .cu files alone, and
// for a question.
#pragma once

#include "kernels/cuda/units_of_both.h"
#include "kernels/moe_decode/body.h"
#include "kernels/moe_decode/cuda.h"

namespace steady::cuda::experts {

inline bool experts_have_both(const MoeDecodeShape& shape) {
    return shape.n_experts <= kMostExperts && experts_align(shape) && shape.type == Type::q4_0 &&
           shape.shared > 0 && shape.shared_type == Type::q5_k;
}

#ifdef __CUDACC__

// Phases 1 and 2.
template <Copy kCopy>
void run_moe_of_both(const MoeDecode::Args& args, Range range) {
    constexpr int kQ4 = only(Form::q4_0);
    constexpr int kQ5 = only(form_of_both(Type::q5_k, kCopy));
    constexpr int kQ6 = only(form_of_both(Type::q6_k, kCopy));
    Size size;
    const Type down = args.shared_down.type;
    if (args.gate.type != Type::q4_0 || args.up.type != Type::q4_0 ||
        args.down.type != Type::q4_0 || args.shared_gate.type != Type::q5_k ||
        args.shared_up.type != Type::q5_k || !planes::has_halves(down)) {
        return note_failure(cudaErrorNotSupported);
    }
    // Hidden values are read as bytes by the chosen experts, as floats by halves.
    float* floats = kCopy == Copy::halves ? args.hidden : nullptr;
    if (range.phase == 1) {
        HiddenCall call = hidden_call(args, false, size);
        call.shared_gate.form = call.shared_up.form = static_cast<Form>(kQ5);
        call.floats = floats;
        return launch(hidden_kernel<kQ4, kQ5>, size, call);
    }
    DownCall call = down_call(args, false, size);
    call.shared_down.form = form_of_both(down, kCopy);
    call.floats = floats;
    down == Type::q6_k ? launch(down_kernel<kQ4, kQ6>, size, call)
                       : launch(down_kernel<kQ4, kQ5>, size, call);
}

#endif

}  // namespace steady::cuda::experts
