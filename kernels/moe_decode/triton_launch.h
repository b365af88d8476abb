// Launches the kernels that Triton generated, where one takes the call; else the hand-written ones.
// For .cu files alone.
#pragma once

#include <cstddef>
#include <iterator>

#include "kernels/generated/ptx.h"
#include "kernels/layouts/planes.h"
#include "kernels/moe_decode/cuda.h"
#include "kernels/moe_decode/triton_experts.h"

namespace steady::cuda {

// A kernel makes whole units of 32 values, in bytes.
inline bool takes_hidden(const TritonExperts& kernel, const MoeDecode::Args& args) {
    const MoeDecodeShape& s = args.shape;
    return args.gate.type == Type::q4_0 && args.up.type == Type::q4_0 && s.shared > 0 &&
           args.shared_gate.type == kernel.shared_type &&
           args.shared_up.type == kernel.shared_type && planes::has_planes(args.down.type) &&
           planes::has_planes(args.shared_down.type) && s.cols == kTritonCols &&
           s.hidden % 32 == 0 && s.shared % 32 == 0 && s.n_experts <= kTritonMostExperts &&
           s.n_used <= kTritonMostUsed;
}

inline bool takes_down(const TritonExperts& kernel, const MoeDecode::Args& args) {
    const MoeDecodeShape& s = args.shape;
    return args.down.type == Type::q4_0 && args.shared_down.type == kernel.shared_type &&
           s.n_used == kTritonUsed && s.hidden == kTritonHidden && s.shared == kTritonShared &&
           s.cols % kernel.rows == 0;
}

inline Size size_of(const TritonExperts& kernel, std::int64_t rows) {
    Size size;
    size.blocks = static_cast<int>(rows / kernel.rows);
    size.threads = kernel.threads;
    size.shared_bytes = static_cast<std::size_t>(kernel.shared_bytes);
    return size;
}

// Where hidden values lie in bytes.
inline unsigned char* hidden_bytes(const MoeDecode::Args& args) {
    return reinterpret_cast<unsigned char*>(args.hidden + args.shape.n_hidden());
}

inline void launch_hidden(PtxKernel& loaded, const TritonExperts& kernel,
                          const MoeDecode::Args& args) {
    const MoeDecodeShape& s = args.shape;
    launch_triton_kernel<kTritonExpertsScratch>(
        loaded, size_of(kernel, s.n_hidden()), args.x, args.norm, args.logits, args.bias,
        args.gate.w, args.up.w, args.shared_gate.w, args.shared_up.w, args.ids, args.weights,
        hidden_bytes(args), static_cast<int>(s.n_experts), static_cast<int>(s.n_used),
        static_cast<int>(s.n_hidden() / 32), static_cast<int>(s.hidden),
        args.bias != nullptr ? 1 : 0, args.gating == Gating::sigmoid ? 1 : 0,
        args.normalise ? 1 : 0, args.scale == 0 ? 1.0F : args.scale, MoeRouter::kSmallestSum,
        args.eps);
}

inline void launch_down(PtxKernel& loaded, const TritonExperts& kernel,
                        const MoeDecode::Args& args) {
    launch_triton_kernel<kTritonExpertsScratch>(
        loaded, size_of(kernel, args.shape.cols), args.x, args.down.w, args.shared_down.w,
        hidden_bytes(args), args.ids, args.weights, static_cast<int>(args.shape.cols));
}

// Loaded kernels are kept for each table of kernels.
template <const auto& kHidden, const auto& kDown>
void run_triton_experts(const MoeDecode::Args& args, Range range) {
    static PtxKernel hidden[std::size(kHidden)] = {}, down[std::size(kDown)] = {};
    for (std::size_t i = 0; range.phase == 1 && i < std::size(kHidden); ++i) {
        if (!takes_hidden(kHidden[i], args)) continue;
        hidden[i].ptx = kHidden[i].ptx;
        hidden[i].name = "hidden";
        return launch_hidden(hidden[i], kHidden[i], args);
    }
    for (std::size_t i = 0; range.phase == 2 && i < std::size(kDown); ++i) {
        if (!takes_down(kDown[i], args)) continue;
        down[i].ptx = kDown[i].ptx;
        down[i].name = "down";
        return launch_down(down[i], kDown[i], args);
    }
    run_moe_decode(args, range, false);
}

}  // namespace steady::cuda
