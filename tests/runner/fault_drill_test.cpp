// The kill harness in short, and the proof that it can fail: with synchronous_commit off the same
// fault run must lose acknowledged samples.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "runner/fault/drill.h"

namespace steady {
namespace {

// STEADY_DRILL_KILLS=200 for the long version.
TEST(FaultDrill, NothingIsLostDoubledOrOverlapping) {
    const char* kills = std::getenv("STEADY_DRILL_KILLS");
    const auto report = run_fault_drill(
        {.kills = kills == nullptr ? 24 : std::atoi(kills), .seed = 11, .progress = {}});
    fmt::print("{}", report.text());
    EXPECT_TRUE(report.sound());
    EXPECT_GE(report.server_kills, 2);
    EXPECT_GE(report.freezes, 3);
    EXPECT_GT(report.jobs_resumed, 0);
}

TEST(FaultDrill, ReportsTheLossesOfAsynchronousCommit) {
    FaultReport report;
    for (std::uint64_t seed = 1; seed <= 4 && report.samples_lost == 0; ++seed) {
        report = run_fault_drill({.kills = 4,
                                  .freezes = 0,
                                  .server_kills = 12,
                                  .seed = seed,
                                  .synchronous_commit = false,
                                  .most_s = 20,
                                  .progress = {}});
        fmt::print("{}", report.text());
    }
    EXPECT_GT(report.samples_lost, 0) << "the drill cannot see a loss";
    EXPECT_FALSE(report.sound());
}

}  // namespace
}  // namespace steady
