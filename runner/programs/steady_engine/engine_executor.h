// The Executor for steady-engine: every pair in a fresh process, or in steady-kernels for a kernel
// alone. A crash or hang of a candidate becomes the outcome of that pair.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runner/programs/steady_engine/engine_session.h"
#include "runner/programs/steady_engine/prepared_weights.h"
#include "runner/run/executor.h"
#include "runner/run/noisy_tries.h"
#include "runner/spec/spec.h"

namespace steady {

struct EngineExecutorOptions {
    const Spec* spec = nullptr;  // must outlive the executor
    std::string engine_path;     // absolute
    std::string kernels_path;    // absolute; needed for micro gates only
    std::string model_path;      // absolute
    std::string workload_text;
    int prompt_tokens = 8;
    int depth = 0;                     // see protocol::CorrectnessRequest
    std::string engine_sha256;         // if set, checked before every start
    int host_lock_fd = -1;             // inherited by every child
    const StopSignal* stop = nullptr;  // ends the running child
    double timeout_s = 3600;           // for one reply
    bool discard_noisy = true;         // by label-free signals, see noise.h
    // Shared with the experiments before and after; without, for this one alone.
    std::shared_ptr<PreparedWeights> weights;
};

class EngineExecutor : public Executor {
public:
    explicit EngineExecutor(EngineExecutorOptions options);

    ProgramReport open() override;
    OutputsReport correctness() override;
    Measured measure(const MeasureRequest& request) override;
    std::optional<protocol::ProfileReply> profile() override;

private:
    ChildOptions child(const std::string& program, std::vector<std::string> arguments) const;
    EngineSession start() const;
    protocol::OpenReply open_arms() const;
    protocol::OpenRequest open_request(const std::string& a, const std::string& b, int n_tokens,
                                       std::uint64_t layout_seed) const;
    protocol::DuetReply duet(const MeasureRequest& request, const std::string& a,
                             const std::string& b) const;
    void note_noise(Pair& pair, const std::string& disturbed);
    template <class Reply, class Request>
    Reply ask_once(const char* verb, Request request, std::uint64_t layout_seed) const;
    void measure_duet(const MeasureRequest& request, Pair& pair);
    void measure_processes(const MeasureRequest& request, Pair& pair);
    void measure_micro(const MeasureRequest& request, Pair& pair);
    const protocol::OpenReply& applied();
    const std::string& shape_of(const std::string& op);
    bool moves_weights(const MeasureRequest& request) const;
    double place_weights(const MeasureRequest& request);
    void settle();

    EngineExecutorOptions options_;
    std::optional<protocol::OpenReply> applied_;
    bool measured_before_ = false;
    NoisyTries tries_;
};

}  // namespace steady
