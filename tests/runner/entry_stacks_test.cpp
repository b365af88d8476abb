// Sampled stacks: what perf prints is folded, bounded, read back and compared; nothing that a
// program names its functions can change the form.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "kernels/base/error.h"
#include "runner/record/stacks.h"

namespace steady {
namespace {

using ::testing::HasSubstr;

// As perf 6.1 prints them.
constexpr const char* kScript =
    "perf-exec \n"
    "\tffffffff8225fd19 pvm_irq_enable ([kernel.kallsyms])\n"
    "\n"
    "bench \n"
    "\tffffffff8225a6c1 do_syscall_64 ([kernel.kallsyms])\n"
    "\t           20ca3 mmap64 (/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2)\n"
    "\t            1149 main (/home/bench)\n"
    "\n"
    "bench \n"
    "\t            1160 std::less<int, long>::operator()(int) const (/home/the bench)\n"
    "\t            1149 main (/home/the bench)\n"
    "\n"
    "bench \n"
    "\t            1160 std::less<int, long>::operator()(int) const (/home/the bench)\n"
    "\t            1149 main (/home/the bench)\n"
    "\n"
    "bench \n"
    "\t    7f0000001160 [unknown] (/usr/lib/libz.so.1.2.13)\n"
    "\n";

TEST(Stacks, WhatPerfPrintsIsFolded) {
    Stacks stacks;
    add_perf_script(kScript, stacks);
    const Stacks expected = {{"bench;main;mmap64;do_syscall_64 [kernel]", 1},
                             {"bench;main;std::less<int, long>::operator()(int) const", 2},
                             {"bench;[libz.so.1.2.13]", 1}};
    EXPECT_EQ(stacks, expected);
    add_perf_script("bench \n\t 1149 main (/home/bench)\n", stacks);
    EXPECT_EQ(stacks.at("bench;main"), 1) << "a last sample without an empty line";
    Stacks lost;
    add_perf_script("b\n\t1 f (x)\n\t2 [unknown] ([unknown])\n\t3 [unknown] ([unknown])\n", lost);
    EXPECT_EQ(lost, (Stacks{{"b;[unknown];f", 1}}));
}

TEST(Stacks, AnotherTextIsRefused) {
    for (const char* text :
         {"bench \n\tno frame\n", "bench \n\t12zz main (x)\n", "b\n\t1149 main\n"}) {
        Stacks stacks;
        EXPECT_THROW(add_perf_script(text, stacks), Error) << text;
    }
    for (const char* text : {"main\n", "main -1\n", "main 0\n", "main 1x\n", " 3\n"})
        EXPECT_THROW(unfolded(text), Error) << text;
    EXPECT_THROW(unfolded(std::string(301, ';') + " 1\n"), Error);
}

TEST(Stacks, NamesCannotChangeTheForm) {
    Stacks stacks;
    add_perf_script("a;b\x1b[31m \n\t1149 f;g\xff (x)\n", stacks);
    ASSERT_EQ(stacks.size(), 1U);
    EXPECT_EQ(stacks.begin()->first, R"(a:b\x1b[31m;f:g\xff)");
    EXPECT_EQ(unfolded(folded(stacks, 1).folded), stacks);
    Stacks long_name;
    add_perf_script("a\n\t1149 " + std::string(5000, 'x') + " (x)\n", long_name);
    EXPECT_LT(long_name.begin()->first.size(), 200U);
}

TEST(Stacks, WhatIsTooLargeLosesItsRarestStacks) {
    Stacks stacks;
    for (int i = 0; i < 1000; ++i) stacks["process;main;function_" + std::to_string(i)] = 1 + i;
    const ArmStacks all = folded(stacks, 3);
    EXPECT_EQ(all.samples, 500500);
    EXPECT_EQ(all.left_out, 0);
    const ArmStacks some = folded(stacks, 3, 4000);
    EXPECT_LE(some.folded.size(), 4000U);
    EXPECT_GT(some.folded.size(), 3900U);
    EXPECT_EQ(some.samples, 500500);
    std::int64_t kept = 0;
    for (const auto& [stack, samples] : unfolded(some.folded)) kept += samples;
    EXPECT_EQ(kept + some.left_out, 500500);
    EXPECT_THAT(some.folded, HasSubstr("function_999 1000\n"));
    EXPECT_THAT(some.folded, ::testing::Not(HasSubstr("function_1 ")));
}

StackProfile profile_of(const Stacks& a, int runs_a, const Stacks& b, int runs_b) {
    StackProfile out{.unwinding = "dwarf", .hz = 1000};
    out.arms = {{"A", folded(a, runs_a)}, {"B", folded(b, runs_b)}};
    return out;
}

const FlameFrame* frame(const FlameGraph& graph, const std::string& name) {
    for (const FlameFrame& one : graph.frames)
        if (one.name == name) return &one;
    return nullptr;
}

TEST(Flame, TimesAreOfOneRunAndOnlyRealDifferencesAreMarked) {
    // 1,000 Hz: a sample is a millisecond. B ran twice, so its counts are halved.
    const FlameGraph graph = flame_graph(profile_of(
        {{"old;main;scan", 500}, {"old;main;parse", 300}, {"old;main;gone", 100}}, 1,
        {{"new;main;scan", 400}, {"new;main;parse", 620}, {"new;main;parse;fresh", 60}}, 2));
    EXPECT_DOUBLE_EQ(graph.a_ns, 900e6);
    EXPECT_DOUBLE_EQ(graph.b_ns, 540e6);
    ASSERT_NE(frame(graph, "main"), nullptr);
    EXPECT_EQ(frame(graph, "old"), nullptr) << "the processes' names differ and say nothing";
    EXPECT_DOUBLE_EQ(frame(graph, "scan")->a_ns, 500e6);
    EXPECT_DOUBLE_EQ(frame(graph, "scan")->b_ns, 200e6);
    EXPECT_EQ(frame(graph, "scan")->change, -1);
    EXPECT_EQ(frame(graph, "parse")->change, 0) << "300 against 340 is within the counts' error";
    EXPECT_EQ(frame(graph, "gone")->change, -1);
    EXPECT_EQ(frame(graph, "fresh")->change, 1);
    EXPECT_EQ(graph.frames[0].name, "all");
    EXPECT_EQ(graph.frames[0].depth, 0);
    EXPECT_EQ(frame(graph, "fresh")->depth, 3);
    ASSERT_FALSE(graph.functions.empty());
    EXPECT_EQ(graph.functions[0].name, "scan");
    EXPECT_LT(graph.functions[0].high_ns, 0);
    double own = 0;
    for (const FlameFunction& one : graph.functions) own += one.b_ns;
    EXPECT_DOUBLE_EQ(own, graph.b_ns) << "self times add up to the whole";
}

TEST(Flame, EqualArmsAreHardlyEverMarked) {
    std::mt19937_64 random(5);
    int marked = 0, frames = 0;
    for (int i = 0; i < 200; ++i) {
        Stacks arms[2];
        for (Stacks& arm : arms) {
            for (int f = 0; f < 20; ++f)
                arm["p;main;f" + std::to_string(f)] =
                    1 + std::poisson_distribution<std::int64_t>(10 + 5 * f)(random);
        }
        for (const FlameFrame& one : flame_graph(profile_of(arms[0], 1, arms[1], 1)).frames) {
            marked += one.change != 0 ? 1 : 0;
            ++frames;
        }
    }
    EXPECT_LE(marked, frames / 250) << marked << " of " << frames;
}

TEST(Flame, RareStacksAndSmallFramesStayInTheSums) {
    StackProfile profile =
        profile_of({{"p;main", 100000}, {"p;main;tiny", 3}}, 1, {{"p;main", 7}}, 1);
    profile.arms["A"].left_out = 50;
    const FlameGraph graph = flame_graph(profile);
    EXPECT_EQ(frame(graph, "tiny"), nullptr) << "below a thousandth of both arms";
    EXPECT_DOUBLE_EQ(frame(graph, "main")->a_ns, 100003e6);
    EXPECT_DOUBLE_EQ(graph.a_ns, 100053e6);
    EXPECT_TRUE(flame_graph({}).functions.empty());
}

TEST(Stacks, TheirTextIsReadBackStrictly) {
    const StackProfile profile = profile_of({{"p;main", 5}}, 1, {{"p;main", 4}}, 1);
    const std::string text = stacks_text(profile);
    const StackProfile back = stacks_from_text(text);
    EXPECT_EQ(back.arms.at("B").folded, "p;main 4\n");
    EXPECT_EQ(back.hz, 1000);
    EXPECT_EQ(stacks_text(back), text);
    for (const char* wrong :
         {"", "{}", "[]", R"({"unwinding":"dwarf","hz":1,"problem":"","arms":[]})"})
        EXPECT_THROW(stacks_from_text(wrong), Error) << wrong;
}

}  // namespace
}  // namespace steady
