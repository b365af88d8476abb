// The checks of `steady journal --check`, each seen finding a planted violation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "runner/cli/journal_check.h"
#include "runner/storage/store.h"
#include "tests/runner/analysis_world.h"

namespace steady {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Record decided(Verdict verdict, const std::string& reason, double low, double high) {
    Record record;
    record.spec = plain_spec();
    record.spec.sha256 = std::string(64, 'a');
    record.id = "test-aaaaaaaa";
    record.question_sha = question_sha(record.spec);
    Analysis& analysis = record.analysis.emplace();
    analysis.verdict = verdict;
    analysis.reason = reason;
    analysis.interval = {low, high};
    return record;
}

std::string entry(const std::string& line) {
    return "# test: accept\n\n## Verdict\n\n" + line + "\n\nMore.\n";
}

TEST(JournalCheck, FindsARunWhoseNamesAreNotItsContents) {
    Record record = decided(Verdict::accept, "", 0.01, 0.02);
    EXPECT_EQ(identity_problem(record), "");
    record.question_sha[0] = record.question_sha[0] == '0' ? '1' : '0';
    EXPECT_THAT(identity_problem(record), HasSubstr("identity: test-aaaaaaaa stands at question"));
    record = decided(Verdict::accept, "", 0.01, 0.02);
    record.spec.sha256[0] = 'b';
    EXPECT_THAT(identity_problem(record), HasSubstr("is not the name of its specification"));
}

TEST(JournalCheck, FindsWordsThatTheNumbersDoNotCarry) {
    const Record gain = decided(Verdict::accept, "", 0.01, 0.02);
    EXPECT_EQ(words_problem(gain, entry("**accept.** B is faster: decode_tps +1.50 % over 9 pairs; "
                                        "at least +1.00 % with 95 % confidence.")),
              "");
    EXPECT_THAT(words_problem(gain, entry("**accept.** B is faster; at least +1.20 % with 95 %")),
                HasSubstr("words: the verdict line says \"at least\""));
    const Record none = decided(Verdict::reject, "no_worthwhile_gain", -0.02, 0.004);
    EXPECT_EQ(words_problem(none, entry("**reject.** No gain of 1 % or more was shown.")), "");
    for (const char* line : {"**reject.** B costs nothing.", "**reject.** B loses.",
                             "**reject.** B is faster.", "**reject.** B is slower."}) {
        EXPECT_THAT(words_problem(none, entry(line)), HasSubstr("words: ")) << line;
    }
    const Record loss = decided(Verdict::reject, "regression", -0.03, -0.01);
    EXPECT_EQ(words_problem(
                  loss, entry("**reject.** B is slower; −1.00 % or worse with 95 % confidence.")),
              "");
    EXPECT_THAT(words_problem(loss, entry("**reject.** B is slower; −2.00 % or worse with 95 %")),
                HasSubstr("the interval ends elsewhere"));
}

// An engine that prints what a stale table would print.
class Defaults : public ::testing::Test {
protected:
    void SetUp() override { std::filesystem::create_directories(journal_); }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    std::vector<std::string> problems(bool open, bool declared) {
        const std::filesystem::path engine = folder_ / "steady-engine";
        std::ofstream(engine) << "#!/bin/sh\ncat <<'END'\n{\"defaults\": [{\"op\": \"add\", "
                                 "\"variant\": \"avx2\", \"entry\": \"here\", \"code\": \"1\", "
                                 "\"code_measured\": \"2\", \"evidence\": \"open\", \"open\": "
                              << (open ? "true" : "false")
                              << ", \"declared_open\": " << (declared ? "true" : "false")
                              << "}]}\nEND\n";
        std::filesystem::permissions(engine, std::filesystem::perms::owner_all);
        return defaults_problems(engine.string(), journal_.string());
    }
    std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / ("defaults-" + std::to_string(::getpid()));
    std::filesystem::path journal_ = folder_ / "journal";
};

TEST_F(Defaults, AChangedDefaultIsFoundUnlessItIsDeclared) {
    std::ofstream(journal_ / "here.md") << "an entry\n";
    EXPECT_THAT(problems(false, false), IsEmpty());
    EXPECT_THAT(problems(true, true), IsEmpty());
    EXPECT_THAT(problems(true, false), Contains(HasSubstr("defaults: add avx2: open")));
    EXPECT_THAT(problems(false, true), Contains(HasSubstr("says otherwise")));
}

TEST_F(Defaults, AProjectOfOnesOwnNeedsNoEntriesOfThem) {
    EXPECT_THAT(problems(false, false), IsEmpty());
}

}  // namespace
}  // namespace steady
