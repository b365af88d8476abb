// The search for a commit, without programs: which commit is tested next, what an answer excludes,
// which side an analysis puts a commit on, and that the search always ends at the right commit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "runner/track/bisect_report.h"

namespace steady::bisect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

History straight(std::size_t n) {
    History history;
    for (std::size_t i = 0; i < n; ++i) {
        Commit commit{.sha = "sha" + std::to_string(i), .tree = "", .subject = "", .parents = {}};
        if (i > 0) commit.parents = {i - 1};
        history.push_back(commit);
    }
    return history;
}

// 0 ─ 1 ─ 2 ─────── 5 (merge) ─ 6
//      └ 3 ─ 4 ────┘
History merged() {
    History history = straight(7);
    history[3].parents = {1};
    history[5].parents = {2, 4};
    return history;
}

std::vector<std::size_t> search(const History& history, const std::vector<Side>& truth,
                                int* tests = nullptr) {
    std::vector<Side> sides(history.size(), Side::unknown);
    while (const auto next = next_commit(history, sides)) {
        sides[*next] = truth[*next];
        if (tests != nullptr) ++*tests;
    }
    return suspects(history, sides);
}

TEST(Bisect, EveryCulpritOfALineIsFoundInTheLogarithmOfItsLength) {
    for (std::size_t n = 1; n <= 65; ++n) {
        for (std::size_t culprit = 0; culprit < n; ++culprit) {
            std::vector<Side> truth(n, Side::bad);
            for (std::size_t i = 0; i < culprit; ++i) truth[i] = Side::good;
            int tests = 0;
            EXPECT_THAT(search(straight(n), truth, &tests), ElementsAre(culprit)) << n;
            EXPECT_LE(tests, most_tests(n)) << n << " commits";
        }
    }
    EXPECT_EQ(most_tests(1), 0);
    EXPECT_EQ(most_tests(2), 1);
    EXPECT_EQ(most_tests(60), 6);
    EXPECT_EQ(most_tests(64), 6);
    EXPECT_EQ(most_tests(65), 7);
}

TEST(Bisect, AGoodCommitOfABranchExcludesOnlyWhatItContains) {
    const History history = merged();
    std::vector<Side> sides(7, Side::unknown);
    sides[4] = Side::good;
    EXPECT_THAT(suspects(history, sides), ElementsAre(2, 5, 6));
    sides[4] = Side::bad;
    EXPECT_THAT(suspects(history, sides), ElementsAre(0, 1, 3, 4));
    for (std::size_t culprit = 0; culprit < 7; ++culprit) {
        std::vector<Side> truth(7, Side::good);
        for (std::size_t i = 0; i < 7; ++i) {
            std::vector<Side> one(7, Side::unknown);
            one[i] = Side::bad;
            const auto line = suspects(history, one);
            if (std::find(line.begin(), line.end(), culprit) != line.end()) truth[i] = Side::bad;
        }
        EXPECT_THAT(search(history, truth), ElementsAre(culprit));
    }
}

TEST(Bisect, ASkippedCommitMovesTheSearchToItsNeighbour) {
    const History history = straight(9);
    std::vector<Side> sides(9, Side::unknown);
    EXPECT_EQ(next_commit(history, sides), 3U);
    sides[3] = Side::skipped;
    EXPECT_EQ(next_commit(history, sides), 4U);
    sides[4] = Side::open;
    EXPECT_EQ(next_commit(history, sides), 2U);
}

TEST(Bisect, WhereOnlyUntestedCommitsRemainAllOfThemAreSuspects) {
    std::vector<Side> truth = {Side::good,    Side::good, Side::skipped, Side::open,
                               Side::skipped, Side::bad,  Side::bad,     Side::bad};
    EXPECT_THAT(search(straight(8), truth), ElementsAre(2, 3, 4, 5));
    truth = {Side::skipped, Side::skipped, Side::skipped};
    EXPECT_THAT(search(straight(3), truth), ElementsAre(0, 1, 2));
}

Analysis answer(Verdict verdict, const std::string& reason, double low = 0, double high = 0) {
    Analysis analysis;
    analysis.verdict = verdict;
    analysis.reason = reason;
    analysis.effect = (low + high) / 2;
    analysis.interval = {.low = low, .high = high};
    analysis.pairs = 10;
    return analysis;
}

