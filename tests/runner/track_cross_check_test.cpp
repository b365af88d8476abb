// E-Divisive and the interval of a shift: known answers, and no alarms on noise.
#include <gtest/gtest.h>

#include <random>

#include "runner/statistics/level_shift.h"

namespace steady {
namespace {

std::vector<double> noisy(std::size_t n, std::size_t at, double shift, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> noise(0, 1);
    std::vector<double> y;
    for (std::size_t i = 0; i < n; ++i) y.push_back(noise(random) + (i < at ? 0 : shift));
    return y;
}

TEST(TrackCrossCheck, FindsWhereTheDistributionChanges) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        const auto found = edivisive(noisy(60, 25, 4, seed));
        ASSERT_EQ(found.size(), 1u) << seed;
        EXPECT_NEAR(static_cast<double>(found[0]), 25, 1);
    }
    std::vector<double> steps;
    for (int i = 0; i < 60; ++i) steps.push_back(i < 20 ? 1 : i < 40 ? 2 : 1);
    EXPECT_EQ(edivisive(steps), (std::vector<std::size_t>{20, 40}));
}

TEST(TrackCrossCheck, NoiseSeldomAlarms) {
    int found = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        found += edivisive(noisy(40, 40, 0, seed)).empty() ? 0 : 1;
    }
    EXPECT_LE(found, 5) << "1 in 100 is expected";
    EXPECT_TRUE(edivisive(std::vector<double>(50, 1.0)).empty());
    EXPECT_TRUE(edivisive(std::vector<double>{1, 2, 3}).empty());
}

TEST(TrackCrossCheck, ShiftIsTheMedianOfDifferences) {
    const std::vector<double> before{1, 2, 3, 4}, after{11, 12, 13, 14};
    const LevelShift shift = level_shift(before, after);
    EXPECT_EQ(shift.estimate, 10);
    // Two of four against four: the first rank of the 16 differences.
    ASSERT_TRUE(shift.low && shift.high);
    EXPECT_EQ(*shift.low, 7);
    EXPECT_EQ(*shift.high, 13);
    EXPECT_FALSE(level_shift(std::vector<double>{1}, std::vector<double>{2}).low);
    EXPECT_EQ(level_shift({}, after).estimate, 0);
}

}  // namespace
}  // namespace steady
