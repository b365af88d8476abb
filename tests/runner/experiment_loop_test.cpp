// The loop over a fake executor: every verdict that the ladder can reach, and what was touched on
// the way there.
#include <gtest/gtest.h>

#include "runner/run/experiment.h"
#include "tests/support/fake_executor.h"
#include "tests/support/small_experiment.h"

namespace steady {
namespace {

struct Outcome {
    Spec spec;
    FakeSink sink;
    ExperimentResult result;
    int measured = 0;
    int stacks_of_gate = -1;
};

Outcome run(const nlohmann::json& json, const FakeWorld& world,
            const std::function<void(Experiment&)>& prepare = {}, const std::string& profile = "") {
    Outcome run;
    const SpecResult parsed = parse_spec(json.dump(), "");
    EXPECT_TRUE(parsed.spec) << (parsed.errors.empty() ? "" : describe(parsed.errors[0], "test"));
    run.spec = *parsed.spec;
    run.spec.schedule.profile = profile;
    FakeExecutor executor(run.spec, world);
    Experiment experiment;
    experiment.spec = &run.spec;
    experiment.seed = 42;
    experiment.evidence.prior.emplace().history.sigma0 = 0.004;
    for (int i = 0; i < 24; ++i)
        experiment.evidence.prior->history.aa_pairs.push_back(i % 2 ? 0.003 : -0.003);
    experiment.executor = &executor;
    experiment.sink = &run.sink;
    if (prepare) prepare(experiment);
    run.result = run_experiment(experiment);
    run.measured = executor.measured;
    run.stacks_of_gate = executor.stacks_of_gate;
    return run;
}

TEST(Experiment, APlantedGainIsAccepted) {
    const Outcome done = run(small_experiment(), {.effect = 0.05});
    EXPECT_EQ(done.result.analysis.verdict, Verdict::accept) << done.result.analysis.sentence;
    EXPECT_NEAR(done.result.analysis.effect.value(), std::exp(0.05) - 1, 0.01);
}

TEST(Experiment, StacksAreSampledOnceAfterThePairsWhereTheFileAsks) {
    const FakeWorld world{.effect = 0.05, .stacks = StackProfile{.hz = 99}};
    EXPECT_EQ(run(small_experiment(), world).stacks_of_gate, -1) << "nobody asked";
    const Outcome asked = run(small_experiment(), world, {}, "dwarf");
    EXPECT_EQ(asked.stacks_of_gate, 1) << "the gate that decides";
    ASSERT_EQ(asked.sink.stacks.size(), 1U);
    EXPECT_EQ(asked.sink.stacks[0].hz, 99);
    EXPECT_EQ(asked.sink.pairs_before_stacks, asked.sink.pairs.size());
}

TEST(Experiment, StacksOfAWrongOutputAreNotSampled) {
    FakeWorld world{.stacks = StackProfile{}};
    world.correctness.top1_agree = 0.2;
    const Outcome done = run(small_experiment(), world, {}, "dwarf");
    EXPECT_EQ(done.stacks_of_gate, -1);
    EXPECT_EQ(done.result.analysis.verdict, Verdict::reject);
}

TEST(Experiment, AStopWhileStacksAreSampledLeavesTheVerdictOpen) {
    const Outcome done = run(small_experiment(), {.effect = 0.05}, {}, "dwarf");
    EXPECT_EQ(done.result.ended, Ended::cancelled);
    EXPECT_TRUE(done.sink.stacks.empty());
}

TEST(Experiment, APlantedLossIsARegression) {
    const Outcome done = run(small_experiment(), {.effect = -0.05});
    EXPECT_EQ(done.result.analysis.verdict, Verdict::reject);
    EXPECT_EQ(done.result.analysis.reason, "regression");
}

TEST(Experiment, NoEffectIsNotAccepted) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const Outcome done = run(small_experiment(), {.effect = 0, .seed = seed});
        EXPECT_NE(done.result.analysis.verdict, Verdict::accept) << seed;
    }
}

// An audit on a simulated clock: 300 blind A/A experiments through the whole loop, in noise from
// quiet to worse than most machines. At a true rate of 1 % more than eight accepts come once in
// 300 audits; the file's seeds give the number below.
TEST(Experiment, ThreeHundredBlindAuditsKeepTheBound) {
    int accepts = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        FakeWorld world{.effect = 0, .seed = seed};
        world.token_sd = seed % 3 == 0 ? 0.002 : seed % 3 == 1 ? 0.01 : 0.03;
        world.drift_sd = seed % 2 == 0 ? 0.002 : 0.01;
        const Outcome done = run(small_experiment(), world, [&](Experiment& experiment) {
            experiment.seed = seed;
            experiment.evidence.prior.emplace();
        });
        accepts += done.result.analysis.verdict == Verdict::accept ? 1 : 0;
    }
    RecordProperty("accepts", accepts);
    EXPECT_LE(accepts, 8);
}

TEST(Experiment, WrongOutputStopsBeforeAnyTiming) {
    FakeWorld world;
    world.correctness.top1_agree = 0.2;
    world.correctness.kl = 3;
    const Outcome done = run(small_experiment(), world);
    EXPECT_EQ(done.result.analysis.reason, "wrong_output");
    EXPECT_EQ(done.measured, 0);
    EXPECT_TRUE(done.sink.pairs.empty());
}

