// An Executor without processes: latencies come from a seeded noise model with a known true effect,
// so that the whole path can be run hundreds of times and its answers be checked against the truth.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "runner/run/executor.h"
#include "runner/spec/spec.h"

namespace steady {

struct FakeWorld {
    double effect = 0;                           // true log speed-up of B at level model and block
    std::map<std::string, double> scope_effect;  // overrides by scope: micro, block, ffn, model
    double token_sd = 0.01;                      // white noise of one token, log
    double drift_sd = 0.002;                     // AR(1) innovations per block, log
    double spike_share = 0.02, spike = 0.05;
    double token_ns = 1e6;
    std::uint64_t seed = 1;
    protocol::CorrectnessReply correctness{.positions = 32, .top1_agree = 1};
    std::optional<StackProfile> stacks = std::nullopt;
    bool ignores_flags = false;                    // flags change nothing that runs
    std::function<std::string(int call)> failure;  // outcome of the n-th measure, "" = ok
    std::function<bool(int call)> unsteady;        // B of the n-th measure slows down all the way
};

class FakeExecutor : public Executor {
public:
    FakeExecutor(const Spec& spec, FakeWorld world)
        : spec_(&spec), world_(std::move(world)), random_(world_.seed) {}

    ProgramReport open() override;
    OutputsReport correctness() override { return world_.correctness; }
    Measured measure(const MeasureRequest& request) override;
    std::optional<protocol::ProfileReply> profile() override { return protocol::ProfileReply{}; }
    std::optional<StackProfile> stacks(int gate) override {
        stacks_of_gate = gate;
        return world_.stacks;
    }

    int measured = 0;
    int stacks_of_gate = -1;  // never asked for

private:
    double next_latency(double scale);

    const Spec* spec_;
    FakeWorld world_;
    std::mt19937_64 random_;
    double drift_ = 0;
};

struct FakeSink : SampleSink {
    void put_pair(const Pair& pair) override { pairs.push_back(pair); }
    void put_applied(const ProgramReport& report) override { applied.push_back(report); }
    void put_correctness(const OutputsReport& report) override { correctness.push_back(report); }
    void put_correctness_failure(const std::string& how) override { failure = how; }
    void put_prior(const Prior&) override {}
    void put_profile(const protocol::ProfileReply&) override {}
    void put_stacks(const StackProfile& profile) override {
        stacks.push_back(profile);
        pairs_before_stacks = pairs.size();
    }

    std::vector<Pair> pairs;
    std::vector<StackProfile> stacks;
    std::size_t pairs_before_stacks = 0;
    std::vector<ProgramReport> applied;
    std::vector<OutputsReport> correctness;
    std::string failure;
};

}  // namespace steady
