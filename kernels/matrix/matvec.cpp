// The plain meaning of a matrix-vector product, slow and exact.
#include "kernels/matrix/matvec.h"

namespace steady {

double plain_dot(Type type, const std::byte* row, const float* x, std::int64_t cols) noexcept {
    constexpr std::int64_t kStep = 256;  // a multiple of every format's block
    constexpr std::int64_t kSums = 8;    // in one, each addition would wait for the one before
    float values[kStep];
    double sums[kSums] = {};
    for (std::int64_t c = 0; c < cols; c += kStep) {
        const std::int64_t n = cols - c < kStep ? cols - c : kStep;
        dequantize(type, row + row_bytes(type, c), values, n);
        std::int64_t i = 0;
        for (; i + kSums <= n; i += kSums) {
            for (std::int64_t j = 0; j < kSums; ++j) {
                sums[j] += static_cast<double>(values[i + j]) * static_cast<double>(x[c + i + j]);
            }
        }
        for (; i < n; ++i)
            sums[0] += static_cast<double>(values[i]) * static_cast<double>(x[c + i]);
    }
    double sum = 0;
    for (const double one : sums) sum += one;
    return sum;
}

void plain_matvec(Type type, const MatvecArgs& args, Range range) noexcept {
    const MatvecShape& shape = args.shape;
    const std::int64_t stride = row_bytes(type, shape.cols);
    for (std::int64_t r = range.begin; r < range.end; ++r) {
        const float* x = args.x.f32 + r / shape.rows * shape.cols;
        args.y[r] = static_cast<float>(plain_dot(type, args.w + r * stride, x, shape.cols));
    }
}

}  // namespace steady