TEST(Bisect, TheClassFollowsFromWhichEndTheCommitDiffersFrom) {
    const Analysis differs = answer(Verdict::accept, "");
    const Analysis alike = answer(Verdict::reject, "no_worthwhile_gain");
    EXPECT_EQ(side_of(differs, End::good), Side::bad);
    EXPECT_EQ(side_of(alike, End::good), Side::good);
    EXPECT_EQ(side_of(differs, End::bad), Side::good);
    EXPECT_EQ(side_of(alike, End::bad), Side::bad);
    EXPECT_EQ(side_of(answer(Verdict::reject, "regression"), End::good), Side::good);
    for (const char* reason : {"wrong_output", "unstable", "guard_failed"}) {
        EXPECT_EQ(side_of(answer(Verdict::reject, reason), End::good), Side::skipped) << reason;
    }
    EXPECT_EQ(side_of(answer(Verdict::invalid, "build_failed"), End::good), Side::skipped);
    for (const char* reason : {"", "machine_too_noisy"}) {
        EXPECT_EQ(side_of(answer(Verdict::inconclusive, reason), End::good), Side::open) << reason;
    }
}

// What `git bisect run` is told: the claim of the file holds, is rejected, or nobody knows.
TEST(Bisect, AClaimHoldsIsRejectedOrCannotBeJudged) {
    Spec spec;
    spec.gates = {{.id = "speed", .role = Role::decides, .margin = 0.01}};
    const auto side = [&](Verdict verdict, const char* reason, double low, double high) {
        return side_of_claim(spec, answer(verdict, reason, low, high));
    };
    EXPECT_EQ(side(Verdict::accept, "", 0.01, 0.02), Side::good);
    for (const char* reason : {"regression", "no_worthwhile_gain", "guard_failed"}) {
        EXPECT_EQ(side(Verdict::reject, reason, -0.2, -0.1), Side::bad) << reason;
    }
    for (const char* reason : {"wrong_output", "unstable"}) {
        EXPECT_EQ(side(Verdict::reject, reason, 0.01, 0.02), Side::skipped) << reason;
    }
    EXPECT_EQ(side(Verdict::invalid, "build_failed", 0.1, 0.2), Side::skipped);
    EXPECT_EQ(side(Verdict::inconclusive, "", 0.01, 0.02), Side::skipped) << "no gain is shown";
    spec.gates[0].goal = Goal::equivalent;
    EXPECT_EQ(side(Verdict::inconclusive, "", 0.01, 0.05), Side::good) << "better is as good";
    EXPECT_EQ(side(Verdict::inconclusive, "", -0.02, 0.05), Side::skipped);
    EXPECT_EQ(side(Verdict::invalid, "", 0.01, 0.05), Side::skipped);
}

// Thresholds rest on what is proven, never on the estimate: an early stop makes that too large.
TEST(Bisect, ThresholdsLieBelowTheProvenBound) {
    const Thresholds asked{.floor = 0, .worth = 0.01};
    const Size early = size_of(answer(Verdict::accept, "", 0.01, 0.09), asked);
    EXPECT_NEAR(early.estimate, std::log(1.05), 1e-12);
    EXPECT_NEAR(early.proven, std::log(1.01), 1e-12);
    EXPECT_TRUE(needs_sizing(early));
    EXPECT_FALSE(needs_sizing(size_of(answer(Verdict::accept, "", 0.04, 0.06), asked)));

    const Thresholds half = sizing(early);
    const Size proven = sized(early, answer(Verdict::accept, "", 0.02, 0.06), half);
    EXPECT_NEAR(proven.proven, early.estimate / 2, 1e-12) << "its floor, by the rule's own alpha";
    const Size less =
        sized(early, answer(Verdict::reject, "no_worthwhile_gain", 0.015, 0.04), half);
    EXPECT_NEAR(less.proven, std::log(1.015), 1e-12);
    const Size open = sized(early, answer(Verdict::inconclusive, "", -0.01, 0.04), half);
    EXPECT_NEAR(open.proven, early.proven, 1e-12);

    for (const double bound : {0.002, 0.01, 0.1, 0.9, 3.0}) {
        const Thresholds one = thresholds({.estimate = 2 * bound, .proven = bound});
        EXPECT_LE(one.floor + one.worth, bound + 1e-12) << "a good commit must be above BAD";
        EXPECT_GT(one.floor, 0);
    }
    EXPECT_FALSE(usable(size_of(answer(Verdict::accept, "", -0.01, 0.09), asked)));
    EXPECT_FALSE(usable(size_of(answer(Verdict::reject, "regression", 0.1, 0.2), asked)));
    EXPECT_TRUE(usable(proven));
}

