// The sentences of verdicts: the table in runner/statistics/README.md is what the code says, and no
// sentence claims more than its interval carries.
#include <gmock/gmock.h>

#include "runner/judge/analysis_text.h"
#include "runner/judge/outcome_text.h"
#include "tests/runner/analysis_world.h"
#include "tests/runner/spec_files.h"

namespace steady {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Analysis outcome(Verdict verdict, const std::string& reason, double effect, double low,
                 double high) {
    Analysis analysis;
    analysis.verdict = verdict;
    analysis.reason = reason;
    analysis.metric = "decode_tps";
    analysis.pairs = 20;
    analysis.effect = effect;
    analysis.interval = {low, high};
    return analysis;
}

struct Row {
    Verdict verdict;
    const char* reason;
    double effect, low, high;
    const char* why = "early_e";
};

constexpr Row kRows[] = {
    {Verdict::accept, "", 0.021, 0.012, 0.030},
    {Verdict::accept, "", 0.021, 0.002, 0.040},
    {Verdict::accept, "", 0.021, -0.003, 0.045, "interim"},
    {Verdict::accept, "shown_equivalent", -0.0024, -0.008, 0.004},
    {Verdict::reject, "no_worthwhile_gain", -0.0033, -0.0206, 0.008},
    {Verdict::reject, "regression", -0.0528, -0.0781, -0.0269},
    {Verdict::reject, "wrong_output", 0, 0, 0},
    {Verdict::reject, "unstable", 0, 0, 0},
    {Verdict::reject, "guard_failed", 0.021, 0.012, 0.030},
    {Verdict::inconclusive, "machine_too_noisy", 0, 0, 0},
    {Verdict::inconclusive, "micro_only", 0, 0, 0},
    {Verdict::inconclusive, "", 0.004, -0.011, 0.019},
    {Verdict::invalid, "undeclared_difference", 0, 0, 0},
};

// As judged: the stored sentence first, then what is shown of it.
std::string sentence_of(const Row& row) {
    Spec spec = plain_spec();
    spec.gates.back().margin = 0.01;
    Analysis analysis = outcome(row.verdict, row.reason, row.effect, row.low, row.high);
    analysis.sigma_d = 0.01;
    analysis.why = row.why;
    if (row.effect == 0) {
        analysis.effect.reset();
        analysis.pairs = 0;
    }
    const bool details = row.verdict == Verdict::invalid || analysis.reason == "wrong_output" ||
                         analysis.reason == "unstable" || analysis.reason == "guard_failed" ||
                         analysis.reason == "machine_too_noisy";
    analysis.sentence = verdict_sentence(spec, analysis, details ? "what was found" : "");
    return outcome_sentence(spec, analysis);
}

TEST(AnalysisOutcome, TheGuidesTableIsWhatTheCodeSays) {
    const std::string guide =
        read_file(std::string(STEADY_SOURCE_DIR) + "/runner/statistics/README.md");
    for (const Row& row : kRows) {
        const std::string reason = row.reason;
        const std::string line = std::string("| ") + name(row.verdict) +
                                 (reason.empty() ? "" : " / " + reason) + " | " + sentence_of(row) +
                                 " |";
        EXPECT_THAT(guide, HasSubstr(line));
    }
}

TEST(AnalysisOutcome, OnlyWhatTheIntervalExcludesIsClaimed) {
    const Spec spec = plain_spec();
    const auto said = [&](Verdict verdict, const char* reason, double low, double high) {
        return outcome_sentence(spec, outcome(verdict, reason, (low + high) / 2, low, high));
    };
    EXPECT_THAT(said(Verdict::accept, "", 0.002, 0.03), HasSubstr("at least +0.20 % with 95 %"));
    EXPECT_THAT(said(Verdict::accept, "", -0.001, 0.03), Not(HasSubstr("at least")));
    Analysis at_look = outcome(Verdict::accept, "", 0.01, 0.002, 0.03);
    at_look.why = "interim";
    EXPECT_THAT(outcome_sentence(spec, at_look), Not(HasSubstr("exact test")));
    at_look.interval.low = -0.001;
    EXPECT_THAT(outcome_sentence(spec, at_look), HasSubstr("not by the interval"));
    EXPECT_THAT(said(Verdict::accept, "", 0.002, 0.03),
                HasSubstr("a gain of 1 % or more was not shown"));
    EXPECT_THAT(said(Verdict::accept, "", 0.0101, 0.03), Not(HasSubstr("was not shown")));
    Analysis guarded = outcome(Verdict::inconclusive, "", 0.03, 0.02, 0.04);
    guarded.sentence =
        "No decision: it is faster; a guard is open; an effect of this size needs about 10 pairs.";
    EXPECT_EQ(outcome_sentence(spec, guarded), guarded.sentence);
    guarded.why = "guard_open";
    EXPECT_EQ(outcome_sentence(spec, guarded), "No decision: it is faster; a guard is open.");
    Spec equal = spec;
    for (Gate& gate : equal.gates) {
        gate.goal = Goal::equivalent;
        gate.margin = 0.02;
    }
    EXPECT_THAT(outcome_sentence(equal, guarded),
                AllOf(HasSubstr("differ by less than 2 % is shown"), HasSubstr("a guard"),
                      Not(HasSubstr("faster"))));
    EXPECT_THAT(said(Verdict::reject, "regression", -0.03, 0.001), Not(HasSubstr("or worse")));
    EXPECT_THAT(said(Verdict::reject, "no_worthwhile_gain", -0.03, 0.008),
                HasSubstr("No gain of 1 % or more was shown"));
}

}  // namespace
}  // namespace steady
