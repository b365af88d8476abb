// The experts on the packed layout rows8 with AVX2: SwiGLU and quantisation every 32 hidden values
// in the epilogue, then down, eight outputs at a time, with the experts' weights folded into the
// sum. A variant names the form in which rows meet x.
#pragma once

#include "kernels/base/q4_0_rows8.h"
#include "kernels/q4_0_experts/op.h"

namespace steady::q4_0_rows8 {

constexpr std::int64_t kHiddenBlock = 32;  // hidden values that are quantised together

KERNEL_TARGET_BEGIN(KERNEL_AVX2)

template <class Form>
void run_hidden(const Q4_0Experts::Args& args, Range range) noexcept {
    const std::int64_t n_blocks = args.shape.cols / 32;
    for (std::int64_t r = range.begin; r < range.end; r += kHiddenBlock) {
        const std::int64_t row = args.expert_row(r);
        float hidden[kHiddenBlock];
        for (std::int64_t i = 0; i < kHiddenBlock; i += kRows) {
            const std::int64_t offset = (row + i) * n_blocks * 18;
            const __m256 gate = dot<Form>(args.gate + offset, args.x, 0, n_blocks);
            const __m256 up = dot<Form>(args.up + offset, args.x, 0, n_blocks);
            _mm256_storeu_ps(hidden + i, avx2::swiglu(gate, up));
        }
        Form::quantize(hidden, args.hidden_q8 + r, args.hidden_low + r,
                       args.hidden_scale + r / kHiddenBlock, args.hidden_sum + r / kHiddenBlock);
    }
}

template <class Form>
void run_down(const Q4_0Experts::Args& args, Range range) noexcept {
    const ExpertsShape& shape = args.shape;
    const std::int64_t n_blocks = shape.hidden / 32;
    const Activation hidden = args.hidden_activation();
    for (std::int64_t c = range.begin; c < range.end; c += kRows) {
        __m256 y = _mm256_setzero_ps();
        for (std::int64_t e = 0; e < shape.n_used; ++e) {
            const std::byte* rows = args.down + (args.ids[e] * shape.cols + c) * n_blocks * 18;
            const __m256 part = dot<Form>(rows, hidden, e * n_blocks, n_blocks);
            y = _mm256_fmadd_ps(part, _mm256_set1_ps(args.weights[e]), y);
        }
        _mm256_storeu_ps(args.y + c, y);
    }
}

template <class Form>
void run_experts(const Q4_0Experts::Args& args, Range range) noexcept {
    range.phase == 0 ? run_hidden<Form>(args, range) : run_down<Form>(args, range);
}

KERNEL_TARGET_END

template <class Form>
VariantOptions<Q4_0Experts> experts_options() {
    return options<Q4_0Experts>(cpu::avx2, Form::input, kHiddenBlock, nullptr, run_experts<Form>);
}

}  // namespace steady::q4_0_rows8
