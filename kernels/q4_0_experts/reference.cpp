// The formula, expert by expert, from the plain dot product.
#include <cmath>

#include "kernels/formats/formats.h"
#include "kernels/matrix/matvec.h"
#include "kernels/q4_0_experts/op.h"

namespace steady {
namespace {

void run_hidden(const Q4_0Experts::Args& args, Range range) noexcept {
    const ExpertsShape& shape = args.shape;
    const std::int64_t stride = row_bytes(Type::q4_0, shape.cols);
    for (std::int64_t r = range.begin; r < range.end; ++r) {
        const std::int64_t row = args.expert_row(r);
        const double gate = plain_dot(Type::q4_0, args.gate + row * stride, args.x.f32, shape.cols);
        const double up = plain_dot(Type::q4_0, args.up + row * stride, args.x.f32, shape.cols);
        args.hidden[r] = static_cast<float>(gate / (1.0 + std::exp(-gate)) * up);
    }
}

void run_down(const Q4_0Experts::Args& args, Range range) noexcept {
    const ExpertsShape& shape = args.shape;
    const std::int64_t stride = row_bytes(Type::q4_0, shape.hidden);
    for (std::int64_t c = range.begin; c < range.end; ++c) {
        double sum = 0;
        for (std::int64_t e = 0; e < shape.n_used; ++e) {
            const std::int64_t row = args.ids[e] * shape.cols + c;
            sum += static_cast<double>(args.weights[e]) *
                   plain_dot(Type::q4_0, args.down + row * stride, args.hidden + e * shape.hidden,
                             shape.hidden);
        }
        args.y[c] = static_cast<float>(sum);
    }
}

void run(const Q4_0Experts::Args& args, Range range) noexcept {
    range.phase == 0 ? run_hidden(args, range) : run_down(args, range);
}

}  // namespace

static const Variant<Q4_0Experts> variant{"reference", {.run = run}};

}  // namespace steady
