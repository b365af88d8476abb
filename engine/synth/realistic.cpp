// Drawing of the outlier channels, and what they do to the size of a product.
#include "engine/synth/realistic.h"

#include <algorithm>
#include <cmath>

#include "engine/synth/random_blocks.h"

namespace steady {

std::vector<std::uint32_t> outlier_channels(const Geometry& geometry, std::uint64_t seed) {
    constexpr std::uint32_t kOf2048 = 6;
    const std::uint32_t n = std::max<std::uint32_t>(1, geometry.dim * kOf2048 / 2048);
    RandomBits random(seed ^ 0x6F75746C69657273U);
    std::vector<std::uint32_t> channels;
    while (channels.size() < n) {
        const auto channel = static_cast<std::uint32_t>(random.next() % geometry.dim);
        if (std::find(channels.begin(), channels.end(), channel) == channels.end()) {
            channels.push_back(channel);
        }
    }
    std::sort(channels.begin(), channels.end());
    return channels;
}

float outlier_gain(const Geometry& geometry, std::size_t n_channels) {
    const float extra = static_cast<float>(n_channels) * (kOutlierFactor * kOutlierFactor - 1.0F);
    return std::sqrt(1.0F + extra / static_cast<float>(geometry.dim));
}

}  // namespace steady
