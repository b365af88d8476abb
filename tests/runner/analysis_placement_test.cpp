// Effects that differ between placements of the weights, and effects that do not.
#include <gmock/gmock.h>

#include <random>

#include "runner/judge/placement.h"

namespace steady {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<double> kPlaces = {7, 7, 7, 5, 5, 5, 9, 9, 9};

TEST(PlacementSpread, PlacementsThatDifferAreSeen) {
    const std::vector<double> places = {7, 7, 7, 5, 5, 5, 9, 9, 9, 2, 2, 2};
    const std::vector<double> d = {0.001, 0.002,  0.0,   0.051, 0.049, 0.05,
                                   0.001, -0.001, 0.002, 0.05,  0.052, 0.048};
    const auto spread = placement_spread(d, places, 0.01);
    ASSERT_TRUE(spread);
    EXPECT_TRUE(spread->depends);
    EXPECT_THAT(spread->medians, ElementsAre(0.001, 0.05, 0.001, 0.05)) << "in order measured";
    EXPECT_THAT(spread->pairs, ElementsAre(3, 3, 3, 3));
    EXPECT_NEAR(spread->spread, 0.0285, 0.001);
    EXPECT_THAT(placement_words(spread),
                HasSubstr("depends on placement: +0.10 % to +5.13 % on 4 placements"));
    EXPECT_FALSE(placement_spread(d, places, 0.06)->depends) << "less than what matters";
    EXPECT_EQ(placement_spread(d, places, 0.01)->p, spread->p) << "the same at every call";
}

TEST(PlacementSpread, NoiseAloneIsRarelyCalledPlacement) {
    if (STEADY_SANITIZED)
        GTEST_SKIP() << "counts how often chance misleads: the same code many times";
    std::mt19937 random(30);
    std::normal_distribution<double> noise(0.02, 0.02);
    int n = 0;
    for (int i = 0; i < 300; ++i) {
        std::vector<double> d;
        for (std::size_t k = 0; k < kPlaces.size(); ++k) d.push_back(noise(random));
        n += placement_spread(d, kPlaces, 0.001)->depends ? 1 : 0;
    }
    EXPECT_LE(n, 10) << "about 1 % of 300 by chance";
}

TEST(PlacementSpread, NothingIsSaidOfOnePlacementOrSinglePairs) {
    const std::vector<double> d = {0.01, 0.02, 0.03, 0.04};
    EXPECT_FALSE(placement_spread(d, std::vector<double>{1, 1, 1, 1}, 0.01));
    EXPECT_FALSE(placement_spread(d, std::vector<double>{1, 2, 3, 4}, 0.01));
    EXPECT_FALSE(placement_spread(d, std::vector<double>{1, 1}, 0.01));
    EXPECT_EQ(placement_words(std::nullopt), "");
    EXPECT_FALSE(placement_of(Pair{})) << "a record from before";
}

}  // namespace
}  // namespace steady
