// The files that must be accepted, and what is read from them.
#include <gtest/gtest.h>

#include "kernels/base/error.h"
#include "runner/spec/spec.h"
#include "runner/spec/spec_command.h"
#include "runner/spec/spec_runnable.h"
#include "tests/runner/spec_files.h"

namespace steady {
namespace {

Spec good(const std::string& stem) {
    const SpecResult result = parse_spec(read_data("specs/good/" + stem + ".json"), stem);
    for (const SpecError& error : result.errors) {
        ADD_FAILURE() << describe(error, stem + ".json");
    }
    return result.spec.value_or(Spec{});
}

TEST(SpecGoodFiles, OwnEngineFieldByField) {
    const Spec spec = good("experts-fused-vnni");
    EXPECT_EQ(spec.id, "experts-fused-vnni");
    EXPECT_EQ(spec.owner, "kim");
    ASSERT_TRUE(spec.hypothesis.predict);
    EXPECT_EQ(spec.hypothesis.predict->low, 0.02);
    EXPECT_EQ(spec.hypothesis.predict->high, 0.05);
    EXPECT_EQ(spec.subject.model, "glm-4.7-flash-q4_0.gguf");
    EXPECT_EQ(spec.subject.workload, "prose-512");
    EXPECT_EQ(spec.subject.threads, 2);
    EXPECT_EQ(spec.arms.at("B").kernels.at("q4_0_experts"), "avx512_vnni_fused");
    EXPECT_EQ(spec.expect_diff, std::vector<std::string>{"kernels.q4_0_experts"});
    ASSERT_EQ(spec.gates.size(), 7U);
    EXPECT_EQ(spec.gates[0].need.at("kl").sense, Bound::Sense::at_most);
    EXPECT_EQ(spec.gates[0].need.at("kl").value, 1e-4);
    EXPECT_EQ(spec.gates[0].need.at("kl").text, "<=1e-4");
    EXPECT_EQ(spec.gates[1].op, "q4_0_experts");
    EXPECT_EQ(spec.gates[2].margin, 0.02);
    EXPECT_EQ(spec.gates[3].role, Role::decides);
    EXPECT_EQ(spec.gates[3].worth, 0.01);
    EXPECT_EQ(spec.gates[5].margin, 0.05);
    EXPECT_EQ(deciding_gate(spec), &spec.gates[3]);
    EXPECT_EQ(spec.schedule.mode, Mode::duet);
    EXPECT_EQ(spec.schedule.seed, 7U);
    EXPECT_EQ(spec.schedule.pairs_max, 50);
    EXPECT_EQ(spec.schedule.cooldown_s, 3);
    EXPECT_EQ(spec.aa_max_half_width, 0.01);
    EXPECT_EQ(spec.environment.wait_quiet_s, 60);
    EXPECT_EQ(spec.environment.max_discarded, 0.30);
    EXPECT_EQ(spec.retry_if, "the expert width or the cache size changes");
    EXPECT_EQ(spec.sha256.size(), 64U);
}

TEST(SpecGoodFiles, OutsideProgram) {
    const Spec spec = good("llama-graph-reuse");
    EXPECT_EQ(spec.schedule.mode, Mode::process_pairs);
    EXPECT_EQ(spec.subject.build.size(), 2U);
    EXPECT_EQ(spec.arms.at("B0").role, "layout_control");
    EXPECT_EQ(spec.arms.at("B").args, (std::vector<std::string>{"--graph-reuse", "1"}));
    EXPECT_EQ(spec.applied.at("B").at("log_has"), "graph reuse: on");
    EXPECT_EQ(spec.matrix.at("ctx"), (std::vector<std::string>{"512", "8192"}));
    EXPECT_EQ(spec.gates[2].at.at("ctx"), "8192");
    EXPECT_EQ(spec.gates[0].need.at("stdout").sense, Bound::Sense::equal);
    EXPECT_EQ(arms_difference(spec), (std::vector<std::string>{"args", "rev"}));
}

TEST(SpecGoodFiles, TwoCommands) {
    const Spec spec = good("sort-buffer");
    EXPECT_TRUE(is_outside(spec));
    EXPECT_EQ(noise_subject(spec), "program sort");
    EXPECT_EQ(spec.schedule.mode, Mode::process_pairs);
    EXPECT_EQ(spec.schedule.warmup_runs, 2);
    EXPECT_EQ(spec.schedule.inner, 3);
    EXPECT_EQ(spec.schedule.timeout_s, 30);
    EXPECT_EQ(spec.gates[0].check, (std::vector<std::string>{"cmp", "{out_a}", "{out_b}"}));
    EXPECT_EQ(spec.gates[0].need.at("exit").text, "0");
    EXPECT_EQ(arm_command(spec, "B", &spec.gates[1]),
              (std::vector<std::string>{"sort", "-S", "1G", "big.txt"}));
    EXPECT_FALSE(higher_is_better(spec.gates[1]));
    EXPECT_TRUE(higher_is_better(spec.gates[3]));
    EXPECT_EQ(arm_label(spec, "B"), "`sort -S 1G {input}`");
    EXPECT_EQ(why_not_runnable(spec, RunPlace::here), "");
    EXPECT_NE(why_not_runnable(spec, RunPlace::queue), "");
    EXPECT_EQ(why_not_runnable(good("llama-graph-reuse"), RunPlace::here), "");
}

// An arm without a variable must not read as one that sets it to nothing.
TEST(SpecCommands, ALabelSaysThatAVariableIsNotSet) {
    Spec spec = good("sort-buffer");
    spec.arms["A"].run = spec.arms["B"].run;
    spec.arms["A"].args = {"9"};
    spec.arms["B"].args = {"4"};
    spec.arms["B"].env = {{"FAST", "1"}};
    EXPECT_EQ(arm_label(spec, "B"), "`4 FAST=1`");
    EXPECT_EQ(arm_label(spec, "A"), "`9 (FAST unset)`");
    EXPECT_EQ(arm_label(spec, "A", true), "`9 FAST=`") << "a stored sentence is held to its words";
}

// What people type, without a shell: what only a shell understands is refused, not run.
TEST(SpecCommands, WordsAreCutAsTyped) {
    using Words = std::vector<std::string>;
    EXPECT_EQ(split_words("sort -S 64M  big.txt"), (Words{"sort", "-S", "64M", "big.txt"}));
    EXPECT_EQ(split_words(R"(grep -e 'a b' "c'd" e\ f x=~)"),
              (Words{"grep", "-e", "a b", "c'd", "e f", "x=~"}));
    EXPECT_EQ(split_words(R"(say "a \"b\" \\ \n" '\"$x`' )"),
              (Words{"say", R"(a "b" \ \n)", R"(\"$x`)"}));
    EXPECT_EQ(split_words("sort\n-u a\r\n"), (Words{"sort", "-u", "a"}));
    for (const char* line : {"", "\n", R"(a "$HOME")", R"(a "`b`")", R"(a "b\")", "a | b", "a > b",
                             "a; b", "a $HOME", "a *.txt", "a `b`", "~/a", "'a", "a\\"}) {
        EXPECT_THROW(split_words(line), Error) << line;
    }
    for (const Words& words :
         {Words{"a", "b c", "d'e", "", "$x", "*"}, Words{"sh", "-c", "a | b"}}) {
        EXPECT_EQ(split_words(joined_words(words)), words);
    }
}

TEST(SpecGoodFiles, EqualArmsAreLegal) {
    const Spec spec = good("aa-tiny");
    EXPECT_TRUE(arms_difference(spec).empty());
    EXPECT_EQ(spec.schedule.mode, Mode::duet);
    EXPECT_EQ(spec.schedule.pairs_max, 50);
    EXPECT_FALSE(spec.schedule.seed);
}

TEST(SpecGoodFiles, PlantedSlowDown) {
    const Spec spec = good("burn-1");
    EXPECT_EQ(spec.arms.at("B").engine_flags.at("burn"), "1%");
    EXPECT_EQ(spec.schedule.seed, 18446744073709551615U);
    // threads 1 in A equals the subject's: no difference
    EXPECT_EQ(arms_difference(spec), std::vector<std::string>{"engine_flags.burn"});
}

TEST(SpecGoodFiles, EquivalenceAndSweep) {
    const Spec cleanup = good("cleanup-equivalent");
    EXPECT_EQ(cleanup.gates[2].goal, Goal::equivalent);
    EXPECT_EQ(cleanup.gates[2].margin, 0.01);
    const Spec sweep = good("sweep-matvec");
    ASSERT_TRUE(sweep.sweep);
    EXPECT_EQ(sweep.sweep->axes.at("kernels.q4_0_matvec").size(), 2U);
}

TEST(SpecGoodFiles, WarnsWhenNothingDecides) {
    std::string text = read_data("specs/good/aa-tiny.json");
    const std::size_t at = text.find("\"decides\"");
    text.replace(at, 9, "\"advice\"");
    const SpecResult result = parse_spec(text, "aa-tiny");
    ASSERT_TRUE(result.spec);
    EXPECT_EQ(deciding_gate(*result.spec), nullptr);
    ASSERT_EQ(result.warnings.size(), 1U);
    EXPECT_NE(result.warnings[0].find("micro_only"), std::string::npos);
}

}  // namespace
}  // namespace steady
