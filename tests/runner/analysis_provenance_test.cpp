// What really ran against what the file says: a flag without effect and a difference nobody
// declared both end the run before anything is timed.
#include "runner/judge/analysis_provenance.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/runner/analysis_world.h"

namespace steady {
namespace {

std::string reason(const Bench& bench) {
    const Analysis analysis = bench.judged();
    return analysis.stop ? analysis.reason : "";
}

TEST(Provenance, AWorkingDifferencePasses) {
    Bench bench(plain_spec(), {});
    EXPECT_EQ(reason(bench), "");
}

TEST(Provenance, AVariantThatIsNotThereIsMissingEvidence) {
    Bench bench(plain_spec(), {});
    bench.applied.arms["B"].kernels["q4_0_experts"].variant = "avx2";
    const Analysis analysis = bench.judged();
    EXPECT_EQ(analysis.verdict, Verdict::invalid);
    EXPECT_EQ(analysis.reason, "applied_evidence_missing");
    EXPECT_NE(analysis.sentence.find("q4_0_experts"), std::string::npos) << analysis.sentence;
}

TEST(Provenance, AVariantThatIsNeverCalledIsMissingEvidence) {
    Bench bench(plain_spec(), {});
    bench.applied.arms["B"].kernels["q4_0_experts"].calls_per_token = 0;
    EXPECT_EQ(reason(bench), "applied_evidence_missing");
}

// The program reports no flag here: the file's own difference is enough.
TEST(Provenance, ADifferenceOfTheFileThatItDoesNotDeclareIsNamed) {
    Spec spec = plain_spec();
    const Bench bench(spec, {});
    EXPECT_FALSE(check_provenance(spec, bench.applied).has_value());
    spec.arms["B"].engine_flags["wait"] = "sleep";
    const auto objection = check_provenance(spec, bench.applied);
    ASSERT_TRUE(objection.has_value());
    EXPECT_EQ(objection->reason, "undeclared_difference");
}

TEST(Provenance, AProofThatDoesNotHoldIsMissingEvidence) {
    OutputsReport outputs;
    outputs.proofs = {{.arm = "B", .held = true}};
    EXPECT_FALSE(check_proofs(outputs).has_value());
    outputs.proofs.push_back({.arm = "B", .held = false, .detail = "it is silent"});
    const auto objection = check_proofs(outputs);
    ASSERT_TRUE(objection.has_value());
    EXPECT_EQ(objection->reason, "applied_evidence_missing");
}

TEST(Provenance, OneCheckOfTheOutputThatFailsFailsItsGate) {
    Spec spec = plain_spec();
    spec.gates[0].need.clear();
    OutputsReport outputs;
    outputs.checks = {{.gate = "tokens", .need = "exit", .held = true, .detail = "both exit 0"}};
    EXPECT_EQ(check_correctness(spec, &outputs, "").at(0).outcome, "pass");
    outputs.checks.push_back({.gate = "tokens", .need = "stdout", .held = false});
    EXPECT_EQ(check_correctness(spec, &outputs, "").at(0).outcome, "fail");
    outputs.checks.clear();
    EXPECT_EQ(check_correctness(spec, &outputs, "").at(0).outcome, "fail")
        << "nothing was looked at";
}

// What a prompt's pass calls and a token does not is evidence for a question about prompts alone.
TEST(Provenance, APromptsOpIsCalledInAPrompt) {
    Spec spec = plain_spec();
    Bench bench(spec, {});
    for (auto& [name, arm] : bench.applied.arms) {
        arm.kernels["q4_0_experts"].calls_per_token = 0;
        arm.kernels["q4_0_experts"].calls_per_pass = 3;
    }
    EXPECT_EQ(reason(bench), "applied_evidence_missing");
    for (Gate& gate : spec.gates) {
        if (gate.role == Role::decides) gate.metric = "ttft_ns";
    }
    const protocol::OpenReply applied = bench.applied;
    EXPECT_FALSE(check_provenance(spec, applied).has_value());
    for (auto& [name, arm] : bench.applied.arms) arm.kernels["q4_0_experts"].calls_per_pass = 0;
    EXPECT_TRUE(check_provenance(spec, bench.applied).has_value());
}

// An arm whose step does not call the op runs it as little as it asks for it.
TEST(Provenance, AStepsKernelIsCalledInTheArmThatAsksForIt) {
    Spec spec = plain_spec();
    spec.arms["A"].kernels.clear();
    spec.arms["A"].steps["moe"] = "unfused";
    spec.arms["B"].steps["moe"] = "fused";
    spec.expect_diff = {"kernels.q4_0_experts", "steps.moe"};
    Bench bench(spec, {});
    bench.applied.arms["A"].steps["moe"] = "unfused";
    bench.applied.arms["B"].steps["moe"] = "fused";
    bench.applied.arms["A"].kernels["q4_0_experts"].calls_per_token = 0;
    EXPECT_EQ(reason(bench), "");
    std::swap(bench.applied.arms["A"].kernels["q4_0_experts"].calls_per_token,
              bench.applied.arms["B"].kernels["q4_0_experts"].calls_per_token);
    EXPECT_EQ(reason(bench), "applied_evidence_missing");
}

TEST(Provenance, AnotherVariantThanTheOneAskedForIsMissingEvidence) {
    Bench bench(plain_spec(), {});
    bench.applied.arms["B"].kernels["q4_0_experts"].variant = "avx512";
    EXPECT_EQ(reason(bench), "applied_evidence_missing");
}

TEST(Provenance, ADifferenceNobodyDeclaredIsNamed) {
    Bench bench(plain_spec(), {});
    bench.applied.arms["B"].threads = 1;
    const Analysis analysis = bench.judged();
    EXPECT_EQ(analysis.reason, "undeclared_difference");
    EXPECT_NE(analysis.sentence.find("threads"), std::string::npos);
    Bench flags(plain_spec(), {});
    flags.applied.arms["B"].engine_flags["burn"] = "1%";
    EXPECT_EQ(reason(flags), "undeclared_difference");
}

TEST(Provenance, FlagsAndStepsCountAsEvidence) {
    Spec spec = plain_spec();
    spec.arms["B"] = spec.arms["A"];
    spec.arms["B"].engine_flags["burn"] = "1%";
    spec.expect_diff = {"engine_flags.burn"};
    Bench bench(spec, {});
    EXPECT_EQ(reason(bench), "");
    bench.applied.arms["B"].engine_flags["burn"] = "0%";
    EXPECT_EQ(reason(bench), "applied_evidence_missing");
}

TEST(Provenance, AStepMayCallOtherOps) {
    Spec spec = plain_spec();
    spec.arms["B"] = spec.arms["A"];
    spec.arms["B"].steps["moe"] = "unfused";
    spec.expect_diff = {"steps.moe"};
    Bench bench(spec, {});
    bench.applied.arms["B"].steps["moe"] = "unfused";
    bench.applied.arms["B"].kernels["swiglu"] = {"avx2", "champion", 4};
    EXPECT_EQ(reason(bench), "");
}

TEST(Provenance, AnOpMayFollowAnothersChoice) {
    Bench bench(plain_spec(), {});
    bench.applied.arms["A"].kernels["q4_0_matmul"] = {"reference", "follows", 0, 4};
    bench.applied.arms["B"].kernels["q4_0_matmul"] = {"avx512_vnni_rows16", "follows", 0, 4};
    EXPECT_EQ(reason(bench), "");
    bench.applied.arms["B"].kernels["q4_0_matmul"].reason = "champion";
    EXPECT_EQ(reason(bench), "undeclared_difference");
}

// A cache of another type chooses another attention of CPUs, which a GPU never calls.
TEST(Provenance, AnOpThatNoArmCallsMayDiffer) {
    Bench bench(plain_spec(), {});
    bench.applied.arms["A"].kernels["mla_attention"] = {"avx2", "champion", 0, 0};
    bench.applied.arms["B"].kernels["mla_attention"] = {"avx2_f16", "champion", 0, 0};
    EXPECT_EQ(reason(bench), "");
    bench.applied.arms["B"].kernels["mla_attention"].calls_per_pass = 47;
    EXPECT_EQ(reason(bench), "undeclared_difference");
}

TEST(Provenance, TheFileItselfMustAgreeWithExpectDiff) {
    Spec spec = plain_spec();
    spec.expect_diff.clear();
    EXPECT_EQ(reason(Bench(spec, {})), "undeclared_difference");
    spec.expect_diff = {"kernels.q4_0_experts", "threads"};
    EXPECT_EQ(reason(Bench(spec, {})), "applied_evidence_missing");
}

TEST(Provenance, AllKernelsMayBeDeclaredAtOnce) {
    Spec spec = plain_spec();
    spec.arms["A"].kernels = {{"*", "reference"}};
    spec.arms["B"].kernels.clear();
    spec.expect_diff = {"kernels.*"};
    Bench bench(spec, {});
    for (auto& [op, kernel] : bench.applied.arms["A"].kernels) kernel.variant = "reference";
    bench.applied.arms["A"].kernels.erase("*");
    EXPECT_EQ(reason(bench), "");
    // References come with their own steps, unless an arm says which.
    bench.applied.arms["A"].steps["mla"] = "absorbed";
    bench.applied.arms["B"].steps["mla"] = "absorbed_i16";
    EXPECT_EQ(reason(bench), "");
    spec.arms["B"].steps["mla"] = "absorbed_i16";
    EXPECT_EQ(reason(Bench(spec, {})), "undeclared_difference");
}

TEST(Provenance, AStepThatDiffersUnaskedIsUndeclaredWithoutReferences) {
    Bench bench(plain_spec(), {});
    bench.applied.arms["A"].steps["mla"] = "absorbed";
    bench.applied.arms["B"].steps["mla"] = "absorbed_i16";
    EXPECT_EQ(reason(bench), "undeclared_difference");
}

TEST(Correctness, BoundsNanAndCrashesAreWrongOutput) {
    const auto outcome = [](const std::function<void(Bench&)>& change) {
        Bench bench(plain_spec(), {});
        change(bench);
        return reason(bench);
    };
    EXPECT_EQ(outcome([](Bench& b) { b.correctness.kl = 1e-3; }), "wrong_output");
    EXPECT_EQ(outcome([](Bench& b) { b.correctness.top1_agree = 0.99; }), "wrong_output");
    EXPECT_EQ(
        outcome([](Bench& b) { b.correctness.kl = std::numeric_limits<double>::quiet_NaN(); }),
        "wrong_output");
    EXPECT_EQ(outcome([](Bench& b) { b.correctness.non_finite = true; }), "wrong_output");
    EXPECT_EQ(outcome([](Bench& b) {
                  b.input.correctness = nullptr;
                  b.input.correctness_failure = "crash";
              }),
              "wrong_output");
    EXPECT_EQ(outcome([](Bench& b) { b.correctness.kl = 1e-5; }), "");
}

TEST(Correctness, NothingIsMeasuredBeforeItIsKnown) {
    Bench bench(plain_spec(), {});
    bench.input.correctness = nullptr;
    const Analysis analysis = bench.judged();
    EXPECT_FALSE(analysis.stop);
    EXPECT_EQ(analysis.next_gate, -1);
    EXPECT_FALSE(next_pair(bench.input, analysis));
}

}  // namespace
}  // namespace steady
