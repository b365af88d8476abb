// Packing row by row: each block's scale and quants go to the row's lane.
#include "kernels/layouts/q4_0_interleave.h"

#include <cstring>

#include "kernels/formats/formats.h"

namespace steady {

std::int64_t interleaved_q4_0_bytes(MatrixShape shape) {
    return shape.rows * row_bytes(Type::q4_0, shape.cols);
}

void interleave_q4_0(MatrixShape shape, std::int64_t lanes, const std::byte* src, std::byte* dst) {
    const std::int64_t n_blocks = shape.cols / 32;
    const std::int64_t stride = row_bytes(Type::q4_0, shape.cols);
    for (std::int64_t r = 0; r < shape.rows; ++r) {
        std::byte* group = dst + r / lanes * lanes * stride;
        const std::int64_t lane = r % lanes;
        for (std::int64_t b = 0; b < n_blocks; ++b) {
            BlockQ4_0 block;
            std::memcpy(&block, src + r * stride + b * 18, sizeof block);
            std::byte* out = group + b * lanes * 18;
            std::memcpy(out + 2 * lane, &block.d, sizeof block.d);
            for (std::int64_t j = 0; j < 4; ++j) {
                std::memcpy(out + 2 * lanes + 4 * (lanes * j + lane), block.qs + 4 * j, 4);
            }
        }
    }
}

}  // namespace steady
