// The fake's latencies: a token time times white noise, slow drift and rare spikes, as measured on
// shared machines (runner/statistics/README.md lists the models).
#include "tests/support/fake_executor.h"

#include <cmath>

namespace steady {
namespace {

protocol::AppliedArm applied(const Spec& spec, const std::string& name, bool flags_work) {
    protocol::AppliedArm arm;
    arm.kernels["q4_0_matvec"] = {"avx2", "champion", 10};
    arm.kernels["q4_0_experts"] = {"avx2", "champion", 2};
    arm.steps = {{"moe", "fused"}, {"mla", "absorbed"}};
    arm.engine_flags = {{"burn", "0%"}, {"wait", "spin"}};
    arm.threads = 2;
    arm.launches_per_token = 40;
    const ArmSpec& asked = spec.arms.at(name);
    if (!flags_work) return arm;
    for (const auto& [op, variant] : asked.kernels) arm.kernels[op] = {variant, "flag", 2};
    for (const auto& [step, alternative] : asked.steps) arm.steps[step] = alternative;
    for (const auto& [flag, value] : asked.engine_flags) arm.engine_flags[flag] = value;
    if (asked.threads) arm.threads = *asked.threads;
    return arm;
}

}  // namespace

ProgramReport FakeExecutor::open() {
    protocol::OpenReply reply;
    reply.engine_build = "fake";
    reply.architecture = "deepseek2";
    reply.n_blocks = 3;
    reply.arms["A"] = applied(*spec_, "A", !world_.ignores_flags);
    reply.arms["B"] = applied(*spec_, "B", !world_.ignores_flags);
    reply.op_shapes["q4_0_matvec"] = {"groups=1,rows=256,cols=256"};
    reply.op_shapes["q4_0_experts"] = {"n_experts=8,n_used=2,cols=256,hidden=256"};
    return reply;
}

double FakeExecutor::next_latency(double scale) {
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    double noise = world_.token_sd * normal(random_) + drift_;
    if (uniform(random_) < world_.spike_share) {
        noise += world_.spike * -std::log(1 - uniform(random_));
    }
    return world_.token_ns * scale * std::exp(noise);
}

Measured FakeExecutor::measure(const MeasureRequest& request) {
    Measured result;
    result.pair = request.pair;
    if (world_.failure) result.outcome = world_.failure(measured);
    if (result.outcome.empty()) result.outcome = "ok";
    ++measured;
    if (result.outcome != "ok") return result;

    const auto own = world_.scope_effect.find(request.scope);
    double effect = own != world_.scope_effect.end() ? own->second : world_.effect;
    if (request.pair.kind == PairKind::aa) effect = 0;
    const std::string metric = request.scope == "model"   ? "token_ns"
                               : request.scope == "micro" ? "op_ns"
                                                          : request.scope + "_ns";
    std::normal_distribution<double> normal;
    drift_ = 0;
    for (const char coin : request.pair.coins) {
        drift_ = 0.8 * drift_ + world_.drift_sd * normal(random_);
        for (const bool first : {true, false}) {
            const bool is_a = (coin == '0') == first;
            for (int i = 0; i < request.chunk; ++i) {
                const double ns = next_latency(is_a ? 1 : std::exp(-effect));
                (is_a ? result.pair.a : result.pair.b)[metric].push_back(ns);
            }
        }
    }
    if (world_.unsteady && world_.unsteady(measured - 1)) {
        double slower = 1;
        for (double& ns : result.pair.b[metric]) ns *= slower *= 1.2;
    }
    for (auto* side : {&result.pair.a, &result.pair.b}) {
        (*side)["ttft_ns"] = {10 * next_latency(1)};
        (*side)["rss_bytes"] = {1e8};
        (*side)["launches_per_token"] = {40};
    }
    result.pair.sealed = true;
    return result;
}

}  // namespace steady
