// Effects that depend on the machine's speed, and effects that do not.
#include <gmock/gmock.h>

#include <numeric>
#include <random>

#include "runner/judge/analysis_checks.h"
#include "runner/judge/machine_state.h"

namespace steady {
namespace {

using ::testing::HasSubstr;

// The pairs of journal/2026-11-23-champion-avx2-experts-rows16-prefetch-4a514829.md: tok/s of both
// arms together and change in percent. Published as +5.8 %.
constexpr double kPublished[][2] = {
    {8.2, 6.92},   {9.7, 13.29},  {10.2, 7.53},  {10.2, 14.2},  {10.3, 16.07}, {10.5, 8.68},
    {10.5, 9.25},  {10.5, 10.2},  {10.6, 8.73},  {10.6, 9.59},  {10.6, 11.51}, {10.8, 6.63},
    {10.8, 8.53},  {10.8, 12.38}, {11.1, 9.78},  {11.4, -2.06}, {11.9, -0.17}, {11.9, 4.62},
    {12.0, -5.57}, {12.0, 21.36}, {12.2, -2.95}, {12.2, 4.98},  {12.4, 0.04},  {12.5, 0.36},
    {13.0, -0.88}, {13.1, 1.27},  {13.2, -1.32}, {13.7, -1.3}};

TEST(MachineState, ThePublishedExampleDepends) {
    std::vector<double> d, slowness;
    for (const auto& [speed, change] : kPublished) {
        d.push_back(std::log1p(change / 100));
        slowness.push_back(-std::log(speed));
    }
    const auto state = machine_state(d, slowness, 0.01);
    ASSERT_TRUE(state);
    EXPECT_TRUE(state->depends);
    EXPECT_LT(state->fast, 0.01);
    EXPECT_GT(state->slow, 0.08);
    EXPECT_THAT(state_words(state), HasSubstr("depends on machine state: "));
    // The same effects in no order of speed.
    std::mt19937 random(3);
    int n = 0;
    for (int i = 0; i < 200; ++i) {
        std::shuffle(slowness.begin(), slowness.end(), random);
        n += machine_state(d, slowness, 0.01)->depends ? 1 : 0;
    }
    EXPECT_LE(n, 8) << "about 1 % of 200 by chance";
}

TEST(MachineState, NothingIsSaidOfFewPairsOrOneSpeedOrASmallDifference) {
    const std::vector<double> d = {0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09};
    EXPECT_FALSE(machine_state(Values(d).first(8), Values(d).first(8), 0.01));
    EXPECT_FALSE(machine_state(d, Values(d).first(9), 0.01));
    EXPECT_TRUE(machine_state(d, d, 0.01)->depends);
    EXPECT_FALSE(machine_state(d, d, 0.06)->depends) << "less than what matters";
    const std::vector<double> same(10, 1.0);
    EXPECT_FALSE(machine_state(d, same, 0.01)->depends);
    EXPECT_EQ(state_words(std::nullopt), "");
}

// Rule 3's check for two groups: the published example, and pairs whose effect has nothing to do
// with their speed.
TEST(SpeedGroups, ThePublishedExampleIsTwoGroups) {
    std::vector<double> d, slowness;
    for (const auto& [speed, change] : kPublished) {
        d.push_back(std::log1p(change / 100));
        slowness.push_back(-std::log(speed));
    }
    EXPECT_EQ(bimodality(d, 0.0187).status, "ok") << "rule 2 did not see it";
    const Check check = bimodality_by_speed(d, slowness, 0.0187, 0.01);
    EXPECT_EQ(check.status, "flag") << check.detail;
    const auto groups = speed_groups(d, slowness, 0.01);
    ASSERT_TRUE(groups);
    EXPECT_LT(groups->fast, 0.01);
    EXPECT_GT(groups->slow, 0.08);
    std::mt19937 random(5);
    int n = 0;
    for (int i = 0; i < 100; ++i) {
        std::shuffle(slowness.begin(), slowness.end(), random);
        n += speed_groups(d, slowness, 0.01)->apart ? 1 : 0;
    }
    EXPECT_LE(n, 5) << "about 1 % of 100 by chance";
}

TEST(SpeedGroups, NothingIsSaidOfFewPairsOrOneSpeedOrASmallDifference) {
    std::vector<double> d(12);
    std::iota(d.begin(), d.end(), 0.0);
    for (double& value : d) value /= 100;
    EXPECT_FALSE(speed_groups(Values(d).first(9), Values(d).first(9), 0.01));
    EXPECT_FALSE(speed_groups(d, Values(d).first(9), 0.01));
    EXPECT_FALSE(speed_groups(d, std::vector<double>(12, 1.0), 0.01));
    EXPECT_TRUE(speed_groups(d, d, 0.01)->apart);
    EXPECT_FALSE(speed_groups(d, d, 0.07)->apart) << "less than what matters";
}

}  // namespace
}  // namespace steady
