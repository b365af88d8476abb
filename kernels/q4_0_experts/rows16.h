// The experts on the packed layout rows16: gate and up of thirty-two hidden values at a time,
// SwiGLU and quantisation in the epilogue; then down, sixteen outputs at a time, with the experts'
// weights folded into the sum. A variant names the form in which rows meet x, and may replace
// either half.
#pragma once

#include "kernels/layouts/q4_0_rows16.h"
#include "kernels/q4_0_experts/op.h"
#include "kernels/simd/target.h"

namespace steady::q4_0_rows16 {

constexpr std::int64_t kHiddenBlock = 32;  // hidden values that are quantised together

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)

// Writes block r / 32 of the hidden values.
template <class Form>
[[gnu::always_inline]] inline void finish_hidden(const Q4_0Experts::Args& args, std::int64_t r,
                                                 const __m512* gate, const __m512* up) {
    Form::quantize(avx512::swiglu(gate[0], up[0]), avx512::swiglu(gate[1], up[1]),
                   args.hidden_q8 + r, args.hidden_low + r, args.hidden_scale + r / kHiddenBlock,
                   args.hidden_sum + r / kHiddenBlock);
}

// kPair: gate and up in one pass.
template <class Form, bool kPair = false>
void run_hidden(const Q4_0Experts::Args& args, Range range) noexcept {
    const std::int64_t n_blocks = args.shape.cols / 32;
    for (std::int64_t r = range.begin; r < range.end; r += kHiddenBlock) {
        const std::int64_t row = args.expert_row(r);
        __m512 gate[2];
        __m512 up[2];
        for (int half = 0; half < 2; ++half) {
            const std::int64_t offset = (row + kRows * half) * n_blocks * 18;
            if constexpr (kPair) {
                __m512 both[2];
                dot_pair<Form>(args.gate + offset, args.up + offset, args.x, 0, n_blocks, both);
                gate[half] = both[0];
                up[half] = both[1];
            } else {
                gate[half] = dot<Form>(args.gate + offset, args.x, 0, n_blocks);
                up[half] = dot<Form>(args.up + offset, args.x, 0, n_blocks);
            }
        }
        finish_hidden<Form>(args, r, gate, up);
    }
}

template <class Form>
void run_down(const Q4_0Experts::Args& args, Range range) noexcept {
    const ExpertsShape& shape = args.shape;
    const std::int64_t n_blocks = shape.hidden / 32;
    const Activation hidden = args.hidden_activation();
    for (std::int64_t c = range.begin; c < range.end; c += kRows) {
        __m512 y = _mm512_setzero_ps();
        for (std::int64_t e = 0; e < shape.n_used; ++e) {
            const std::byte* rows = args.down + (args.ids[e] * shape.cols + c) * n_blocks * 18;
            const __m512 part = dot<Form>(rows, hidden, e * n_blocks, n_blocks);
            y = _mm512_fmadd_ps(part, _mm512_set1_ps(args.weights[e]), y);
        }
        _mm512_storeu_ps(args.y + c, y);
    }
}

// Two groups of outputs per pass.
template <class Form>
void run_down_pair(const Q4_0Experts::Args& args, Range range) noexcept {
    const ExpertsShape& shape = args.shape;
    const std::int64_t n_blocks = shape.hidden / 32;
    const Activation hidden = args.hidden_activation();
    for (std::int64_t c = range.begin; c < range.end; c += 2 * kRows) {
        __m512 y[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
        for (std::int64_t e = 0; e < shape.n_used; ++e) {
            const std::byte* rows = args.down + (args.ids[e] * shape.cols + c) * n_blocks * 18;
            const __m512 weight = _mm512_set1_ps(args.weights[e]);
            __m512 part[2];
            dot_pair<Form>(rows, rows + n_blocks * kBlockBytes, hidden, e * n_blocks, n_blocks,
                           part);
            y[0] = _mm512_fmadd_ps(part[0], weight, y[0]);
            y[1] = _mm512_fmadd_ps(part[1], weight, y[1]);
        }
        _mm512_storeu_ps(args.y + c, y[0]);
        _mm512_storeu_ps(args.y + c + kRows, y[1]);
    }
}

template <class Form>
void run_experts(const Q4_0Experts::Args& args, Range range) noexcept {
    range.phase == 0 ? run_hidden<Form>(args, range) : run_down<Form>(args, range);
}

KERNEL_TARGET_END

template <class Form>
VariantOptions<Q4_0Experts> experts_options(Q4_0Experts::Run run = run_experts<Form>) {
    return options<Q4_0Experts>(cpu::avx512_vnni, Form::input, kHiddenBlock, nullptr, run);
}

}  // namespace steady::q4_0_rows16
