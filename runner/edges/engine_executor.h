<<<<<<< HEAD
// The real Executor: one fresh `steady-engine session` per pair, driven by JSON lines over pipes,
// and one `steady-kernels duet` per micro pair. Whatever a child does, the answer is a value.
=======
// The real Executor: every pair in a fresh steady-engine process, or in steady-kernels for a kernel
// alone. Whatever a candidate does to its process becomes the outcome of that pair.
>>>>>>> store
#pragma once

#include <optional>
#include <string>

<<<<<<< HEAD
#include "runner/edges/process.h"
=======
#include "runner/edges/engine_session.h"
>>>>>>> store
#include "runner/pipeline/executor.h"
#include "runner/pipeline/spec.h"

namespace steady {

<<<<<<< HEAD
struct EngineSetup {
    std::string engine;   // absolute path of steady-engine
    std::string kernels;  // absolute path of steady-kernels
    std::string model;    // absolute path of the GGUF file
    std::string text;     // the workload
    int prompt_tokens = 16;
    int host_lock_fd = -1;             // inherited by every child
    const StopSignal* stop = nullptr;  // ends the running child
    double timeout_s = 600;            // for one answer
=======
struct EngineExecutorOptions {
    const Spec* spec = nullptr;  // must outlive the executor
    std::string engine_path;     // absolute
    std::string kernels_path;    // absolute; needed for micro gates only
    std::string model_path;      // absolute
    std::string workload_text;
    int prompt_tokens = 8;
    std::string engine_sha256;         // if set, checked before every start
    int host_lock_fd = -1;             // inherited by every child
    const StopSignal* stop = nullptr;  // ends the running child
    double timeout_s = 3600;           // for one reply
    bool discard_noisy = true;         // by label-free signals, see noise.h
>>>>>>> store
};

class EngineExecutor : public Executor {
public:
<<<<<<< HEAD
    // spec must outlive the executor.
    EngineExecutor(const Spec& spec, EngineSetup setup);
=======
    explicit EngineExecutor(EngineExecutorOptions options);
>>>>>>> store

    protocol::OpenReply open() override;
    protocol::CorrectnessReply correctness() override;
    Measured measure(const MeasureRequest& request) override;
    protocol::ProfileReply profile() override;

private:
<<<<<<< HEAD
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

=======
    ChildOptions child(const std::string& program, std::vector<std::string> arguments) const;
    EngineSession start() const;
    protocol::OpenRequest open_request(const std::string& a, const std::string& b, int n_tokens,
                                       std::uint64_t layout_seed) const;
    protocol::DuetReply duet(const MeasureRequest& request, const std::string& a,
                             const std::string& b) const;
    void measure_duet(const MeasureRequest& request, Pair& pair);
    void measure_processes(const MeasureRequest& request, Pair& pair);
    void measure_micro(const MeasureRequest& request, Pair& pair);
    const protocol::OpenReply& applied();
    void settle();

    EngineExecutorOptions options_;
    std::optional<protocol::OpenReply> applied_;
    bool measured_before_ = false;
};

>>>>>>> store
}  // namespace steady
