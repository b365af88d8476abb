// Random quantised weights at the speed of memory: normal values are quantised once into a pool of
// blocks per format and scale, and tensors are filled by drawing blocks from it. All arithmetic is
// on integers and single IEEE operations, so that the bytes are the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/formats/formats.h"

namespace steady {

// SplitMix64: one multiplication chain per draw, any seed is a good seed.
class RandomBits {
public:
    explicit RandomBits(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        state_ += 0x9E3779B97F4A7C15U;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
        return z ^ (z >> 31);
    }
    // Mean 0, deviation 1: the sum of twelve uniform 16-bit values, so within ±6.
    float normal();

private:
    std::uint64_t state_;
};

class BlockPool {
public:
    // n_blocks: a power of two from 1 to 4096. Formats: f32, q4_0, q8_0, q5_1, q5_k, q6_k.
    BlockPool(Type type, float mean, float deviation, std::size_t n_blocks, std::uint64_t seed);

    Type type() const { return type_; }
    // Fills `out`, a whole number of blocks.
    void fill(std::span<std::byte> out, RandomBits& random) const;

private:
    Type type_;
    float mean_;
    float deviation_;
    std::size_t block_bytes_;
    std::size_t mask_;
    std::vector<std::byte> blocks_;
};

}  // namespace steady
