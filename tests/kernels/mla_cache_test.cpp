// The byte cache of attention: what is stored comes back within half a step, for every position of
// a group, and one position's bytes leave the others alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/mla_attention_q8/op.h"

namespace steady {
namespace {

TEST(MlaByteCache, GivesBackEachPositionWithinHalfAStep) {
    constexpr std::int64_t kRank = 64;
    constexpr std::int64_t kRot = 32;
    constexpr std::int64_t kWidth = kRank + kRot;
    constexpr std::int64_t kPositions = 37;
    Random random(5);
    std::vector<std::byte> cache(static_cast<std::size_t>(mla_q8::cache_bytes(kWidth, kPositions)));
    std::vector<std::vector<float>> rows(kPositions, std::vector<float>(kWidth));
    for (std::int64_t t = kPositions - 1; t >= 0; --t) {  // in an order of no help
        std::vector<float>& row = rows[static_cast<std::size_t>(t)];
        for (float& x : row) x = random.uniform(-3.0F, 3.0F);
        if (t == 5) std::fill(row.begin(), row.begin() + kRank, 0.0F);
        mla_q8::store(cache.data(), t, row.data(), kRank, kRot);
    }
    for (std::int64_t t = 0; t < kPositions; ++t) {
        const std::vector<float>& row = rows[static_cast<std::size_t>(t)];
        for (std::int64_t c = 0; c < kWidth; ++c) {
            const auto first = row.begin() + (c < kRank ? 0 : kRank);
            const auto last = c < kRank ? row.begin() + kRank : row.end();
            const float largest = std::fabs(*std::max_element(
                first, last, [](float a, float b) { return std::fabs(a) < std::fabs(b); }));
            const double x = static_cast<double>(row[static_cast<std::size_t>(c)]);
            EXPECT_NEAR(mla_q8::value(cache.data(), t, c, kRank, kRot), x,
                        static_cast<double>(largest) / 127 * 0.5001)
                << "position " << t << ", column " << c;
        }
    }
}

}  // namespace
}  // namespace steady