TEST(Experiment, NotANumberIsWrongOutputWhateverTheBounds) {
    FakeWorld world;
    world.correctness.non_finite = true;
    EXPECT_EQ(run(small_experiment(), world).result.analysis.reason, "wrong_output");
}

TEST(Experiment, AFlagThatChangesNothingIsInvalid) {
    const Outcome done = run(small_experiment(), {.effect = 0.05, .ignores_flags = true});
    EXPECT_EQ(done.result.analysis.verdict, Verdict::invalid);
    EXPECT_EQ(done.result.analysis.reason, "applied_evidence_missing");
    EXPECT_EQ(done.measured, 0);
}

TEST(Experiment, WinningAloneAndLosingInTheModelIsSaid) {
    nlohmann::json spec = small_experiment();
    const nlohmann::json alone = {{"id", "alone"},
                                  {"level", "micro"},
                                  {"role", "advice"},
                                  {"metric", "op_ns"},
                                  {"op", "q4_0_experts"}};
    spec["gates"].insert(spec["gates"].begin() + 1, alone);
    const Outcome done =
        run(spec, {.effect = -0.07, .scope_effect = {{"micro", 0.35}, {"model", -0.07}}});
    EXPECT_EQ(done.result.analysis.verdict, Verdict::reject);
    EXPECT_NE(done.result.analysis.contradiction.find("micro +"), std::string::npos)
        << done.result.analysis.sentence;
}

// Only steady state decides: a pair that never got there is stored with its reason, so that neither
// a resuming worker nor a query counts it, and its next try is measured.
TEST(Experiment, APairThatNeverBecameSteadyIsStoredAsDiscarded) {
    const auto every_third = [](int call) { return call % 3 == 2; };
    nlohmann::json spec = small_experiment();  // a duet takes out what both arms share
    spec["schedule"]["mode"] = "process_pairs";
    const Outcome done = run(spec, {.effect = 0.05, .unsteady = every_third});
    ASSERT_GT(done.sink.pairs.size(), 6u);
    for (std::size_t i = 0; i < done.sink.pairs.size(); ++i) {
        const Pair& pair = done.sink.pairs[i];
        EXPECT_EQ(!pair.discarded.empty(), every_third(static_cast<int>(i))) << i;
        if (pair.discarded.empty() || i + 1 == done.sink.pairs.size()) continue;
        EXPECT_EQ(done.sink.pairs[i + 1].number, pair.number);
        EXPECT_EQ(done.sink.pairs[i + 1].attempt, pair.attempt + 1);
    }
}

TEST(Experiment, AResumedRunGoesOnWhereItStopped) {
    const Outcome whole =
        run(small_experiment(), {.effect = 0.05, .token_sd = 0.002, .spike_share = 0});
    ASSERT_GT(whole.sink.pairs.size(), 6u);
    const Outcome rest =
        run(small_experiment(), {.effect = 0.05, .token_sd = 0.002, .spike_share = 0},
            [&](Experiment& experiment) {
                experiment.pairs.assign(whole.sink.pairs.begin(), whole.sink.pairs.begin() + 5);
            });
    EXPECT_EQ(rest.sink.pairs.size() + 5, whole.sink.pairs.size());
    EXPECT_EQ(rest.sink.pairs[0].coins, whole.sink.pairs[5].coins);
}

TEST(Experiment, CancelledBetweenPairsKeepsWhatWasMeasured) {
    int asked = 0;
    const Outcome done = run(small_experiment(), {.effect = 0}, [&](Experiment& experiment) {
        experiment.cancelled = [&] { return ++asked > 4; };
    });
    EXPECT_EQ(done.result.ended, Ended::cancelled);
    EXPECT_EQ(done.sink.pairs.size(), 4u);
}

// In the midst of the very first pair, nothing is there to report on.
TEST(Experiment, CancelledWithinAPairEndsThere) {
    for (const int sealed : {0, 3}) {
        FakeWorld world{.effect = 0};
        world.failure = [&](int call) { return call == sealed ? "cancelled" : ""; };
        int reported = 0;
        const Outcome done = run(small_experiment(), world, [&](Experiment& experiment) {
            experiment.progress = [&](const Analysis&, const Pair&) { ++reported; };
        });
        EXPECT_EQ(done.result.ended, Ended::cancelled);
        EXPECT_EQ(done.sink.pairs.size(), static_cast<std::size_t>(sealed));
        EXPECT_EQ(reported, sealed);
    }
}

TEST(Experiment, CrashesAreRecordedAndDoNotDecideByThemselves) {
    FakeWorld world{.effect = 0.05, .token_sd = 0.002, .spike_share = 0};
    world.failure = [](int call) { return call == 3 ? "crash" : ""; };
    const Outcome done = run(small_experiment(), world);
    EXPECT_EQ(done.result.analysis.verdict, Verdict::accept);
    EXPECT_EQ(done.result.analysis.discarded, 1);

    world.failure = [](int) { return "crash"; };
    const Outcome hopeless = run(small_experiment(), world);
    EXPECT_NE(hopeless.result.analysis.verdict, Verdict::accept);
    EXPECT_LT(hopeless.measured, 20) << "a candidate that always crashes must not be run for ever";
}

}  // namespace
}  // namespace steady
