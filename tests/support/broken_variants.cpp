// Variants of q4_0_matvec that a test engine or a test of the check links in on purpose. Two are
// wrong (a lost row, scales one unit too large) and must be caught by the check; one is correct and
// wins alone but loses in a model, because it rebuilds itself whenever the shape changes, and must
// be caught by the full-model measurement.
#include <chrono>
#include <cstring>

#include "kernels/q4_0_matvec/op.h"
#include "kernels/q4_0_matvec/rows_avx2.h"

namespace steady {
namespace {

// A correct row, but for `scale_error` added to the bits of each half-precision scale.
float row_dot(const BlockQ4_0* row, const Activation& x, std::int64_t first_block,
              std::int64_t n_blocks, int scale_error) {
    float sum = 0;
    for (std::int64_t b = 0; b < n_blocks; ++b) {
        const std::int8_t* q8 = x.q8 + (first_block + b) * 32;
        int exact = 0;
        for (int j = 0; j < 16; ++j) {
            exact += ((row[b].qs[j] & 15) - 8) * q8[j] + ((row[b].qs[j] >> 4) - 8) * q8[j + 16];
        }
        const Half d{static_cast<std::uint16_t>(row[b].d.bits + scale_error)};
        sum += half_to_float(d) * x.q8_scale[first_block + b] * static_cast<float>(exact);
    }
    return sum;
}

void run_rows(const MatvecArgs& args, Range range, int scale_error) {
    const MatvecShape& shape = args.shape;
    const std::int64_t n_blocks = shape.cols / 32;
    const auto* rows = reinterpret_cast<const BlockQ4_0*>(args.w);
    for (std::int64_t r = range.begin; r < range.end; ++r) {
        args.y[r] =
            row_dot(rows + r * n_blocks, args.x, r / shape.rows * n_blocks, n_blocks, scale_error);
    }
}

void run_lost_row(const MatvecArgs& args, Range range) noexcept {
    run_rows(args, range, 0);
    const std::int64_t last = args.shape.groups * args.shape.rows - 1;
    if (range.end == last + 1 && range.begin <= last) args.y[last] = 0;
}

void run_ulp(const MatvecArgs& args, Range range) noexcept { run_rows(args, range, 1); }

void rebuild_on_change(const MatvecShape& shape) {
    thread_local MatvecShape previous;
    if (shape.groups == previous.groups && shape.rows == previous.rows &&
        shape.cols == previous.cols) {
        return;
    }
    previous = shape;
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(200);
    while (std::chrono::steady_clock::now() < until) _mm_pause();
}

}  // namespace

// The body of avx2_rows8.
static void run_specialised(const MatvecArgs& args, Range range) noexcept {
    rebuild_on_change(args.shape);
    q4_0_rows_avx2::matvec<q4_0_rows8::EightBit<>>(args, range);
}

static const Variant<Q4_0Matvec> lost_row{"broken_lost_row",
                                          {.input = Input::q8, .run = run_lost_row}};
static const Variant<Q4_0Matvec> ulp{"broken_ulp", {.input = Input::q8, .run = run_ulp}};
static const Variant<Q4_0Matvec> specialised{
    "specialised_last_shape",
    q4_0_rows_avx2::matvec_options<q4_0_rows8::EightBit<>>(run_specialised)};

}  // namespace steady
