// Sweeps as the experiments that they stand for, and every way in which their axes can be wrong.
#include "runner/spec/spec_sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runner/spec/spec_command.h"
#include "runner/spec/spec_runnable.h"
#include "tests/support/counted_program.h"
#include "tests/support/small_experiment.h"

namespace steady {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

Json sweep_file() {
    Json file = counted_question();
    file["id"] = "sweep";
    file["arms"]["B"]["args"] = {"{level}", "--pool={pool}"};
    file["applied"] = {{"B", {{"log_has", "level {level}"}}}};
    file["matrix"] = {{"size", {1, 2}}};
    file["gates"][0]["at"] = {{"size", 1}};
    file["gates"][1].update({{"at", {{"size", 2}}},
                             {"run", {"sh", "steps.sh", "{size}"}},
                             {"select", "label=x"},
                             {"stat", "min"},
                             {"worth", "3%"}});
    file["gates"].push_back({{"id", "memory"},
                             {"level", "model"},
                             {"role", "guard"},
                             {"metric", "peak_memory_bytes"},
                             {"at", {{"size", 1}}}});
    file["expect_diff"] = {"args", "env.POOL"};
    file["sweep"] = {
        {"axes", {{"args.level", {1, 2, 3}}, {"args.pool", {4, 8}}, {"env.POOL", {"a", "b"}}}},
        {"screen_pairs", 5}};
    return file;
}

Spec good(const Json& file) {
    const SpecResult result = parse_spec(file.dump(), "");
    for (const SpecError& error : result.errors) ADD_FAILURE() << describe(error, "file");
    return result.spec.value();
}

// "" when the file is sound, else its mistakes.
std::string mistakes(const Json& file) {
    std::string out;
    for (const SpecError& error : parse_spec(file.dump(), "").errors)
        out += describe(error, "file") + "\n";
    return out;
}

TEST(SpecSweep, StandsForEachCombination) {
    const Spec spec = good(sweep_file());
    const auto choices = sweep_choices(*spec.sweep);
    ASSERT_EQ(choices.size(), 12U);
    EXPECT_EQ(choice_text(choices[7]), "args.level=2, args.pool=8, env.POOL=b");
    const Spec confirmed = confirmation_spec(spec, choices[7]).spec.value();
    EXPECT_EQ(confirmed.id, "sweep-confirm");
    EXPECT_FALSE(confirmed.sweep);
    EXPECT_EQ(confirmed.arms.at("B").args, (std::vector<std::string>{"2", "--pool=8"}));
    EXPECT_EQ(confirmed.arms.at("B").env.at("POOL"), "b");
    EXPECT_EQ(confirmed.arms.at("A").args, std::vector<std::string>{"400"});
    EXPECT_EQ(confirmed.applied.at("B").at("log_has"), "level 2") << "proofs name the setting";
    EXPECT_EQ(confirmed.gates.size(), 3U);
    EXPECT_EQ(confirmed.gates[1].worth, 0.03);
}

// A screening measures exactly what the deciding gate measures, and cannot decide.
TEST(SpecSweep, AScreeningKeepsWhatTheGateMeasures) {
    const Spec spec = good(sweep_file());
    const Spec screened = screening_spec(spec, sweep_choices(*spec.sweep).front(), 1).spec.value();
    EXPECT_EQ(screened.id, "sweep-screen-1");
    EXPECT_EQ(screened.schedule.pairs_max, 5);
    EXPECT_EQ(screened.schedule.aa_pairs, 0);
    EXPECT_EQ(deciding_gate(screened), nullptr);
    ASSERT_EQ(screened.gates.size(), 2U) << "outputs and the metric";
    const Gate &asked = spec.gates[1], &kept = screened.gates[1];
    EXPECT_EQ(kept.role, Role::advice);
    EXPECT_EQ(kept.run, asked.run);
    EXPECT_EQ(kept.adapter, asked.adapter);
    EXPECT_EQ(kept.select, asked.select);
    EXPECT_EQ(kept.stat, asked.stat);
    EXPECT_EQ(kept.direction, asked.direction);
    EXPECT_EQ(kept.at, asked.at);
    Json regex = sweep_file();
    regex["gates"][1].update({{"adapter", "regex"}, {"pattern", "took (?<value>[0-9]+)"}});
    const Spec matched = good(regex);
    EXPECT_EQ(screening_spec(matched, sweep_choices(*matched.sweep).front(), 1)
                  .spec.value()
                  .gates[1]
                  .pattern,
              "took (?<value>[0-9]+)");
}

TEST(SpecSweep, TheBaselineAmongTheValuesIsSeen) {
    Json file = counted_question();
    file["id"] = "itself";
    file["arms"]["B"]["args"] = {"{level}"};
    file["expect_diff"] = {"args"};
    file["sweep"] = {{"axes", {{"args.level", {400, 200}}}}};
    const Spec spec = good(file);
    const auto choices = sweep_choices(*spec.sweep);
    EXPECT_TRUE(is_baseline(spec, choices[0]));
    EXPECT_FALSE(is_baseline(spec, choices[1]));
    EXPECT_EQ(why_not_runnable(spec, RunPlace::here), "");
    EXPECT_THAT(why_not_runnable(spec, RunPlace::queue), HasSubstr("steady sweep"));
}

// A value of one axis that is A's own is no difference there.
TEST(SpecSweep, OnlyRealDifferencesAreExpected) {
    Json file = sweep_file();
    file["arms"]["A"]["env"] = {{"POOL", "a"}};
    const Spec spec = good(file);
    const Spec same =
        confirmation_spec(spec, {{"args.level", "1"}, {"args.pool", "4"}, {"env.POOL", "a"}})
            .spec.value();
    EXPECT_EQ(same.expect_diff, std::vector<std::string>{"args"});
}

TEST(SpecSweep, AVariableMayBeEmpty) {
    Json file = sweep_file();
    file["sweep"]["axes"]["env.POOL"] = {"", "b"};
    const Spec spec = good(file);
    const SweepChoice empty = {{"args.level", "1"}, {"args.pool", "4"}, {"env.POOL", ""}};
    EXPECT_EQ(confirmation_spec(spec, empty).spec.value().arms.at("B").env.at("POOL"), "");
}

TEST(SpecSweep, ThreadsAreNumbers) {
    Json file = small_experiment();
    file["id"] = "threads";
    file["arms"] = {{"A", {{"threads", 1}}}, {"B", Json::object()}};
    file["expect_diff"] = {"threads"};
    file["sweep"] = {{"axes", {{"threads", {2, "3"}}}}};
    file.erase("schedule");
    const Spec spec = good(file);
    EXPECT_EQ(confirmation_spec(spec, {{"threads", "3"}}).spec.value().arms.at("B").threads, 3);
    file["sweep"]["axes"]["threads"] = {2, "many"};
    EXPECT_THAT(mistakes(file), HasSubstr("/sweep/axes/threads/1: found \"many\""));
    file["sweep"]["axes"]["threads"] = {2, 0};
    EXPECT_THAT(mistakes(file), HasSubstr("1 to 1024"));
}

TEST(SpecSweep, WrongAxesAreNamed) {
    struct Case {
        Json axes;
        std::string hint;
    };
    for (const Case& one : std::vector<Case>{
             {Json::object(), "at least one path, e.g. args.level or env.POOL"},
             {{{"args", {1, 2}}}, "args.<name>, env.<NAME>"},
             {{{"level", {1, 2}}}, "args.<name>, env.<NAME>"},
             {{{"env.pool", {1, 2}}}, "args.<name>, env.<NAME>"},
             {{{"threads", {1, 2}}}, "args.<name> or env.<NAME> for an outside program"},
             {{{"kernels.add", {"a", "b"}}}, "args.level fills {level}"},
             {{{"env.LD_PRELOAD", {"a", "b"}}}, "which code is loaded"},
             {{{"args.size", {1, 2}}}, "does not have already"},
             {{{"args.src", {1, 2}}}, "does not have already"},
             {{{"args.level", {1, 2}}, {"args.pool", {1, 2}}, {"args.other", {1, 2}}},
              "axes that stand as {other}"},
             {{{"args.level", {1, ""}}, {"args.pool", {1, 2}}},
              "/sweep/axes/args.level/1: found \"\", allowed: 1 to 64 characters"},
             {{{"args.level", {1, 1}}, {"args.pool", {1, 2}}}, "each value once"},
             {{{"args.level", {1}}, {"args.pool", {1, 2}}}, "2 to 32"},
             {{{"args.levle", {1, 2}}, {"args.pool", {1, 2}}}, "did you mean {levle}?"}}) {
        Json file = sweep_file();
        file["sweep"]["axes"] = one.axes;
        EXPECT_THAT(mistakes(file), HasSubstr(one.hint)) << one.axes;
    }
    Json many = sweep_file();
    Json values = Json::array();
    for (int i = 0; i < 20; ++i) values.push_back(i);
    many["sweep"]["axes"]["args.level"] = values;
    EXPECT_THAT(mistakes(many), HasSubstr("at most 64"));
    Json undecided = sweep_file();
    undecided["gates"][1]["role"] = "advice";
    undecided["gates"][1].erase("worth");
    EXPECT_THAT(mistakes(undecided), HasSubstr("a sweep without a gate that decides"));
    Json named = sweep_file();
    named["id"] = std::string(60, 'a');
    EXPECT_THAT(mistakes(named), HasSubstr("at most 54 with a sweep"));
    Json engine = small_experiment();
    engine["sweep"] = {{"axes", {{"env.POOL", {1, 2}}}}};
    engine["expect_diff"].push_back("env.POOL");
    EXPECT_THAT(mistakes(engine), HasSubstr("kernels.<op>, steps.<step>"));
}

// What only shows when a value stands in its place is a mistake of the sweep.
TEST(SpecSweep, EachSettingIsASoundFile) {
    Json file = sweep_file();
    file["applied"]["B"] = {{"counter_at_least", "{level}=3"}};
    EXPECT_NE(mistakes(file), "");
    Json equal = counted_question();
    equal["id"] = "equal";
    equal["arms"]["B"]["args"] = {"{level}"};
    equal["arms"]["A"]["args"] = {"1"};
    equal["expect_diff"] = {"args"};
    equal["sweep"] = {{"axes", {{"args.level", {1, 1}}}}};
    EXPECT_NE(mistakes(equal), "");
}

TEST(SpecSweep, MorePairsThanAreMeasuredIsSaid) {
    Json file = sweep_file();
    file["sweep"]["screen_pairs"] = 30;
    const SpecResult result = parse_spec(file.dump(), "");
    ASSERT_TRUE(result.spec);
    ASSERT_FALSE(result.warnings.empty());
    EXPECT_THAT(result.warnings.back(), HasSubstr("at most 10 pairs"));
}

}  // namespace
}  // namespace steady
