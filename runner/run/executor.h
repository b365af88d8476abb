// The two seams of the project. Executor: how an experiment touches the program under test; one
// implementation per kind of program (runner/programs), chosen by runner/cli/programs.h.
// SampleSink: where results go before anything else happens.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include "runner/judge/analysis.h"
#include "runner/plan/sample.h"
#include "runner/record/stacks.h"

namespace steady {

struct MeasureRequest {
    int gate = 0;
    Pair pair;          // kind, coins; values are to be filled
    std::string scope;  // model, block, ffn or micro
    std::string op;     // micro only
    int chunk = 4, warmup_tokens = 16, tokens = 64;
    std::uint64_t layout_seed = 0;
};

// The program under test failed where an answer was needed: a result about the candidate, not an
// error of Steady. what() is one of compile, crash, oom, timeout, protocol with its detail.
struct CandidateFailed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// How one child ended, told apart for the record: ok, crash, signal, timeout, oom, output_cap,
// protocol, cancelled.
struct Measured {
    std::string outcome = "ok";
    std::string detail;  // crash text, redacted
    Pair pair;
};

class Executor {
public:
    virtual ~Executor() = default;
    // What both arms really run. Throws Error when the program refuses the arms.
    virtual ProgramReport open() = 0;
    // Whether B's outputs are right. Throws CandidateFailed.
    virtual OutputsReport correctness() = 0;
    virtual Measured measure(const MeasureRequest& request) = 0;  // in fresh processes
    // Where the time went, for programs that can tell. Throws CandidateFailed.
    virtual std::optional<protocol::ProfileReply> profile() = 0;
    // Call stacks of both arms under the gate's command, in runs of their own. Nothing: it was
    // stopped. Asked only where the file does, which only those of outside programs may; what
    // cannot be sampled says so in `problem`.
    virtual std::optional<StackProfile> stacks(int /*gate*/) { return std::nullopt; }
};

class SampleSink {
public:
    virtual ~SampleSink() = default;
    virtual void put_pair(const Pair& pair) = 0;  // returns after the commit
    virtual void put_prior(const Prior& prior) = 0;
    virtual void put_applied(const ProgramReport& report) = 0;
    virtual void put_correctness(const OutputsReport& report) = 0;
    virtual void put_correctness_failure(const std::string& how) = 0;
    virtual void put_profile(const protocol::ProfileReply& reply) = 0;
    virtual void put_stacks(const StackProfile& stacks) = 0;
};

}  // namespace steady
