// A world with known truth for the judge's tests: a spec in memory, pairs made from a seeded noise
// model, and the runner's loop without a runner.
#pragma once

#include <cmath>
#include <functional>
#include <random>

#include "runner/judge/analysis.h"
#include "runner/plan/plan.h"
#include "runner/plan/schedule.h"

namespace steady {

inline Gate make_gate(const std::string& id, Level level, Role role, const std::string& metric) {
    Gate gate;
    gate.id = id;
    gate.level = level;
    gate.role = role;
    gate.metric = metric;
    return gate;
}

// correctness + decides on decode_tps; the arms differ in one kernel.
inline Spec plain_spec() {
    Spec spec;
    spec.id = "test";
    spec.arms["A"].kernels["q4_0_experts"] = "avx2";
    spec.arms["B"].kernels["q4_0_experts"] = "avx2_fused";
    spec.expect_diff = {"kernels.q4_0_experts"};
    Gate tokens = make_gate("tokens", Level::correctness, Role::guard, "");
    tokens.need["kl"] = {Bound::Sense::at_most, 1e-4, "<=1e-4"};
    tokens.need["top1_agree"] = {Bound::Sense::at_least, 0.999, ">=0.999"};
    spec.gates = {tokens, make_gate("decode", Level::model, Role::decides, "decode_tps")};
    spec.schedule.pairs_max = 30;
    spec.schedule.aa_pairs = 4;
    return spec;
}

struct World {
    std::map<std::string, double> effect;                 // by scope: true log speed-up of B
    double pair_sd = 0.002, token_sd = 0.004, slope = 0;  // slope: log units per token, both arms
    double ttft_effect = 0;
    std::uint64_t noise_seed = 1;
    std::function<void(Pair&)> spoil;  // changes a finished pair
};

inline protocol::OpenReply applied_to(const Spec& spec) {
    protocol::OpenReply reply;
    for (const char* name : {"A", "B"}) {
        protocol::AppliedArm arm;
        arm.threads = 2;
        arm.kernels["q4_0_matvec"] = {"avx2", "champion", 10};
        arm.kernels["q4_0_experts"] = {"avx2", "champion", 3};
        arm.engine_flags["burn"] = "0%";
        arm.steps["moe"] = "fused";
        for (const auto& [op, variant] : spec.arms.at(name).kernels)
            arm.kernels[op] = {variant, "flag", 3};
        for (const auto& [flag, value] : spec.arms.at(name).engine_flags)
            arm.engine_flags[flag] = value;
        reply.arms[name] = arm;
    }
    return reply;
}

class Bench {
public:
    Bench(Spec spec, World world) : spec_(std::move(spec)), world_(std::move(world)) {
        applied = applied_to(spec_);
        correctness.positions = 32;
        correctness.top1_agree = 1;
        input.spec = &spec_;
        input.pairs = &pairs;
        input.applied = &report_;
        input.correctness = &outputs_;
        input.seed = 99;
        random_.seed(world_.noise_seed);
    }
    Bench(const Bench&) = delete;
    Bench& operator=(const Bench&) = delete;

    // The runner's loop: measure what is asked for until the judge stops or `limit` pairs.
    Analysis run(int limit = 1000) {
        Analysis analysis = judged();
        while (!analysis.stop && limit-- > 0) {
            std::optional<Pair> pair = next_pair(input, analysis);
            if (!pair) break;
            measure(*pair);
            pairs.push_back(*pair);
            analysis = judged();
        }
        return analysis;
    }

    Analysis finish() {
        run();
        input.finished = true;
        return judged();
    }

    // Of what the engine said as it stands now.
    Analysis judged() const {
        report_ = applied;
        outputs_ = correctness;
        return judge(input);
    }

    void measure(Pair& pair) {
        const Measurement* one = nullptr;
        const std::vector<Measurement> all = plan_measurements(spec_);
        one = measurement_of(all, pair.gate);
        const double effect = pair.kind == PairKind::aa ? 0 : world_.effect[one->scope];
        std::normal_distribution<double> normal;
        const std::string metric = one->scope == "model"   ? "token_ns"
                                   : one->scope == "micro" ? "op_ns"
                                                           : one->scope + "_ns";
        const double shift_a = world_.pair_sd * normal(random_) / std::sqrt(2.0);
        const double shift_b = world_.pair_sd * normal(random_) / std::sqrt(2.0) - effect;
        const int n = spec_.schedule.warmup_tokens + spec_.schedule.tokens;
        for (int i = 0; i < n; ++i) {
            const double common = std::log(1e6) + world_.slope * i;
            pair.a[metric].push_back(
                std::exp(common + shift_a + world_.token_sd * normal(random_)));
            pair.b[metric].push_back(
                std::exp(common + shift_b + world_.token_sd * normal(random_)));
        }
        if (one->scope == "model") {
            const double ttft = pair.kind == PairKind::aa ? 0 : world_.ttft_effect;
            pair.a["ttft_ns"] = {1e7 * std::exp(0.005 * normal(random_))};
            pair.b["ttft_ns"] = {1e7 * std::exp(0.005 * normal(random_) - ttft)};
            pair.a["rss_bytes"] = pair.b["rss_bytes"] = {1e8};
        }
        pair.sealed = true;
        if (world_.spoil) world_.spoil(pair);
    }

    JudgeInput input;
    std::vector<Pair> pairs;
    protocol::OpenReply applied;
    protocol::CorrectnessReply correctness;

private:
    Spec spec_;
    World world_;
    mutable ProgramReport report_;
    mutable OutputsReport outputs_;
    std::mt19937_64 random_;
};

inline const GateResult& gate_of(const Analysis& analysis, const std::string& id) {
    for (const GateResult& gate : analysis.gates)
        if (gate.id == id) return gate;
    throw std::runtime_error("no gate " + id);
}

inline const Check& check_of(const Analysis& analysis, const std::string& name) {
    for (const Check& check : analysis.checks)
        if (check.name == name) return check;
    throw std::runtime_error("no check " + name);
}

}  // namespace steady
