// Sixteen rows side by side for Q8_0: per block of 32 columns 16 scales, then eight times 64 bytes
// in which byte 4r + i is column 4j + i of row r, stored with 128 added because the multiply wants
// one unsigned side. It takes exactly the bytes of the GGUF layout.
#pragma once

#include <cstring>

#include "kernels/formats/formats.h"
#include "kernels/q8_0_matvec/op.h"
#include "kernels/registry/registry.h"

namespace steady::q8_0_rows16 {

constexpr std::int64_t kRows = 16;
constexpr std::int64_t kBlockBytes = kRows * sizeof(BlockQ8_0);

inline std::int64_t packed_bytes(MatrixShape shape) {
    return shape.rows * row_bytes(Type::q8_0, shape.cols);
}

inline void pack(MatrixShape shape, const std::byte* src, std::byte* dst) {
    const std::int64_t n_blocks = shape.cols / 32;
    const std::int64_t stride = row_bytes(Type::q8_0, shape.cols);
    for (std::int64_t r = 0; r < shape.rows; ++r) {
        const std::int64_t lane = r % kRows;
        for (std::int64_t b = 0; b < n_blocks; ++b) {
            BlockQ8_0 block;
            std::memcpy(&block, src + r * stride + b * 34, sizeof block);
            std::byte* out = dst + r / kRows * kRows * stride + b * kBlockBytes;
            std::memcpy(out + 2 * lane, &block.d, sizeof block.d);
            for (int i = 0; i < 32; ++i) {
                out[32 + 64 * (i / 4) + 4 * lane + i % 4] =
                    static_cast<std::byte>(block.qs[i] + 128);
            }
        }
    }
}

// What every matvec on this layout registers; the rest is its own.
inline VariantOptions<Q8_0Matvec> options(cpu::Features needs, Q8_0Matvec::Run run) {
    return {.needs = needs,
            .supports = [](const MatvecShape& shape) { return shape.rows % kRows == 0; },
            .granule = kRows,
            .input = Input::q8,
            .layout = "rows16",
            .pack_rows = kRows,
            .packed_bytes = packed_bytes,
            .pack = pack,
            .run = run};
}

}  // namespace steady::q8_0_rows16
