// `show` and `report`: verdict first, aligned, safe on a terminal and in a pull request.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "runner/entry/report.h"
#include "tests/support/sample_record.h"

namespace steady {
namespace {

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

TEST(EntryReport, ShowBeginsWithTheVerdict) {
    EXPECT_EQ(first_line(show_text(accepted_record())), "ACCEPT  " + accepted_record().id);
    EXPECT_EQ(first_line(show_text(rejected_record())),
              "REJECT / REGRESSION  " + rejected_record().id);
    EXPECT_EQ(first_line(show_text(wrong_output_record())),
              "REJECT / WRONG_OUTPUT  " + wrong_output_record().id);
    EXPECT_EQ(first_line(show_text(running_record())), "RUNNING  " + running_record().id);
    if (const char* folder = std::getenv("STEADY_FIGURE_DIR")) {
        std::ofstream out(std::string(folder) + "/show.txt");
        for (const Record& record :
             {accepted_record(), rejected_record(), wrong_output_record(), running_record()}) {
            out << show_text(record, {.color = false, .pairs = true}) << "\n-----\n";
        }
        std::ofstream(std::string(folder) + "/report.md") << report_markdown(
            {accepted_record(), rejected_record(), wrong_output_record(), running_record()});
        out << report_text({accepted_record(), rejected_record(), running_record()});
    }
}

TEST(EntryReport, ShowHoldsNumberGatesAndNextStep) {
    const std::string text = show_text(accepted_record());
    for (const char* part : {"▲ +3.01 % [+2.56, +3.38]", "17 pairs, 1 discarded, 2m 19s",
                             "kernels.q4_0_experts: avx512_vnni → avx512_vnni_fused",
                             "inside the range", "token_ns_p90", "drift flag", "steady rerun",
                             "journal/2026-11-21-", "Tried before: 1 time"}) {
        EXPECT_TRUE(contains(text, part)) << part << "\n" << text;
    }
    EXPECT_FALSE(contains(text, "\x1b"));
    EXPECT_TRUE(contains(show_text(accepted_record(), {.color = true}), "\x1b[1;32mACCEPT"));
}

// More pairs do not help on a machine that is too noisy: the steps that do are named.
TEST(EntryReport, ATooNoisyMachineNeedsNoMorePairs) {
    Record record = accepted_record();
    record.analysis->verdict = Verdict::inconclusive;
    record.analysis->sigma_d = 0.02;
    record.analysis->reason = "cap_reached";
    EXPECT_TRUE(contains(show_text(record), "raise schedule.pairs.max"));
    record.analysis->reason = "machine_too_noisy";
    const std::string text = show_text(record);
    EXPECT_FALSE(contains(text, "raise schedule.pairs.max")) << text;
    EXPECT_TRUE(contains(text, "repeat when the machine is quieter")) << text;
    EXPECT_TRUE(contains(text, "an effect of the measured size, +3.01 %, needs about")) << text;
    EXPECT_FALSE(contains(text, "cpu_seconds")) << text;
    const int threads = record.spec.subject.threads;
    record.attempts.back().fingerprint["cpus"] = std::to_string(threads);
    EXPECT_FALSE(contains(show_text(record), "bound to CPUs"));
    record.attempts.back().fingerprint["cpus"] = std::to_string(8 * threads);
    EXPECT_TRUE(contains(show_text(record), "threads bound to CPUs (engine_flags.pin on"));
    Record on_gpu = record;
    on_gpu.spec.arms.at("B").engine_flags["device"] = "cuda:0";
    EXPECT_FALSE(contains(show_text(on_gpu), "bound to CPUs"));
    for (auto& [name, arm] : record.spec.arms) arm.engine_flags["pin"] = "on";
    EXPECT_FALSE(contains(show_text(record), "bound to CPUs"));
    record.spec.subject.program = "outside";
    record.spec.schedule.mode = Mode::process_pairs;
    record.analysis->metric = "wall_seconds";
    EXPECT_TRUE(contains(show_text(record), "or compare cpu_seconds"));
    record.spec.schedule.mode = Mode::lockstep;  // turns of one process
    EXPECT_FALSE(contains(show_text(record), "cpu_seconds"));
}

TEST(EntryReport, APredictionWithoutADecisionIsNotCalledUnmeasured) {
    Record record = accepted_record();
    record.analysis->prediction = "no_answer";
    const std::string text = show_text(record);
    EXPECT_TRUE(contains(text, "without a decision it is not scored")) << text;
    EXPECT_FALSE(contains(text, "no effect was measured")) << text;
}

// Evidence carried over can accept after few pairs, which have no interval of their own.
TEST(EntryReport, AnAcceptWithoutAnIntervalNamesTheAttemptsThatCount) {
    Record record = accepted_record();
    record.analysis->interval = {};
    record.analysis->pairs = 3;
    record.evidence.prior.emplace().attempts = {"my-idea-0123abcd"};
    const std::string text = show_text(record);
    EXPECT_TRUE(contains(text, "the evidence of my-idea-0123abcd is counted, too")) << text;
    EXPECT_FALSE(contains(text, "between −∞")) << text;
}

TEST(EntryReport, RunningShowsThePairsSoFar) {
    Record record = running_record();
    const auto block = std::find_if(record.spec.gates.begin(), record.spec.gates.end(),
                                    [](const Gate& gate) { return gate.level != Level::model; });
    ASSERT_NE(block, record.spec.gates.end());
    record.pairs.push_back(record.pairs.back());  // one of another gate, which is not counted
    record.pairs.back().gate = static_cast<int>(block - record.spec.gates.begin());
    const std::string text = show_text(record, {.color = false, .pairs = true});
    EXPECT_TRUE(contains(text, "3 pairs of at most 50 so far"));
    EXPECT_TRUE(contains(text, "pending"));
    EXPECT_TRUE(contains(text, "Next: steady show"));
    EXPECT_TRUE(contains(text, "tok/s"));
}

TEST(EntryReport, PairsNameWhatWasDiscarded) {
    const std::string text = pairs_text(accepted_record());
    EXPECT_TRUE(contains(text, "discarded: steal 3.1 % in the window"));
    Record empty = wrong_output_record();
    EXPECT_EQ(pairs_text(empty), "no pair is complete\n");
}

TEST(EntryReport, ContradictionIsSaid) {
    Record record = rejected_record();
    record.analysis->contradiction = "micro +42.0 %, model −2.4 %";
    EXPECT_TRUE(contains(show_text(record), "micro +42.0 %, model −2.4 %"));
}

TEST(EntryReport, MarkdownHasOneRowPerRecordAndFoldsTheRest) {
    const std::string text =
        report_markdown({accepted_record(), rejected_record(), running_record()});
    EXPECT_TRUE(contains(text, "| ✅ | experts-fused-vnni | **accept** | `decode_tps` |"));
    EXPECT_TRUE(contains(text, "**reject / regression**"));
    EXPECT_TRUE(contains(text, "decode failed; tail open; first open"));
    EXPECT_TRUE(contains(text, "<details><summary>"));
}

TEST(EntryReport, HostileTextIsInert) {
    const Record record = hostile_record("s3cr3t-canary-value");
    for (const std::string& text : {show_text(record, {.color = false, .pairs = true}),
                                    report_text({record}), report_markdown({record})}) {
        EXPECT_FALSE(contains(text, "s3cr3t-canary-value"));
        EXPECT_FALSE(contains(text, "\x1b"));
        EXPECT_FALSE(contains(text, "\xe2\x80\xae"));
    }
    const std::string markdown = report_markdown({record});
    EXPECT_FALSE(contains(markdown, "<script"));
    for (std::size_t at = markdown.find("]("); at != std::string::npos;
         at = markdown.find("](", at + 1)) {
        EXPECT_EQ(markdown[at - 1], '\\') << "a link: " << markdown.substr(at, 40);
    }
}

}  // namespace
}  // namespace steady
