// A small generator whose numbers are the same on every machine, so that a printed seed repeats a
// case exactly. splitmix64, by its published constants.
#pragma once

#include <cstdint>

namespace steady {

class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        state_ += 0x9E3779B97F4A7C15;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
        return z ^ (z >> 31);
    }

    // Uniform in [low, high).
    float uniform(float low, float high) {
        return low + (high - low) * (static_cast<float>(next() >> 40) * 0x1p-24F);
    }

    // Uniform in [low, high], both included.
    std::int64_t integer(std::int64_t low, std::int64_t high) {
        return low + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(high - low + 1));
    }

private:
    std::uint64_t state_;
};

}  // namespace steady
