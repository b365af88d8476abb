// The experts on packed rows with AVX2: SwiGLU and quantisation every 32 hidden values in the
// epilogue, then down, one group of rows at a time, with the experts' weights folded into the sum.
// A variant names the form in which rows meet x: its layout, how many rows go together, and what it
// reads of x.
#pragma once

#include <algorithm>

#include "kernels/layouts/q4_0_rows8.h"
#include "kernels/q4_0_experts/op.h"

namespace steady::q4_0_rows_avx2 {

constexpr std::int64_t kHiddenBlock = 32;  // hidden values that are quantised together
// Rows of one matrix that are read before another one's turn: each turn begins with pages and lines
// that nothing has fetched.
constexpr std::int64_t kHiddenStretch = 512;
constexpr std::int64_t kDownStretch = 1024;

KERNEL_TARGET_BEGIN(KERNEL_AVX2)

// The dot products of n rows from `row` on with x.
template <class Form>
void rows_of(const std::byte* matrix, std::int64_t row, std::int64_t n, const Activation& x,
             std::int64_t n_blocks, float* y) {
    for (std::int64_t i = 0; i < n; i += Form::kRows) {
        __m256 part[Form::kRows / 8];
        Form::dot(matrix + (row + i) * n_blocks * 18, x, 0, n_blocks, part);
        for (int k = 0; k < Form::kRows / 8; ++k) _mm256_storeu_ps(y + i + 8 * k, part[k]);
    }
}

template <class Form>
void finish_hidden(const Q4_0Experts::Args& args, std::int64_t r, float* gate, const float* up) {
    for (std::int64_t i = 0; i < kHiddenBlock; i += 8) {
        _mm256_storeu_ps(gate + i,
                         avx2::swiglu(_mm256_loadu_ps(gate + i), _mm256_loadu_ps(up + i)));
    }
    Form::quantize(gate, args.hidden_q8 + r, args.hidden_low + r,
                   args.hidden_scale + r / kHiddenBlock, args.hidden_sum + r / kHiddenBlock);
}

// A stretch of gate's rows, then the same of up's, of one expert.
template <class Form>
void run_hidden(const Q4_0Experts::Args& args, Range range) noexcept {
    const std::int64_t hidden = args.shape.hidden;
    const std::int64_t n_blocks = args.shape.cols / 32;
    for (std::int64_t r = range.begin; r < range.end;) {
        const std::int64_t n = std::min({kHiddenStretch, range.end - r, hidden - r % hidden});
        const std::int64_t row = args.expert_row(r);
        float gate[kHiddenStretch];
        float up[kHiddenStretch];
        rows_of<Form>(args.gate, row, n, args.x, n_blocks, gate);
        rows_of<Form>(args.up, row, n, args.x, n_blocks, up);
        for (std::int64_t i = 0; i < n; i += kHiddenBlock) {
            finish_hidden<Form>(args, r + i, gate + i, up + i);
        }
        r += n;
    }
}

// A stretch of outputs of one expert, then the same of the next one.
template <class Form>
void run_down(const Q4_0Experts::Args& args, Range range) noexcept {
    const ExpertsShape& shape = args.shape;
    const std::int64_t n_blocks = shape.hidden / 32;
    const Activation hidden = args.hidden_activation();
    for (std::int64_t first = range.begin; first < range.end; first += kDownStretch) {
        const std::int64_t end = std::min(first + kDownStretch, range.end);
        for (std::int64_t e = 0; e < shape.n_used; ++e) {
            const __m256 weight = _mm256_set1_ps(args.weights[e]);
            for (std::int64_t c = first; c < end; c += Form::kRows) {
                const std::byte* rows = args.down + (args.ids[e] * shape.cols + c) * n_blocks * 18;
                __m256 part[Form::kRows / 8];
                Form::dot(rows, hidden, e * n_blocks, n_blocks, part);
                for (int k = 0; k < Form::kRows / 8; ++k) {
                    float* y = args.y + c + 8 * k;
                    const __m256 before = e == 0 ? _mm256_setzero_ps() : _mm256_loadu_ps(y);
                    _mm256_storeu_ps(y, _mm256_fmadd_ps(part[k], weight, before));
                }
            }
        }
    }
}

template <class Form>
void run_experts(const Q4_0Experts::Args& args, Range range) noexcept {
    range.phase == 0 ? run_hidden<Form>(args, range) : run_down<Form>(args, range);
}

KERNEL_TARGET_END

template <class Form>
VariantOptions<Q4_0Experts> experts_options() {
    return Form::template options<Q4_0Experts>(kHiddenBlock, nullptr, run_experts<Form>);
}

}  // namespace steady::q4_0_rows_avx2
