// The first products of a block whose kernels look for their vectors (polled.h). For .cu files
// alone.
#pragma once

#include "kernels/block_decode/body_first.h"
#include "kernels/block_decode/polled.h"

namespace steady::cuda {

struct PolledFirstCall {
    FirstCall first;     // `handed` in copies where it is looked for; its `y` are not written
    bool fresh;          // x comes as floats, with the end of the kernel before
    const unsigned* go;  // of the block before
    float* query_squares;
    float* query_whole;  // where the query has no rank
    float *kv, *kv_squares;
    int copies;    // of the query, and of all squares
    uint4* clear;  // where fresh
    int n_clear;
    Matrix shared_gate, shared_up;  // to prefetch, or of no rows
};

#ifdef __CUDACC__

struct PolledFirstBody {
    using Call = PolledFirstCall;
    static constexpr int kThreads = kFirstThreads, kBlocks = 2, kArrivals = 1;
    struct Kept {
        Arrival arrivals[1];
        float parts[32], factor;
        alignas(16) float values[kGroup];
    };

    template <class Place>
    __device__ __forceinline__ static void run(const Call& polled, Kept& kept, uint4* memory,
                                               const Place& place) {
#if __CUDA_ARCH__ >= 900
        Arrival& arrival = kept.arrivals[0];
        float &factor = kept.factor, *values = kept.values;
        const FirstCall& call = polled.first;
        const int block = place.block(), t = static_cast<int>(threadIdx.x), warp = t / 32;
        const int lane = t % 32, which = block >= call.first_block ? 1 : 0;
        const int group = which == 0 ? block : block - call.first_block;
        const Matrix& m = call.m[which];
        const Handed x = handed_at(memory, call.n);
        auto* rows = reinterpret_cast<unsigned char*>(memory) + handed_bytes(call.n);
        if (t == 0) {
            make_arrivals(&arrival, 1);
            expect(&arrival, 2 * chunk_bytes(m.form, m.cols));
            ask_rows(rows, m, group * kGroup, kGroup, &arrival);
        }
        const float4 weights = weights_to_hand(which == 0 ? call.query_norm : nullptr, group);
        if (polled.fresh) {
            place.let_consumers_start();
            place.wait();
            clear(polled.clear, polled.n_clear, place);
            const float own = norm_and_hand(call, x, kept.parts);
            if (t == 0) factor = own;
        } else {
            // Attention looks at places that the attention before cleared.
            if (t == kThreads - 1) {
                polled_word(polled.go);
                place.let_consumers_start();
            }
            __syncwarp();
            const int copy = block % kFewCopies, groups = call.n / kGroup;
            if (warp == 0) {
                const float own =
                    polled_factor(call.squares + copy * groups, groups, call.n, call.eps);
                if (lane == 0) factor = own;
            } else {
                take_polled(x, call.handed + copy * handed_bytes(call.n), call.n, 32);
            }
        }
        __syncthreads();
        await(&arrival);
        float sums[2] = {};
        dot_rows<Unit<Form::q4_0>>(sums, in_memory(rows, m), 2 * warp, x, lane, 32);
        sums[0] = warp_sum(sums[0]) * factor;
        sums[1] = warp_sum(sums[1]) * factor;
        if (lane < 2) values[2 * warp + lane] = lane == 0 ? sums[0] : sums[1];
        __syncthreads();
        if (warp == 0) {
            if (which == 1) {
                const float own = lane < kGroup ? values[lane] : 0.0F;
                if (lane < kGroup) tell_float(polled.kv + group * kGroup + lane, own);
                const float square = warp_sum(own * own);
                if (lane < polled.copies && group < call.square_groups) {
                    tell_float(polled.kv_squares + lane * call.square_groups + group, square);
                }
            } else if (call.query_norm != nullptr) {
                hand_polled({call.query, polled.query_squares, m.rows}, polled.copies, group,
                            values, weights);
            } else if (lane < kGroup) {
                tell_float(polled.query_whole + group * kGroup + lane, values[lane]);
            }
        }
        // Memory rests while attention computes.
        if (t == kThreads - 1) {
            prefetch_part(polled.shared_gate, 0, polled.shared_gate.rows, block, place.blocks());
            prefetch_part(polled.shared_up, 0, polled.shared_up.rows, block, place.blocks());
        }
        // This kernel's end says that the one before has ended.
        if (!polled.fresh && block == 0) place.wait();
#endif
    }
};

#endif

}  // namespace steady::cuda
