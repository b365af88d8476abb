// Q4_0 rows side by side (packed_rows.h). For each block of 32 columns: `lanes` scales, then four
// times 4 · lanes bytes; byte 4r + i of the j-th holds column 4j + i of row r in its low nibble and
// column 16 + 4j + i in its high one.
#pragma once

#include "kernels/layouts/packed_rows.h"

namespace steady {

template <std::int64_t kLanes>
void put_q4_0_lane(const BlockQ4_0& block, std::int64_t lane, std::byte* out) {
    std::memcpy(out + 2 * lane, &block.d, sizeof block.d);
    for (std::int64_t j = 0; j < 4; ++j) {
        std::memcpy(out + 2 * kLanes + 4 * (kLanes * j + lane), block.qs + 4 * j, 4);
    }
}

template <std::int64_t kLanes>
constexpr auto pack_q4_0 = pack_rows<Type::q4_0, BlockQ4_0, kLanes, put_q4_0_lane<kLanes>>;

}  // namespace steady
