// The real Executor: one fresh `steady-engine session` per pair, driven by JSON lines over pipes,
// and one `steady-kernels duet` per micro pair. Whatever a child does, the answer is a value.
#pragma once

#include <optional>
#include <string>

#include "runner/edges/process.h"
#include "runner/pipeline/executor.h"
#include "runner/pipeline/spec.h"

namespace steady {

struct EngineSetup {
    std::string engine;   // absolute path of steady-engine
    std::string kernels;  // absolute path of steady-kernels
    std::string model;    // absolute path of the GGUF file
    std::string text;     // the workload
    int prompt_tokens = 16;
    int host_lock_fd = -1;             // inherited by every child
    const StopSignal* stop = nullptr;  // ends the running child
    double timeout_s = 600;            // for one answer
};

class EngineExecutor : public Executor {
public:
    // spec must outlive the executor.
    EngineExecutor(const Spec& spec, EngineSetup setup);

    protocol::OpenReply open() override;
    protocol::CorrectnessReply correctness() override;
    Measured measure(const MeasureRequest& request) override;
    protocol::ProfileReply profile() override;

private:
    Measured measure_duet(const MeasureRequest& request);
    Measured measure_micro(const MeasureRequest& request);
    const protocol::OpenReply& applied();

    const Spec* spec_;
    EngineSetup setup_;
    std::optional<protocol::OpenReply> applied_;
};

// Why a pair measured under these label-free signals cannot be used; empty when it can. Shares of
// all CPU time during the pair.
std::string window_fault(double steal_share, double busy_others_share);

}  // namespace steady
