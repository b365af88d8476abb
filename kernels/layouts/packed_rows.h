// Layouts that keep rows side by side, so that a register's lane is a row: what they have in
// common. kRows rows become one stream of packed blocks, and a row's block goes to the row's lane
// of each. They take exactly the bytes of the GGUF layout.
#pragma once

#include <cstring>

#include "kernels/formats/formats.h"
#include "kernels/registry/registry.h"

namespace steady {

template <Type kType>
std::int64_t packed_bytes(MatrixShape shape) {
    return shape.rows * row_bytes(kType, shape.cols);
}

// put(block, lane, out): writes one row's block into its lane of the packed block at `out`.
// shape.rows is a multiple of kRows.
template <Type kType, class Block, std::int64_t kRows, auto put>
void pack_rows(MatrixShape shape, const std::byte* src, std::byte* dst) {
    const std::int64_t stride = row_bytes(kType, shape.cols);
    constexpr auto kBytes = static_cast<std::int64_t>(sizeof(Block));
    for (std::int64_t r = 0; r < shape.rows; ++r) {
        std::byte* group = dst + r / kRows * kRows * stride;
        for (std::int64_t b = 0; b < stride / kBytes; ++b) {
            Block block;
            std::memcpy(&block, src + r * stride + b * kBytes, sizeof block);
            put(block, r % kRows, group + b * kRows * kBytes);
        }
    }
}

// What every variant over such a layout registers; the rest is its own.
template <class Op, std::int64_t kRows, Type kType = Op::type>
VariantOptions<Op> packed_options(cpu::Features needs, Input input,
                                  decltype(VariantOptions<Op>::pack) pack,
                                  bool (*supports)(const typename Op::Shape&), typename Op::Run run,
                                  std::int64_t granule = kRows) {
    return {.needs = needs,
            .supports = supports,
            .granule = granule,
            .input = input,
            .layout = kRows == 16 ? "rows16" : "rows8",
            .pack_rows = kRows,
            .packed_bytes = packed_bytes<kType>,
            .pack = pack,
            .run = run};
}

// Of a matrix whose rows come in whole groups.
template <class Shape, std::int64_t kRows>
bool in_whole_groups(const Shape& shape) {
    return shape.rows % kRows == 0;
}

}  // namespace steady
