// The experts with AVX2 on eight rows side by side (layout rows8), SwiGLU and quantisation every 32
// hidden values, the experts' weights folded into the sum of eight outputs at a time.
// Expected: at least twice avx2, and the best choice on a CPU without AVX-512.
#include "kernels/base/q4_0_rows8.h"
#include "kernels/q4_0_experts/op.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX2)
namespace {

void run_hidden(const Q4_0Experts::Args& args, Range range) noexcept {
    const ExpertsShape& shape = args.shape;
    const std::int64_t n_blocks = shape.cols / 32;
    for (std::int64_t r = range.begin; r < range.end; r += 32) {
        const std::int64_t row = args.ids[r / shape.hidden] * shape.hidden + r % shape.hidden;
        float hidden[32];
        for (std::int64_t i = 0; i < 32; i += q4_0_rows8::kRows) {
            const std::int64_t offset = (row + i) * n_blocks * 18;
            const __m256 gate = q4_0_rows8::dot(args.gate + offset, args.x, 0, n_blocks);
            const __m256 up = q4_0_rows8::dot(args.up + offset, args.x, 0, n_blocks);
            _mm256_storeu_ps(hidden + i, avx2::swiglu(gate, up));
        }
        avx2::quantize_block(hidden, args.hidden_q8 + r, args.hidden_scale + r / 32,
                             args.hidden_sum + r / 32);
    }
}

void run_down(const Q4_0Experts::Args& args, Range range) noexcept {
    const ExpertsShape& shape = args.shape;
    const std::int64_t n_blocks = shape.hidden / 32;
    const Activation hidden{args.hidden, args.hidden_q8, args.hidden_scale, args.hidden_sum};
    for (std::int64_t c = range.begin; c < range.end; c += q4_0_rows8::kRows) {
        __m256 y = _mm256_setzero_ps();
        for (std::int64_t e = 0; e < shape.n_used; ++e) {
            const std::byte* rows = args.down + (args.ids[e] * shape.cols + c) * n_blocks * 18;
            const __m256 part = q4_0_rows8::dot(rows, hidden, e * n_blocks, n_blocks);
            y = _mm256_fmadd_ps(part, _mm256_set1_ps(args.weights[e]), y);
        }
        _mm256_storeu_ps(args.y + c, y);
    }
}

void run(const Q4_0Experts::Args& args, Range range) noexcept {
    range.phase == 0 ? run_hidden(args, range) : run_down(args, range);
}

}  // namespace
KERNEL_TARGET_END

static const Variant<Q4_0Experts> variant{
    "avx2_rows8", q4_0_rows8::options<Q4_0Experts>(cpu::avx2, 32, nullptr, run)};

}  // namespace steady
