// Packing into planes, on the CPU while weights are read.
#include "kernels/layouts/planes.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace steady::planes {
namespace {

// Where the parts of one row of a chunk go.
struct Row {
    std::byte* quants;
    std::byte* upper;
    std::byte* scales;
    std::byte* of_eight;
};

using Quants = std::array<std::uint8_t, 32>;  // one unit's, unsigned

void put_nibbles(const Quants& q, std::byte* out) {
    for (std::size_t j = 0; j < 16; ++j) {
        out[j] = static_cast<std::byte>((q[j] & 15U) | (q[j + 16] & 15U) << 4);
    }
}

void put_fifth_bits(const Quants& q, std::byte* out) {
    std::uint32_t bits = 0;
    for (std::uint32_t j = 0; j < 32; ++j) {
        bits |= std::uint32_t{q[j]} >> 4 << (8 * (j % 4) + j / 4);
    }
    std::memcpy(out, &bits, sizeof bits);
}

void put_upper_pairs(const Quants& q, std::byte* out) {
    std::array<std::uint32_t, 2> words{};
    for (std::uint32_t j = 0; j < 32; ++j) {
        const std::uint32_t w = j / 4;
        words[w / 4] |= std::uint32_t{q[j]} >> 4 << (8 * (j % 4) + 2 * (w % 4));
    }
    std::memcpy(out, words.data(), sizeof words);
}

void pack_q4_0(const BlockQ4_0* blocks, std::int64_t units, const Row& row) {
    for (std::int64_t u = 0; u < units; ++u) {
        std::memcpy(row.quants + 16 * u, blocks[u].qs, 16);
        std::memcpy(row.scales + 2 * u, &blocks[u].d, 2);
    }
}

void pack_q8_0(const BlockQ8_0* blocks, std::int64_t units, const Row& row) {
    for (std::int64_t u = 0; u < units; ++u) {
        std::memcpy(row.quants + 32 * u, blocks[u].qs, 32);
        std::memcpy(row.scales + 2 * u, &blocks[u].d, 2);
    }
}

void pack_q5_k(const BlockQ5_K* blocks, std::int64_t units, const Row& row) {
    for (std::int64_t u = 0; u < units; ++u) {
        const BlockQ5_K& block = blocks[u / 8];
        const auto sub = static_cast<int>(u % 8);
        Quants q{};
        for (std::size_t l = 0; l < 32; ++l) {
            const std::uint8_t byte = block.qs[static_cast<std::size_t>(sub / 2) * 32 + l];
            const unsigned low = sub % 2 == 0 ? byte & 15U : byte >> 4;
            q[l] = static_cast<std::uint8_t>(low | (block.qh[l] >> sub & 1U) << 4);
        }
        put_nibbles(q, row.quants + 16 * u);
        put_fifth_bits(q, row.upper + 4 * u);
        const ScaleMin both = scale_min(block.scales, sub);
        row.scales[2 * u] = std::byte{both.scale};
        row.scales[2 * u + 1] = std::byte{both.min};
        if (sub == 0) std::memcpy(row.of_eight + u / 8 * 4, &block.d, 4);  // d, then dmin
    }
}

void pack_q6_k(const BlockQ6_K* blocks, std::int64_t units, const Row& row) {
    for (std::int64_t u = 0; u < units; ++u) {
        const BlockQ6_K& block = blocks[u / 8];
        // Run `run` of half `half` of the block's 256 values.
        const auto half = static_cast<std::size_t>(u % 8 / 4);
        const auto run = static_cast<unsigned>(u % 4);
        Quants q{};
        for (std::size_t l = 0; l < 32; ++l) {
            const std::uint8_t low = block.ql[64 * half + 32 * (run % 2) + l];
            const unsigned nibble = run < 2 ? low & 15U : low >> 4;
            q[l] =
                static_cast<std::uint8_t>(nibble | (block.qh[32 * half + l] >> 2 * run & 3U) << 4);
        }
        put_nibbles(q, row.quants + 16 * u);
        put_upper_pairs(q, row.upper + 8 * u);
        std::memcpy(row.scales + 2 * u, block.scales + u % 8 * 2, 2);
        if (u % 8 == 0) std::memcpy(row.of_eight + u / 8 * 2, &block.d, 2);
    }
}

void pack_row(Type type, const std::byte* src, std::int64_t units, const Row& row) {
    switch (type) {
        case Type::q4_0:
            return pack_q4_0(reinterpret_cast<const BlockQ4_0*>(src), units, row);
        case Type::q5_k:
            return pack_q5_k(reinterpret_cast<const BlockQ5_K*>(src), units, row);
        case Type::q6_k:
            return pack_q6_k(reinterpret_cast<const BlockQ6_K*>(src), units, row);
        default:
            return pack_q8_0(reinterpret_cast<const BlockQ8_0*>(src), units, row);
    }
}

}  // namespace

std::int64_t packed_bytes(MatrixShape shape) {
    if (!has_planes(shape.type)) return float_bytes(shape);
    return shape.rows * parts_of(shape.type).row_bytes(shape.cols / 32);
}

void pack(MatrixShape shape, const std::byte* src, std::byte* dst) {
    if (!has_planes(shape.type)) return pack_floats(shape, src, dst);
    const Parts parts = parts_of(shape.type);
    const std::int64_t units = shape.cols / 32, stride = row_bytes(shape.type, shape.cols);
    for (std::int64_t first = 0; first < shape.rows; first += kRows) {
        const std::int64_t n = std::min(kRows, shape.rows - first);
        std::byte* chunk = dst + first * parts.row_bytes(units);
        for (std::int64_t r = 0; r < n; ++r) {
            std::byte* upper = chunk + n * units * parts.quants;
            std::byte* scales = upper + n * units * parts.upper;
            std::byte* of_eight = scales + n * units * parts.scales;
            pack_row(
                shape.type, src + (first + r) * stride, units,
                {chunk + r * units * parts.quants, upper + r * units * parts.upper,
                 scales + r * units * parts.scales, of_eight + r * units / 8 * parts.of_eight});
        }
    }
}

std::int64_t float_bytes(MatrixShape shape) { return 4 * shape.rows * shape.cols; }

void pack_floats(MatrixShape shape, const std::byte* src, std::byte* dst) {
    const std::int64_t stride = row_bytes(shape.type, shape.cols);
    for (std::int64_t r = 0; r < shape.rows; ++r) {
        dequantize(shape.type, src + r * stride, reinterpret_cast<float*>(dst) + r * shape.cols,
                   shape.cols);
    }
}

}  // namespace steady::planes
