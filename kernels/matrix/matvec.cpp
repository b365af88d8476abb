// The plain meaning of a matrix-vector product, slow and exact.
#include "kernels/matrix/matvec.h"

namespace steady {

// Four sums: in one, each addition would wait for the one before.
double plain_dot(Type type, const std::byte* row, const float* x, std::int64_t cols) noexcept {
    constexpr std::int64_t kStep = 256;  // a multiple of every format's block
    float values[kStep];
    double sum = 0, sum1 = 0, sum2 = 0, sum3 = 0;
    for (std::int64_t c = 0; c < cols; c += kStep) {
        const std::int64_t n = cols - c < kStep ? cols - c : kStep;
        dequantize(type, row + row_bytes(type, c), values, n);
        const float *v = values, *w = x + c;
        const float* const end = values + n;
        for (; end - v >= 4; v += 4, w += 4) {
            sum += static_cast<double>(v[0]) * static_cast<double>(w[0]);
            sum1 += static_cast<double>(v[1]) * static_cast<double>(w[1]);
            sum2 += static_cast<double>(v[2]) * static_cast<double>(w[2]);
            sum3 += static_cast<double>(v[3]) * static_cast<double>(w[3]);
        }
        for (; v != end; ++v, ++w) sum += static_cast<double>(*v) * static_cast<double>(*w);
    }
    return (sum + sum1) + (sum2 + sum3);
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
