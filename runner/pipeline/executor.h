// The two seams of the project. Executor: how an experiment touches programs under test.
// SampleSink: where results go before anything else happens. Each has one real implementation
// (runner/edges, runner/storage) and one fake (tests/support).
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "engine/protocol/session.h"
#include "runner/pipeline/analysis.h"
#include "runner/pipeline/sample.h"

namespace steady {

struct MeasureRequest {
    int gate = 0;
    Pair pair;              // kind, coins; values are to be filled
    std::string scope;      // model, block, ffn or micro
    std::string op, shape;  // micro only
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
    virtual protocol::OpenReply open() = 0;  // throws Error when the engine refuses the arms
    virtual protocol::CorrectnessReply correctness() = 0;         // throws CandidateFailed
    virtual Measured measure(const MeasureRequest& request) = 0;  // one fresh process
    virtual protocol::ProfileReply profile() = 0;                 // throws CandidateFailed
};

class SampleSink {
public:
    virtual ~SampleSink() = default;
    virtual void put_pair(const Pair& pair) = 0;  // returns after the commit
    virtual void put_prior(const Prior& prior) = 0;
    virtual void put_applied(const protocol::OpenReply& reply) = 0;
    virtual void put_correctness(const protocol::CorrectnessReply& reply) = 0;
    virtual void put_correctness_failure(const std::string& how) = 0;
    virtual void put_profile(const protocol::ProfileReply& reply) = 0;
};

}  // namespace steady
