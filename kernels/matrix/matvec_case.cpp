// How far may a correct dot product be from the exact one? With u = 2⁻²⁴ and a chain of k roundings
// the error is at most γ = k·u / (1 − k·u) times Σ|w·x|, where |w·x| counts the parts of w = d·q −
// m apart, as they may be summed apart. The longest chain we accept: for q8 input, one addition per
// block of 32 (the block's integer sum is exact); for float input, cols / 8 additions, since nobody
// needs fewer than eight partial sums; and a few roundings for scales and the final sum of lanes.
#include "kernels/matrix/matvec_case.h"

#include <cmath>
#include <cstring>

namespace steady {
namespace {

constexpr std::int64_t kChunk = 256;

// The part of each weight that does not depend on its quant (m above), for n values from `row`.
void offsets(Type type, const std::byte* row, std::int64_t n, double* out) {
    std::fill_n(out, n, 0.0);
    const std::int64_t values = block_values(type);
    const std::int64_t bytes = block_bytes(type);
    for (std::int64_t b = 0; b < n / values; ++b) {
        if (type == Type::q4_1 || type == Type::q5_1) {
            Half m;
            std::memcpy(&m, row + b * bytes + 2, sizeof m);
            std::fill_n(out + b * values, values, static_cast<double>(half_to_float(m)));
        } else if (type == Type::q4_k || type == Type::q5_k) {
            BlockQ4_K head;  // both types begin alike
            std::memcpy(&head, row + b * bytes, sizeof head);
            const double dmin = static_cast<double>(half_to_float(head.dmin));
            for (int sub = 0; sub < 8; ++sub) {
                const double min = dmin * scale_min(head.scales, sub).min;
                std::fill_n(out + b * values + sub * 32, 32, -min);
            }
        }
    }
}

}  // namespace

DotExpectation expect_dot(Type type, const std::byte* row, const double* x, std::int64_t cols,
                          Input input) {
    float values[kChunk];
    double offset[kChunk];
    double value = 0;
    double magnitude = 0;
    for (std::int64_t c = 0; c < cols; c += kChunk) {
        const std::int64_t n = std::min(kChunk, cols - c);
        const std::byte* at = row + row_bytes(type, c);
        dequantize(type, at, values, n);
        offsets(type, at, n, offset);
        for (std::int64_t i = 0; i < n; ++i) {
            const double w = static_cast<double>(values[i]);
            value += w * x[c + i];
            magnitude += (std::fabs(w - offset[i]) + std::fabs(offset[i])) * std::fabs(x[c + i]);
        }
    }
    const std::int64_t additions = input != Input::f32 ? cols / 32 : cols / 8;
    const double k = static_cast<double>(additions + 12) * kUnit;
    return {value, k / (1 - k) * magnitude, magnitude};
}

MatvecArgs fill_matvec_case(Type type, const MatvecShape& shape, Random& random, Input input,
                            CaseMemory& memory, std::vector<DotExpectation>& dots) {
    const std::int64_t n_rows = shape.groups * shape.rows;
    const std::int64_t stride = row_bytes(type, shape.cols);
    auto* w = memory.add<std::byte>(Role::weights, n_rows * stride);
    fill_weights(type, random, n_rows, shape.cols, w);
    MatvecArgs args;
    args.shape = shape;
    args.w = w;
    args.x = add_activation(memory, random, shape.groups * shape.cols);
    args.y = memory.add<float>(Role::output, n_rows);
    const std::vector<double> x = values_of(args.x, shape.groups * shape.cols, input);
    for (std::int64_t r = 0; r < n_rows; ++r) {
        const double* group_x = x.data() + r / shape.rows * shape.cols;
        dots.push_back(expect_dot(type, w + r * stride, group_x, shape.cols, input));
    }
    return args;
}

std::vector<MatvecShape> odd_matvec_shapes(Random& random, std::int64_t block) {
    std::vector<MatvecShape> shapes = {
        {1, 1, block},
        {1, 7, 3 * block},
        {3, 5, block},
        {2, 16, 5 * block},
        {1, 33, 2 * block},
        {1, 64, 7 * block},
        {random.integer(1, 4), random.integer(1, 80), block * random.integer(1, 9)},
        {random.integer(1, 3), 16 * random.integer(1, 6), block * random.integer(1, 20)}};
    if (block == 1) {  // neither a multiple of a register's lanes
        shapes.push_back({1, 9, 100});
        shapes.push_back({2, 5, 257});
    }
    return shapes;
}

}  // namespace steady
