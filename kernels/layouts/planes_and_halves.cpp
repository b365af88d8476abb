// Packing into planes and halves, on the CPU while weights are read.
#include "kernels/layouts/planes_and_halves.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace steady::planes {

std::int64_t packed_bytes_of_both(MatrixShape shape) {
    const std::int64_t halves = has_halves(shape.type) ? 2 * shape.rows * shape.cols : 0;
    return packed_bytes(shape) + halves;
}

void pack_both(MatrixShape shape, const std::byte* src, std::byte* dst) {
    if (!has_halves(shape.type)) return pack(shape, src, dst);
    const std::int64_t stride = row_bytes(shape.type, shape.cols);
    std::vector<float> values(static_cast<std::size_t>(shape.cols));
    for (std::int64_t first = 0; first < shape.rows; first += kRows) {
        MatrixShape chunk = shape;
        chunk.rows = std::min(kRows, shape.rows - first);
        for (std::int64_t r = first; r < first + chunk.rows; ++r) {
            dequantize(shape.type, src + r * stride, values.data(), shape.cols);
            for (const float value : values) {
                const Half half = float_to_half(value);
                std::memcpy(dst, &half, sizeof half);
                dst += sizeof half;
            }
        }
        pack(chunk, src + first * stride, dst);
        dst += packed_bytes(chunk);
    }
}

}  // namespace steady::planes
