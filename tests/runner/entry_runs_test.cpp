// What the runs of one question say together, and how an entry lists them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runner/entry/entry.h"
#include "runner/record/runs.h"
#include "tests/support/sample_record.h"

namespace steady {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Run run_on(const std::string& cpu_class, const std::string& verdict) {
    steady::Run run;
    run.published = run.id = "q-12345678-" + cpu_class;
    run.run_id = cpu_class + verdict;
    run.state = verdict.empty() ? "cancelled" : "done";
    run.verdict = verdict;
    run.cpu_class = cpu_class;
    run.decided_at = "2026-11-21T10:00:00Z";
    return run;
}

struct Case {
    std::vector<std::pair<const char*, const char*>> runs;  // class, verdict
    Agreement agreement;
    const char* text;
};

TEST(Runs, TheSummarySaysWhatTheVerdictsSayTogether) {
    const std::vector<Case> cases = {
        {{}, Agreement::undecided, "no verdict that answers"},
        {{{"amd-25-avx2", "accept"}}, Agreement::never_repeated, "never repeated"},
        {{{"amd-25-avx2", "inconclusive"}, {"intel-6-amx", "invalid"}},
         Agreement::undecided,
         "no verdict that answers"},
        {{{"amd-25-avx2", "reject"}, {"amd-25-avx2", "inconclusive"}, {"intel-6-amx", ""}},
         Agreement::never_repeated,
         "never repeated; 2 runs without an answer"},
        {{{"amd-25-avx2", "accept"}, {"amd-25-avx2", "accept"}},
         Agreement::agrees,
         "agrees (2 runs, 1 class)"},
        {{{"amd-25-avx2", "reject"}, {"intel-6-amx", "reject"}, {"intel-6-amx", "reject"}},
         Agreement::agrees,
         "agrees (3 runs, 2 classes)"},
        {{{"amd-25-avx2", "accept"}, {"intel-6-amx", "reject"}, {"amd-25-avx2", "accept"}},
         Agreement::differs_by_class,
         "differs by CPU class: 2 accepts on amd-25-avx2, 1 reject on intel-6-amx"},
        {{{"amd-25-avx2", "accept"}, {"intel-6-amx", "accept"}, {"intel-6-amx", "reject"}},
         Agreement::differs_on_one_class,
         "differs on one class: 1 accept and 1 reject on intel-6-amx"},
        // From before families were stored: the one class that fits.
        {{{"intel-amx", "accept"}, {"intel-6-amx", "accept"}},
         Agreement::agrees,
         "agrees (2 runs, 1 class)"},
        {{{"amd-avx2", "accept"}, {"amd-23-avx2", "accept"}, {"amd-25-avx2", "accept"}},
         Agreement::agrees,
         "agrees (3 runs, 3 classes)"},
        {{{"intel-amx", "accept"}, {"intel-6-avx512_vnni", "accept"}},
         Agreement::agrees,
         "agrees (2 runs, 2 classes)"},
    };
    for (const Case& one : cases) {
        std::vector<steady::Run> runs;
        for (const auto& [cpu_class, verdict] : one.runs)
            runs.push_back(run_on(cpu_class, verdict));
        std::sort(runs.begin(), runs.end(),
                  [](const steady::Run& x, const steady::Run& y) { return x.run_id < y.run_id; });
        do {
            const RunsSummary summary = summary_of(runs);
            EXPECT_EQ(summary.agreement, one.agreement) << one.text;
            EXPECT_EQ(summary.text, one.text);
        } while (std::next_permutation(
            runs.begin(), runs.end(),
            [](const steady::Run& x, const steady::Run& y) { return x.run_id < y.run_id; }));
    }
}

TEST(Runs, AGpuIsAClassOfItsOwn) {
    steady::Run one = run_on("intel-6-amx", "accept"), two = one;
    two.gpu = gpu_name("cuda:1", {{"gpu0_name", "first"}, {"gpu1_name", "NVIDIA H200"}});
    EXPECT_EQ(machine_class(two), "NVIDIA H200");
    EXPECT_EQ(summary_of({one, two}).classes, 2);
    EXPECT_EQ(gpu_name("cpu", {{"gpu0_name", "first"}}), "");
    EXPECT_EQ(gpu_name("cuda", {{"gpu0_name", "first"}}), "first");
    EXPECT_EQ(gpu_name("cuda:7", {}), "");
}

TEST(Runs, TheDocumentHoldsEveryRunAndTheSummary) {
    const nlohmann::json document =
        runs_json({run_on("amd-25-avx2", "accept"), run_on("intel-6-amx", "")});
    EXPECT_EQ(document.at("agreement"), "never_repeated");
    EXPECT_EQ(document.at("count"), 2);
    EXPECT_EQ(document.at("runs").at(0).at("class"), "amd-25-avx2");
    EXPECT_EQ(document.at("runs").at(1).at("verdict"), nullptr);
}

TEST(Runs, AnEntryListsThemOnlyWhenThereAreSeveral) {
    Record record = accepted_record();
    record.run_id = "0000000000000001";
    const std::string alone = render(record);
    EXPECT_THAT(alone, Not(HasSubstr("Runs of this question")));
    steady::Run own = run_on("intel-6-amx", "accept"), other = run_on("amd-25-avx2", "reject");
    own.run_id = record.run_id;
    other.cpu = "<b>EPYC</b>";
    record.runs = {own};
    EXPECT_EQ(render(record), alone);
    record.runs = {other, own};
    const std::string both = render(record);
    EXPECT_THAT(both, HasSubstr("2 runs: differs by CPU class"));
    EXPECT_THAT(both, HasSubstr("| this run | accept |"));
    EXPECT_THAT(both, HasSubstr("(2026-11-21-q-12345678-amd-25-avx2.md)"));
    EXPECT_THAT(both, Not(HasSubstr("<b>")));

    other.published = own.published;  // on one day: there is no second page of that name
    record.runs = {other, own};
    EXPECT_THAT(render(record), HasSubstr(fmt::format("run `{}`", other.run_id.substr(0, 8))));
    EXPECT_THAT(render(record), Not(HasSubstr("(2026-11-21-q-12345678")));
}

// The same verdict twice is no agreement about how much.
TEST(Runs, IntervalsThatDoNotOverlapAreTold) {
    steady::Run one;
    one.verdict = "accept";
    one.metric = "wall_seconds";
    one.cpu_class = "intel-6-amx";
    one.interval = {0.59, 0.73};
    steady::Run other = one;
    other.interval = {0.70, 2.0};
    EXPECT_EQ(summary_of({one, other}).text, "agrees (2 runs, 1 class)");
    other.interval = {1.55, 2.0};
    EXPECT_EQ(summary_of({other, one}).text,
              "agrees (2 runs, 1 class); the sizes differ: +59.0 to +73.0 % and +155.0 to +200.0 % "
              "do not overlap");
    other.cpu_class = "amd-26-avx512_vnni";
    EXPECT_EQ(summary_of({one, other}).text, "agrees (2 runs, 2 classes)");
}

TEST(Runs, AnEntryOfAnotherRunIsToldFromItsOwn) {
    Record record = accepted_record();
    const std::string text = render(record);
    EXPECT_TRUE(is_entry_of(record, text));
    EXPECT_TRUE(is_entry_of(record, "# From before entries had a head\n"));
    record.decided_at.back() = '1';
    EXPECT_FALSE(is_entry_of(record, text));
}

TEST(Runs, ARunThatEndedWithoutAVerdictHasAShortEntry) {
    Record record = running_record();
    EXPECT_FALSE(has_entry(record));
    EXPECT_ANY_THROW(render(record));
    record.state = "cancelled";
    record.note = "cancelled by <b>kim</b>";
    record.decided_at = "";
    record.attempts.back().ended = "2026-11-22T08:00:00.000Z";
    record.attempts.back().how = "cancelled";
    EXPECT_TRUE(has_entry(record));
    EXPECT_EQ(entry_path(record), "journal/2026-11-22-" + record.id + ".md");
    const std::string text = render(record);
    for (const char* part :
         {"verdict: cancelled\n", "without a verdict", "## Question", "## How it ended",
          "They decide nothing", "## Earlier attempts", "## Notes"}) {
        EXPECT_THAT(text, HasSubstr(part));
    }
    for (const char* part : {"## Gates", "## Pairs", "<b>", "effect: 0"}) {
        EXPECT_THAT(text, Not(HasSubstr(part)));
    }
    EXPECT_TRUE(check_entry(text, record).empty());
    EXPECT_TRUE(is_entry_of(record, text));
}

TEST(Runs, AnEntryListsEarlierSubmissionsWhetherTheyCountOrNot) {
    Record record = accepted_record();
    record.rerun = 0;
    record.earlier = {};
    record.submitted_before = {};
    EXPECT_THAT(render(record), HasSubstr("None on this question."));
    record.submitted_before = {"asked-before-11111111", "asked-before-22222222"};
    const std::string none = render(record);
    EXPECT_THAT(none, HasSubstr("submitted before:\n\n- `asked-before-11111111`\n"));
    EXPECT_THAT(none, HasSubstr("None is carried over."));
    EXPECT_THAT(none, Not(HasSubstr("None on this question.")));
    record.earlier = {"asked-before-22222222"};
    const std::string one = render(record);
    EXPECT_THAT(one, HasSubstr("## Earlier attempts\n\n- `asked-before-22222222`\n"));
    EXPECT_THAT(one, HasSubstr("not carried over:\n\n- `asked-before-11111111`\n"));
}

}  // namespace
}  // namespace steady
