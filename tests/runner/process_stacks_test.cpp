// Call stacks of a real program by the real perf: the function that the change made cheaper is
// found, and what cannot be sampled says why.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "runner/platform/files.h"
#include "runner/programs/command/sampled_stacks.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class SampledStacks : public ::testing::Test {
protected:
    fs::path folder;

    void SetUp() override {
        if (std::system("perf record -q -e cpu-clock -o /dev/null -- true >/dev/null 2>&1") != 0)
            GTEST_SKIP() << "perf cannot sample here (apt-get install linux-perf)";
        folder = fs::temp_directory_path() / ("steady-stacks-" + random_hex(6));
        fs::create_directories(folder);
        std::ofstream(folder / "two.c") << R"(#include <stdlib.h>
#define APART __attribute__((noinline))
static volatile unsigned long sum;
APART void scan(long n) { for (long i = 0; i < n; ++i) sum += (unsigned long)i; }
APART void parse(long n) { for (long i = 0; i < n; ++i) sum += (unsigned long)i; }
int main(int argc, char** argv) {
    const long units = argc > 1 ? atol(argv[1]) : 0;
    if (units < 0) return 3;
    for (int turn = 0; turn < 600; ++turn) {
        scan(units * 1000);
        parse(600000);
    }
    return 0;
}
)";
        const std::string path = (folder / "two").string();
        const std::string make = "cc -O1 -g -fno-omit-frame-pointer -o " + path + " " + path + ".c";
        ASSERT_EQ(std::system(make.c_str()), 0);
    }
    void TearDown() override { fs::remove_all(folder); }

    StackProfile sampled(const std::string& unwinding, const std::string& a, const std::string& b) {
        return sampled_stacks({.unwinding = unwinding, .line = [&](const std::string& arm) {
                                   return CommandLine{.argv = {"./two", arm == "A" ? a : b},
                                                      .env = {},
                                                      .directory = folder.string()};
                               }});
    }
};

TEST_F(SampledStacks, TheFunctionThatTheChangeMadeCheaperIsFound) {
    for (const char* unwinding : {"frame_pointers", "dwarf"}) {
        const StackProfile profile = sampled(unwinding, "1000", "200");
        ASSERT_EQ(profile.problem, "") << unwinding;
        EXPECT_EQ(profile.unwinding, unwinding);
        // A leaf keeps no frame pointer of its own, so its caller is lost without debug
        // information.
        const std::string whole = std::string(unwinding) == "dwarf" ? ";main;scan " : ";scan ";
        EXPECT_THAT(profile.arms.at("A").folded, HasSubstr(whole)) << unwinding;
        std::map<std::string, FlameFunction> of;
        for (const FlameFunction& one : flame_graph(profile).functions) of[one.name] = one;
        EXPECT_LT(of.at("scan").high_ns, 0) << "a fifth of the work, " << unwinding;
        // Beside the other function of the same runs: the machine may be twice as slow in others.
        EXPECT_GT(of.at("scan").a_ns / of.at("parse").a_ns,
                  3 * of.at("scan").b_ns / of.at("parse").b_ns)
            << unwinding;
    }
}

TEST_F(SampledStacks, WhatCannotBeSampledSaysWhy) {
    const StackProfile failed = sampled("frame_pointers", "1", "-1");
    EXPECT_THAT(failed.problem, HasSubstr("perf record of arm B: exit code 3"));
    EXPECT_TRUE(failed.arms.empty());
}

}  // namespace
}  // namespace steady
