// Packing into the layout rows16; the header describes it.
#include "kernels/base/q4_0_rows16.h"

namespace steady::q4_0_rows16 {

void pack(MatrixShape shape, const std::byte* src, std::byte* dst) {
    const std::int64_t n_blocks = shape.cols / 32;
    const std::int64_t stride = row_bytes(Type::q4_0, shape.cols);
    for (std::int64_t r = 0; r < shape.rows; ++r) {
        std::byte* group = dst + r / kRows * kRows * stride;
        const std::int64_t lane = r % kRows;
        for (std::int64_t b = 0; b < n_blocks; ++b) {
            BlockQ4_0 block;
            std::memcpy(&block, src + r * stride + b * 18, sizeof block);
            std::byte* out = group + b * kBlockBytes;
            std::memcpy(out + 2 * lane, &block.d, sizeof block.d);
            for (std::int64_t j = 0; j < 4; ++j) {
                std::memcpy(out + 32 + 64 * j + 4 * lane, block.qs + 4 * j, 4);
            }
        }
    }
}

}  // namespace steady::q4_0_rows16
