// What a history says: a planted slow-down is found at its commit with the right cause, noise alone
// says nothing, and the words for people and programs hold what they must.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "runner/track/track.h"

namespace steady {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

enum class Moves { champion, reference, machine };

// n commits around ratio 6; from `at` on, the ratio is exp(shift) times what it was.
std::vector<TrackPoint> history(int n, int at, double shift, Moves moves, std::uint64_t seed = 1) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> noise(0, 0.005), drift(0, 0.03);
    std::vector<TrackPoint> points;
    for (int i = 0; i < n; ++i) {
        const bool after = i >= at;
        const double value = std::log(6.0) + noise(random) + (after ? shift : 0);
        const double machine = drift(random);
        TrackPoint point;
        point.commit = std::string(38, 'a') + static_cast<char>('0' + i / 10 % 10) +
                       static_cast<char>('0' + i % 10);
        point.subject = "Commit | number <" + std::to_string(i) + ">";
        point.ratio = std::exp(value);
        const bool reference_moved = after && moves == Moves::reference;
        point.reference_ns = 4e6 * std::exp(machine + (reference_moved ? shift : 0));
        point.champion_ns = point.reference_ns / point.ratio;
        point.machine = after && moves == Moves::machine ? "kernel=2" : "kernel=1";
        points.push_back(point);
    }
    return points;
}

TEST(TrackJudge, FindsAPlantedSlowdownAtItsCommit) {
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U}) {
        const auto points = history(60, 40, -0.04, Moves::champion, seed);
        const TrackJudgement judged = judge_track(points);
        ASSERT_EQ(judged.changes.size(), 1u) << seed;
        const TrackChange& change = judged.changes[0];
        EXPECT_NEAR(static_cast<double>(change.index), 40, 1) << seed;
        EXPECT_NEAR(change.shift, -0.04, 0.006) << seed;
        EXPECT_LT(change.p, 0.001);
        EXPECT_EQ(change.commit, points[change.index].commit);
        EXPECT_EQ(change.before, points[change.index - 1].commit);
        EXPECT_EQ(change.cause, "code");
        EXPECT_NEAR(judged.noise, 0.005, 0.003);
        ASSERT_EQ(judged.level.size(), points.size());
        EXPECT_NEAR(std::log(judged.level.back() / judged.level.front()), change.shift, 1e-9);
    }
}

// Two noisy points move the detector's place; a direct A/B says where the change is.
TEST(TrackJudge, AConfirmedStepStandsForWhatIsFoundBesideIt) {
    auto points = history(60, 40, -0.04, Moves::champion);
    for (const std::size_t noisy : {40U, 41U}) points[noisy].ratio = points[20].ratio;
    const TrackJudgement moved = judge_track(points);
    ASSERT_EQ(moved.changes.size(), 1u);
    ASSERT_EQ(moved.changes[0].index, 42u);
    std::vector<std::size_t> places;
    for (const TrackChange& place : places_beside(points, moved.changes[0])) {
        EXPECT_EQ(place.commit, points[place.index].commit);
        EXPECT_EQ(place.before, points[place.index - 1].commit);
        EXPECT_EQ(place.shift, moved.changes[0].shift);
        places.push_back(place.index);
    }
    EXPECT_EQ(places, (std::vector<std::size_t>{41, 43, 40, 44, 39, 45}));
    const ConfirmedStep step{points[39].commit, points[40].commit};
    const TrackJudgement judged = judge_track(points, {step});
    ASSERT_EQ(judged.changes.size(), 1u);
    EXPECT_EQ(judged.changes[0].index, 40u);
    EXPECT_NEAR(judged.changes[0].shift, -0.04, 0.006);
    const ConfirmedStep far{points[20].commit, points[21].commit};
    EXPECT_EQ(judge_track(points, {step, far}).changes.size(), 2u);
}

// Two changes three commits apart, the first found a commit early: what is confirmed of one takes
// nothing from the other.
TEST(TrackJudge, AConfirmedStepLeavesItsNeighbourThatIsAChangeToo) {
    auto points = history(60, 99, 0, Moves::champion);
    for (std::size_t i = 0; i < points.size(); ++i)
        points[i].ratio = i < 30 ? 6.0 : i < 33 ? 5.7 : 5.4;
    const auto places = [&](const std::vector<ConfirmedStep>& confirmed) {
        std::vector<std::size_t> out;
        for (const TrackChange& one : judge_track(points, confirmed).changes)
            out.push_back(one.index);
        return out;
    };
    const std::vector<std::size_t> found{29, 33}, exact{30, 33};
    ASSERT_EQ(places({}), found);
    EXPECT_EQ(places({{points[29].commit, points[30].commit}}), exact);
    EXPECT_EQ(places({{points[32].commit, points[33].commit}}), found);
}

TEST(TrackJudge, PlacesBesideAChangeAtAnEnd) {
    const auto points = history(4, 9, 0, Moves::champion);
    TrackChange change;
    change.index = 1;
    std::vector<std::size_t> places;
    for (const TrackChange& place : places_beside(points, change)) places.push_back(place.index);
    EXPECT_EQ(places, (std::vector<std::size_t>{2, 3}));
}

TEST(TrackJudge, NoiseAloneIsNoChange) {
    int found = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        found += static_cast<int>(
            judge_track(history(100, 100, 0, Moves::champion, seed)).changes.size());
    }
    EXPECT_EQ(found, 0);
}