Record record_of(Verdict verdict, double low, double high) {
    Record record;
    record.id = "count-bisect-1a2b3c4d-ends-00000000";
    record.decided_at = "2026-11-21T10:00:00.000Z";
    record.analysis =
        answer(verdict, verdict == Verdict::reject ? "no_worthwhile_gain" : "", low, high);
    return record;
}

Found example() {
    Found found;
    found.id = "count-bisect-1a2b3c4d";
    found.file = "count";
    found.metric = "wall_seconds";
    found.good = "v1";
    found.bad = "v2";
    History history = straight(4);
    history[2].subject = "Use a | list <b>";
    found.good_commit = {.sha = "good", .tree = "", .subject = "Start", .parents = {}};
    found.bad_commit = history[3];
    found.path = "first-parent";
    found.commits = 4;
    found.size = {.estimate = 0.05, .proven = 0.04};
    found.steps = {
        step_of(record_of(Verdict::accept, 0.04, 0.06), "ends", history[3], "good", false),
        step_of(record_of(Verdict::reject, -0.01, 0.02), "good", history[1], "good", false),
        step_of(record_of(Verdict::accept, 0.03, 0.06), "good", history[2], "good", false),
        step_of(record_of(Verdict::accept, 0.03, 0.06), "parent", history[2], "sha1", false)};
    found.steps[0].side = found.steps[2].side = found.steps[3].side = Side::bad;
    found.steps[1].side = Side::good;
    found.outcome = Outcome::found;
    found.suspects = {history[2]};
    found.command = "steady bisect v1 v2 count";
    return found;
}

TEST(BisectReport, EffectsAreOfTheCommitWhicheverArmItWas) {
    const Record record = record_of(Verdict::accept, 0.25, 1.0);
    const Step b = step_of(record, "good", {}, "good", true);
    EXPECT_EQ(b.effect, record.analysis->effect);
    const Step a = step_of(record, "good", {}, "good", false);
    EXPECT_NEAR(*a.interval.low, -0.5, 1e-12);
    EXPECT_NEAR(*a.interval.high, -0.2, 1e-12);
}

TEST(BisectReport, TheEntryNamesTheCulpritAndEveryStep) {
    const Found found = example();
    EXPECT_EQ(exit_code(found), 0);
    EXPECT_EQ(entry_path(found), "journal/2026-11-21-count-bisect-1a2b3c4d.md");
    const std::string page = entry(found);
    for (const char* words :
         {"culprit: \"sha2\"", "bad side", "good side", "the ends differ", "confirmed",
          "Use a \\| list", "`steady bisect v1 v2 count`", "## Notes"}) {
        EXPECT_THAT(page, HasSubstr(words));
    }
    EXPECT_THAT(page, Not(HasSubstr("<b>"))) << "a commit's subject is text of others";
    EXPECT_EQ(page, entry(found));
    EXPECT_EQ(json(found).at("culprit").at("commit"), "sha2");
    EXPECT_EQ(json(found).at("tested"), 2);
}

TEST(BisectReport, WithoutConfirmationNoCulpritIsNamed) {
    Found found = example();
    found.outcome = Outcome::not_confirmed;
    EXPECT_EQ(exit_code(found), 11);
    EXPECT_TRUE(json(found).at("culprit").is_null());
    EXPECT_THAT(sentence(found), HasSubstr("no culprit is named"));
    EXPECT_THAT(entry(found), HasSubstr("culprit: null"));
    EXPECT_THAT(entry(found), HasSubstr("What is left open"));
}

TEST(BisectReport, EndsThatDoNotDifferHaveTheVerdictsOwnCode) {
    Found found = example();
    found.outcome = Outcome::ends_alike;
    found.suspects.clear();
    found.steps.resize(1);
    found.steps[0] =
        step_of(record_of(Verdict::reject, -0.01, 0.005), "ends", found.bad_commit, "good", false);
    EXPECT_EQ(exit_code(found), 10);
    EXPECT_THAT(sentence(found), HasSubstr("do not differ"));
    found.steps[0].verdict = "inconclusive";
    EXPECT_EQ(exit_code(found), 11);
    EXPECT_THAT(sentence(found), HasSubstr("stays open"));
    found.steps[0].verdict = "invalid";
    found.steps[0].sentence = "arm B does not build";
    EXPECT_EQ(exit_code(found), 12);
    EXPECT_THAT(sentence(found), HasSubstr("arm B does not build"));
}

}  // namespace
}  // namespace steady::bisect
