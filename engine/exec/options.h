// What one arm may be told besides kernels and steps: threads, how they wait and how rows are cut,
// and the planted slow-down. The same names serve the command line and an experiment's
// engine_flags.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "engine/exec/kernel_plan.h"
#include "engine/protocol/session.h"
#include "kernels/runtime/gpu.h"
#include "kernels/threads/threads.h"

namespace steady {

constexpr std::int64_t kMostBatch = 512;

struct ArmOptions {
    PlanRequest plan;
    ThreadOptions threads;
    std::int64_t batch = 0;  // tokens of a prompt per pass; 1: token by token; 0: the default
    // KV cache: f32 (or the mla step's integers), f16, bf16; none: what suits the device.
    std::optional<Type> cache;
    double burn = 0;  // share of each token's own time that is spun away after it, and counted
    int gpu = -1;     // which GPU it runs on; -1: the CPU
    gpu::Launch launch = gpu::Launch::dependent;  // of a token's kernels, on a GPU
    std::string tag;  // does nothing but be read back: arms of a blind audit differ in it alone
};

// Tokens of a prompt per pass: what the caller asked for, else what suits the device.
std::int64_t batch_of(const ArmOptions& options);

// The type of the cache's values: what the caller asked for, else f16 on a GPU, f32 on a CPU.
Type cache_of(const ArmOptions& options);

// Sets one engine flag (wait, cut, pin, batch, cache, activations, burn, device, launch, tag).
// Error listing flags or values when unknown.
void set_engine_flag(ArmOptions& options, const std::string& name, const std::string& value);

// Every flag with its effective value.
std::map<std::string, std::string> engine_flags(const ArmOptions& options);

// Error where the arm's tokens shall be one launch and the plan has something that cannot be part
// of it.
void check_launch(const ArmOptions& options, const KernelPlan& plan);

// threads 0 means all CPUs that this process may use.
ArmOptions arm_options(const protocol::ArmRequest& request);

}  // namespace steady