TEST(TrackJudge, TellsWhichSideMoved) {
    const auto reference = judge_track(history(60, 30, -0.05, Moves::reference));
    ASSERT_EQ(reference.changes.size(), 1u);
    EXPECT_EQ(reference.changes[0].cause, "method");
    const auto machine = judge_track(history(60, 30, -0.05, Moves::machine));
    ASSERT_EQ(machine.changes.size(), 1u);
    EXPECT_EQ(machine.changes[0].cause, "hardware");
}

// Counted work has no noise at all: its changes must not hide in the deviation of the whole series.
TEST(TrackJudge, FindsExactChangesOfCountedWork) {
    std::vector<TrackPoint> points = history(60, 60, 0, Moves::champion);
    for (std::size_t i = 0; i < points.size(); ++i) {
        double work = i >= 13 ? 102000 : 100000;
        if (i >= 27) work = 98940;
        if (i >= 38 && i < 49) work = 102897;
        points[i].ratio = 100000 / work;
        points[i].reference_ns = 100000;
        points[i].champion_ns = work;
    }
    const TrackJudgement judged = judge_track(points);
    std::vector<std::size_t> found;
    for (const TrackChange& change : judged.changes) {
        found.push_back(change.index);
        EXPECT_TRUE(change.cross_checked) << change.index;
        EXPECT_EQ(change.cause, "code");
        ASSERT_TRUE(change.interval.low && change.interval.high);
        EXPECT_NEAR(*change.interval.low, change.shift, 1e-9);
    }
    EXPECT_EQ(found, (std::vector<std::size_t>{13, 27, 38, 49}));
    EXPECT_TRUE(judged.only_cross_check.empty());
}

TEST(TrackJudge, TheIntervalHoldsTheShift) {
    int inside = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        for (const TrackChange& change :
             judge_track(history(60, 40, -0.04, Moves::champion, seed)).changes) {
            inside += *change.interval.low <= -0.04 && -0.04 <= *change.interval.high ? 1 : 0;
        }
    }
    EXPECT_GE(inside, 34) << "of 40, at 95 %";
}

// The same reference, built and asked in the same way, at another speed: the machine.
TEST(TrackJudge, AReferenceThatMovesIsTheMachineWhenItsBuildIsKnown) {
    auto points = history(60, 30, -0.05, Moves::reference);
    for (TrackPoint& point : points) point.method = "question=1";
    EXPECT_EQ(judge_track(points).changes.at(0).cause, "hardware");
    points = history(60, 30, -0.05, Moves::champion);
    for (std::size_t i = 0; i < points.size(); ++i) points[i].method = i < 30 ? "gcc 12" : "gcc 13";
    const TrackChange change = judge_track(points).changes.at(0);
    if (change.index == 30) {
        EXPECT_EQ(change.cause, "method");
    }
}

TEST(TrackJudge, FewPointsHaveNoChange) {
    EXPECT_TRUE(judge_track({}).level.empty());
    EXPECT_TRUE(judge_track(history(7, 3, -0.5, Moves::champion)).changes.empty());
    EXPECT_EQ(judge_track(history(1, 1, 0, Moves::champion)).noise, 0);
}

TEST(TrackWords, ForgeAddressesInEverySpelling) {
    const std::string wanted = "https://forge.example/team/steady";
    for (const char* remote :
         {"https://forge.example/team/steady.git", "https://kim:secret@forge.example/team/steady",
          "ssh://git@forge.example:2222/team/steady.git", "git@forge.example:team/steady.git",
          "git://forge.example/team/steady/"}) {
        EXPECT_EQ(forge_url(remote), wanted) << remote;
    }
    for (const char* remote : {"/srv/git/steady.git", "../steady", "", "file:///srv/steady",
                               "javascript:alert(1)", "https://forge.example/<script>"}) {
        EXPECT_EQ(forge_url(remote).find_first_of("<>()"), std::string::npos) << remote;
    }
    EXPECT_EQ(forge_url("/srv/git/steady.git"), "");
    EXPECT_EQ(compare_url(wanted, "aa", "bb"), wanted + "/compare/aa...bb");
    EXPECT_EQ(compare_url("", "aa", "bb"), "");
}

TrackSummary summary() {
    TrackSummary one{.series = "decode-on-bench",
                     .metric = "decode_tps",
                     .host = "bench",
                     .forge = "https://forge.example/t/s",
                     .points = history(60, 40, -0.04, Moves::champion),
                     .judged = {},
                     .found = {}};
    one.judged = judge_track(one.points);
    one.found = one.judged.changes;
    return one;
}

TEST(TrackWords, MarkdownNamesTheChangeAndEscapesWhatPeopleWrote) {
    const TrackSummary one = summary();
    const std::string text = track_markdown({one});
    EXPECT_THAT(text, HasSubstr("▼ slower"));
    EXPECT_THAT(text, HasSubstr("https://forge.example/t/s/compare/" + one.found[0].before));
    EXPECT_THAT(text, Not(HasSubstr("<4")));  // the subjects hold markup and a column's end
    EXPECT_THAT(text, Not(HasSubstr("Commit | number")));
    TrackSummary calm = one;
    calm.found.clear();
    EXPECT_THAT(track_markdown({calm}), HasSubstr("No new change of level."));
}

TEST(TrackWords, AlertHoldsTheNumbers) {
    const nlohmann::json alert = track_alert(summary());
    ASSERT_EQ(alert.at("changes").size(), 1u);
    EXPECT_NEAR(alert.at("changes")[0].at("shift").get<double>(), std::expm1(-0.04), 0.006);
    EXPECT_THAT(alert.at("text").get<std::string>(), HasSubstr("slower"));
    EXPECT_EQ(alert.at("series"), "decode-on-bench");
}

}  // namespace
}  // namespace steady
