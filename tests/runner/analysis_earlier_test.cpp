// Which part of an earlier attempt's evidence counts when its thresholds were others.
#include <gtest/gtest.h>

#include "runner/judge/earlier_evidence.h"

namespace steady {
namespace {

Gate gain(double floor, double worth) {
    return {.id = "speed", .role = Role::decides, .worth = worth, .floor = floor};
}
Gate equivalent(double margin) {
    return {.id = "speed", .role = Role::decides, .goal = Goal::equivalent, .margin = margin};
}

TEST(EarlierEvidence, CountsWholeUnderTheSameThresholds) {
    const EarlierEvidence out = comparable(gain(0, 0.01), {2.0, 1.0}, gain(0, 0.01));
    EXPECT_EQ(out.log_e_accept, 2.0);
    EXPECT_EQ(out.log_e_reject, 1.0);
}

TEST(EarlierEvidence, ForMoreThanWasRefutedThenItDoesNotCount) {
    EXPECT_EQ(comparable(gain(0, 0.02), {2, 0}, gain(0.01, 0.01)).log_e_accept, 0);
    EXPECT_EQ(comparable(gain(0.01, 0.01), {2, 0}, gain(0, 0.02)).log_e_accept, 2);
    EXPECT_EQ(comparable(gain(0, 0.02), {0, 2}, gain(0, 0.01)).log_e_reject, 0);
    EXPECT_EQ(comparable(gain(0, 0.01), {0, 2}, gain(0, 0.02)).log_e_reject, 2);
}

TEST(EarlierEvidence, AsGoodAsSaysNothingAboutBetter) {
    EXPECT_EQ(comparable(equivalent(0.01), {5, 0}, gain(0, 0.01)).log_e_accept, 0);
    EXPECT_EQ(comparable(gain(0, 0.01), {5, 0}, equivalent(0.01)).log_e_accept, 5);
    EXPECT_EQ(comparable(gain(0, 0.01), {0, 5}, equivalent(0.01)).log_e_reject, 0);
}

TEST(EarlierEvidence, WhatSpeaksAgainstAnAnswerAlwaysCounts) {
    const EarlierEvidence out = comparable(gain(0, 0.02), {-3, -4}, gain(0.01, 0.005));
    EXPECT_EQ(out.log_e_accept, -3);
    EXPECT_EQ(out.log_e_reject, -4);
}

}  // namespace
}  // namespace steady
