// steady-kernels as a program: exit codes, one JSON document, helpful complaints, and the refusal
// to time what fails its check. Runs the tool's body in this process, linked with broken variants.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kernels/base/cpu.h"
#include "kernels/tool/verbs.h"

namespace steady::tool {
namespace {

struct Ran {
    int code = 0;
    std::string out, err;
};

Ran run(const std::vector<std::string>& arguments) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Ran ran;
    ran.code = run_tool(arguments);
    std::fflush(nullptr);
    ran.out = testing::internal::GetCapturedStdout();
    ran.err = testing::internal::GetCapturedStderr();
    cpu::mask(cpu::none);
    return ran;
}

TEST(Tool, ComplaintsNameTheChoicesAndExitWithTwo) {
    const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
        {{}, "verb"},
        {{"benhc"}, "did you mean 'bench'"},
        {{"check", "--opp", "add"}, "did you mean '--op'"},
        {{"check", "--op", "q4_0_matvce"}, "did you mean 'q4_0_matvec'"},
        {{"check", "--op", "add", "--variant", "referenc"}, "did you mean 'reference'"},
        {{"check", "--op", "add", "--shape", "m=3"}, "names n"},
        {{"check", "--shape", "n=3"}, "needs --op"},
        {{"check", "--seed", "x"}, "number"},
        {{"check", "--without", "avx513"}, "avx512"},
        {{"duet", "--op", "add"}, "--coins"},
        {{"duet", "--op", "add", "--a", "reference", "--b", "reference", "--shape", "n=64",
          "--coins", "012"},
         "only 0"},
    };
    for (const auto& [arguments, expected] : cases) {
        const Ran ran = run(arguments);
        EXPECT_EQ(ran.code, 2) << expected;
        EXPECT_NE(ran.err.find(expected), std::string::npos) << ran.err;
        EXPECT_EQ(ran.out, "");
    }
}

TEST(Tool, ListsEveryOp) {
    const Ran ran = run({"list", "--json"});
    EXPECT_EQ(ran.code, 0);
    const auto document = nlohmann::json::parse(ran.out);
    EXPECT_GE(document["ops"].size(), 15U);
}

TEST(Tool, ACheckThatFailsExitsWithOne) {
    const Ran good = run({"check", "--op", "add", "--json"});
    EXPECT_EQ(good.code, 0);
    EXPECT_EQ(nlohmann::json::parse(good.out)["failed"], 0);
    const Ran bad = run({"check", "--op", "q4_0_matvec", "--variant", "broken_lost_row", "--shape",
                         "rows=64,cols=64", "--json"});
    EXPECT_EQ(bad.code, 1);
    EXPECT_EQ(nlohmann::json::parse(bad.out)["failed"], 1);
}

TEST(Tool, BenchRefusesToTimeWhatFails) {
    const Ran ran =
        run({"bench", "--op", "q4_0_matvec", "--variant", "broken_ulp", "--shape",
             "rows=64,cols=64", "--warm", "--repetitions", "2", "--seconds", "0.001", "--json"});
    EXPECT_EQ(ran.code, 1);
    const auto results = nlohmann::json::parse(ran.out)["results"];
    ASSERT_EQ(results.size(), 2U);
    EXPECT_GT(results[0]["latency_ns_median"], 0);  // the reference, for the ratio
    EXPECT_NE(results[1]["refused"].get<std::string>().find("bound"), std::string::npos);
    EXPECT_FALSE(results[1].contains("latency_ns_median"));
}

TEST(Tool, DuetGivesEachCallOfBothSidesWarmUpIncluded) {
    const Ran ran =
        run({"duet", "--op", "rms_norm", "--a", "reference", "--b", "reference", "--shape", "n=512",
             "--coins", "0110", "--chunk", "3", "--warmup", "3", "--json"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    const auto document = nlohmann::json::parse(ran.out);
    EXPECT_EQ(document["a_ns"].size(), 12U);
    EXPECT_EQ(document["b_ns"].size(), 12U);
    EXPECT_EQ(document["warmup"], 3);
    EXPECT_EQ(document["shape"], "n=512");
    EXPECT_GT(document["bytes"], 0);
}

TEST(Tool, DuetRefusesWhatFailsItsCheck) {
    const Ran ran = run({"duet", "--op", "q4_0_matvec", "--a", "reference", "--b",
                         "broken_lost_row", "--shape", "rows=64,cols=64", "--coins", "0101"});
    EXPECT_EQ(ran.code, 1);
    EXPECT_NE(ran.err.find("fails its check"), std::string::npos) << ran.err;
}

TEST(Tool, AForcedVariantThatCannotRunIsAnError) {
    const Ran ran =
        run({"duet", "--op", "q4_0_matvec", "--a", "reference", "--b", "avx512_vnni_rows16",
             "--shape", "rows=64,cols=64", "--coins", "0101", "--without", "avx512"});
    EXPECT_EQ(ran.code, 2);
    EXPECT_NE(ran.err.find("this CPU lacks"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace steady::tool
