// How weights lie for a GPU: eight rows at a time, each kind of a block's parts in a plane of its
// own, so that neighbouring lanes read neighbouring 16 bytes. A unit is 32 values of a row, the
// first 16 in low nibbles and the last 16 in high ones. Types that are not among the four below
// become floats, which are exact and large.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/registry/registry.h"

namespace steady::planes {

constexpr std::int64_t kRows = 8;  // of a chunk; the last one of a matrix may have fewer

// Of a unit in a chunk of n rows and u units a row, in this order: 16 bytes of nibbles (q8_0: 32 of
// values); q5_k: 4 bytes of fifth bits, q6_k: 8 of upper pairs; 2 bytes of scale (q4_0, q8_0: half;
// q5_k: scale and min; q6_k: the two scales); and of 8 units: q5_k: d and dmin, q6_k: d.
// Bit 8b + w of the fifth bits belongs to value 4w + b; bits 8b + 2(w % 4) of pair word w / 4.
struct Parts {
    std::int64_t quants = 0, upper = 0, scales = 0;  // bytes of a unit
    std::int64_t of_eight = 0;                       // bytes of eight units
    std::int64_t row_bytes(std::int64_t units) const {
        return units * (quants + upper + scales) + units / 8 * of_eight;
    }
};

// Whether the type has planes; if not, its values become floats.
constexpr bool has_planes(Type type) {
    return type == Type::q4_0 || type == Type::q5_k || type == Type::q6_k || type == Type::q8_0;
}
constexpr Parts parts_of(Type type) {
    switch (type) {
        case Type::q4_0:
            return {16, 0, 2, 0};
        case Type::q5_k:
            return {16, 4, 2, 4};
        case Type::q6_k:
            return {16, 8, 2, 2};
        default:
            return {32, 0, 2, 0};  // q8_0
    }
}

std::int64_t packed_bytes(MatrixShape shape);
void pack(MatrixShape shape, const std::byte* src, std::byte* dst);

// Every type as floats.
std::int64_t float_bytes(MatrixShape shape);
void pack_floats(MatrixShape shape, const std::byte* src, std::byte* dst);

// Names of the two, as variants declare them.
constexpr const char* kLayout = "planes8";
constexpr const char* kFloatLayout = "floats";

}  // namespace steady::planes
