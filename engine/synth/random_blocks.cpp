// Round-to-nearest quantisation of one block per format; good enough for random weights, where no
// search for better scales pays.
#include "engine/synth/random_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "kernels/base/error.h"

namespace steady {
namespace {

int rounded(float value, int low, int high) {
    return std::clamp(static_cast<int>(std::lround(value)), low, high);
}

float inverse(float value) { return value != 0.0F ? 1.0F / value : 0.0F; }

float largest(std::span<const float> values) {
    float most = 0.0F;
    for (const float value : values) most = std::max(most, std::fabs(value));
    return most;
}

void quantise_q4_0(std::span<const float> x, BlockQ4_0& block) {
    float extreme = 0.0F;
    for (const float value : x) {
        if (std::fabs(value) > std::fabs(extreme)) extreme = value;
    }
    block.d = float_to_half(extreme / -8.0F);
    const float scale = inverse(half_to_float(block.d));
    for (std::size_t j = 0; j < 16; ++j) {
        const int low = rounded(x[j] * scale + 8.0F, 0, 15);
        const int high = rounded(x[j + 16] * scale + 8.0F, 0, 15);
        block.qs[j] = static_cast<std::uint8_t>(low | (high << 4));
    }
}

void quantise_q5_1(std::span<const float> x, BlockQ5_1& block) {
    const auto [low, high] = std::minmax_element(x.begin(), x.end());
    block.d = float_to_half((*high - *low) / 31.0F);
    block.m = float_to_half(*low);
    const float scale = inverse(half_to_float(block.d));
    std::uint32_t fifth = 0;
    std::array<int, 32> q{};
    for (std::size_t j = 0; j < 32; ++j) {
        q[j] = rounded((x[j] - half_to_float(block.m)) * scale, 0, 31);
        fifth |= static_cast<std::uint32_t>(q[j] >> 4) << j;
    }
    std::memcpy(block.qh, &fifth, sizeof(fifth));
    for (std::size_t j = 0; j < 16; ++j) {
        block.qs[j] = static_cast<std::uint8_t>((q[j] & 15) | ((q[j + 16] & 15) << 4));
    }
}

void quantise_q8_0(std::span<const float> x, BlockQ8_0& block) {
    block.d = float_to_half(largest(x) / 127.0F);
    const float scale = inverse(half_to_float(block.d));
    for (std::size_t j = 0; j < 32; ++j) {
        block.qs[j] = static_cast<std::int8_t>(rounded(x[j] * scale, -127, 127));
    }
}

// Packs eight pairs of 6-bit numbers as Q4_K and Q5_K store them.
void pack_scales(const std::array<int, 8>& scales, const std::array<int, 8>& mins,
                 std::uint8_t* packed) {
    for (std::size_t j = 0; j < 4; ++j) {
        packed[j] = static_cast<std::uint8_t>(scales[j] | ((scales[j + 4] >> 4) << 6));
        packed[j + 4] = static_cast<std::uint8_t>(mins[j] | ((mins[j + 4] >> 4) << 6));
        packed[j + 8] = static_cast<std::uint8_t>((scales[j + 4] & 15) | ((mins[j + 4] & 15) << 4));
    }
}

void quantise_q5_k(std::span<const float> x, BlockQ5_K& block) {
    std::array<float, 8> scale{};
    std::array<float, 8> low{};
    for (std::size_t s = 0; s < 8; ++s) {
        const auto [least, most] =
            std::minmax_element(x.begin() + static_cast<std::ptrdiff_t>(s * 32),
                                x.begin() + static_cast<std::ptrdiff_t>(s * 32 + 32));
        low[s] = -std::min(*least, 0.0F);
        scale[s] = (std::max(*most, 0.0F) + low[s]) / 31.0F;
    }
    block.d = float_to_half(largest(scale) / 63.0F);
    block.dmin = float_to_half(largest(low) / 63.0F);
    const float d = half_to_float(block.d);
    const float dmin = half_to_float(block.dmin);
    std::array<int, 8> scales{};
    std::array<int, 8> mins{};
    std::memset(block.qh, 0, sizeof(block.qh));
    std::memset(block.qs, 0, sizeof(block.qs));
    for (std::size_t s = 0; s < 8; ++s) {
        scales[s] = rounded(scale[s] * inverse(d), 0, 63);
        mins[s] = rounded(low[s] * inverse(dmin), 0, 63);
        const float step = inverse(d * static_cast<float>(scales[s]));
        const float offset = dmin * static_cast<float>(mins[s]);
        for (std::size_t l = 0; l < 32; ++l) {
            const int q = rounded((x[s * 32 + l] + offset) * step, 0, 31);
            std::uint8_t& nibbles = block.qs[s / 2 * 32 + l];
            nibbles = static_cast<std::uint8_t>(nibbles | ((q & 15) << (s % 2 * 4)));
            block.qh[l] = static_cast<std::uint8_t>(block.qh[l] | ((q >> 4) << s));
        }
    }
    pack_scales(scales, mins, block.scales);
}

void quantise_q6_k(std::span<const float> x, BlockQ6_K& block) {
    std::array<float, 16> scale{};
    for (std::size_t s = 0; s < 16; ++s) scale[s] = largest(x.subspan(s * 16, 16)) / 31.0F;
    block.d = float_to_half(largest(scale) / 127.0F);
    const float d = half_to_float(block.d);
    std::memset(block.ql, 0, sizeof(block.ql));
    std::memset(block.qh, 0, sizeof(block.qh));
    for (std::size_t i = 0; i < 256; ++i) {
        const std::size_t s = i / 16;
        block.scales[s] = static_cast<std::int8_t>(rounded(scale[s] * inverse(d), 0, 127));
        const float step = inverse(d * static_cast<float>(block.scales[s]));
        const int q = rounded(x[i] * step, -32, 31) + 32;
        const std::size_t half = i / 128;
        const std::size_t run = i % 128 / 32;  // four runs of 32 values in each half
        const std::size_t l = i % 32;
        std::uint8_t& low = block.ql[half * 64 + run % 2 * 32 + l];
        low = static_cast<std::uint8_t>(low | ((q & 15) << (run / 2 * 4)));
        std::uint8_t& high = block.qh[half * 32 + l];
        high = static_cast<std::uint8_t>(high | ((q >> 4) << (run * 2)));
    }
}

template <typename Block, typename Quantise>
void store(std::span<const float> x, std::byte* out, Quantise quantise) {
    Block block;
    quantise(x, block);
    std::memcpy(out, &block, sizeof(block));
}

void quantise_block(Type type, std::span<const float> x, std::byte* out) {
    switch (type) {
        case Type::q4_0:
            return store<BlockQ4_0>(x, out, quantise_q4_0);
        case Type::q5_1:
            return store<BlockQ5_1>(x, out, quantise_q5_1);
        case Type::q8_0:
            return store<BlockQ8_0>(x, out, quantise_q8_0);
        case Type::q5_k:
            return store<BlockQ5_K>(x, out, quantise_q5_k);
        case Type::q6_k:
            return store<BlockQ6_K>(x, out, quantise_q6_k);
        default:
            throw Error(
                fmt::format("synth: found format {}, allowed: f32, q4_0, q5_1, q8_0, q5_k, q6_k",
                            type_name(type)));
    }
}

// The block size is a constant for the compiler: a copy of 18 bytes is two moves then.
template <std::size_t kBytes>
void copy_random(std::span<const std::byte> pool, std::size_t mask, std::span<std::byte> out,
                 RandomBits& random) {
    std::uint64_t bits = 0;
    int left = 0;
    for (std::size_t at = 0; at < out.size(); at += kBytes) {
        if (left == 0) {
            bits = random.next();
            left = 5;  // of 12 bits
        }
        const std::size_t index = static_cast<std::size_t>(bits) & mask;
        std::memcpy(out.data() + at, pool.data() + index * kBytes, kBytes);
        bits >>= 12;
        --left;
    }
}

}  // namespace

float RandomBits::normal() {
    std::int32_t sum = 0;
    for (int word = 0; word < 3; ++word) {
        std::uint64_t bits = next();
        for (int part = 0; part < 4; ++part) {
            sum += static_cast<std::int32_t>(bits & 0xFFFF);
            bits >>= 16;
        }
    }
    return static_cast<float>(sum - 6 * 65535) / 65536.0F;
}

BlockPool::BlockPool(Type type, float mean, float deviation, std::size_t n_blocks,
                     std::uint64_t seed)
    : type_(type),
      mean_(mean),
      deviation_(deviation),
      block_bytes_(static_cast<std::size_t>(block_bytes(type))),
      mask_(n_blocks - 1) {
    if (type == Type::f32) return;
    RandomBits random(seed);
    blocks_.resize(n_blocks * block_bytes_);
    std::vector<float> values(static_cast<std::size_t>(block_values(type)));
    for (std::size_t i = 0; i < n_blocks; ++i) {
        for (float& value : values) value = mean + deviation * random.normal();
        quantise_block(type, values, blocks_.data() + i * block_bytes_);
    }
}

void BlockPool::fill(std::span<std::byte> out, RandomBits& random) const {
    switch (type_) {
        case Type::q4_0:
            return copy_random<sizeof(BlockQ4_0)>(blocks_, mask_, out, random);
        case Type::q5_1:
            return copy_random<sizeof(BlockQ5_1)>(blocks_, mask_, out, random);
        case Type::q8_0:
            return copy_random<sizeof(BlockQ8_0)>(blocks_, mask_, out, random);
        case Type::q5_k:
            return copy_random<sizeof(BlockQ5_K)>(blocks_, mask_, out, random);
        case Type::q6_k:
            return copy_random<sizeof(BlockQ6_K)>(blocks_, mask_, out, random);
        default:
            break;
    }
    for (std::size_t at = 0; at < out.size(); at += sizeof(float)) {
        const float value = mean_ + deviation_ * random.normal();
        std::memcpy(out.data() + at, &value, sizeof(value));
    }
}

}  // namespace steady
