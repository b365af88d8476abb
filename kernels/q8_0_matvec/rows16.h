// Sixteen rows side by side for Q8_0: per block of 32 columns 16 scales, then eight times 64 bytes
// in which byte 4r + i is column 4j + i of row r, stored with 128 added because the multiply wants
// one unsigned side.
#pragma once

#include <cstring>

#include "kernels/layouts/packed_rows.h"
#include "kernels/q8_0_matvec/op.h"

namespace steady::q8_0_rows16 {

constexpr std::int64_t kRows = 16;
constexpr std::int64_t kBlockBytes = kRows * sizeof(BlockQ8_0);

inline void pack_lane(const BlockQ8_0& block, std::int64_t lane, std::byte* out) {
    std::memcpy(out + 2 * lane, &block.d, sizeof block.d);
    for (int i = 0; i < 32; ++i) {
        out[32 + 64 * (i / 4) + 4 * lane + i % 4] = static_cast<std::byte>(block.qs[i] + 128);
    }
}

constexpr auto pack = pack_rows<Type::q8_0, BlockQ8_0, kRows, pack_lane>;

inline VariantOptions<Q8_0Matvec> options(cpu::Features needs, Q8_0Matvec::Run run) {
    return packed_options<Q8_0Matvec, kRows>(needs, Input::q8, pack,
                                             in_whole_groups<MatvecShape, kRows>, run);
}

}  // namespace steady::q8_0_rows16
