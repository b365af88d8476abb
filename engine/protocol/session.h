// What the runner and `steady-engine session FILE` say to each other: one JSON object per line,
// requests on stdin, replies on stdout, each reply echoing its request's nonce. Plain structs here;
// their JSON form is engine/protocol/session_json.h.
//
//   open         → what was applied: both arms' frozen plans, read back from what will run
//   correctness  → how far B's outputs are from A's, on the workload
//   duet         → latencies of one pair, arms alternating in one process
//   profile      → time per op and variant, each arm
//   quit         → the process ends with exit code 0
//
// On the line, "type" names the request (open, correctness, duet, profile, quit) and its reply
// ("error" for ErrorReply); the other keys are the struct's fields.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace steady::protocol {

constexpr int kVersion = 2;

// One arm as an experiment file asks for it; empty means the engine's defaults (champions).
struct ArmRequest {
    std::map<std::string, std::string> kernels;  // op → variant; {"*": "reference"} means all
    std::map<std::string, std::string> steps;    // step → alternative
    int threads = 0;                             // 0: all CPUs this process may use
    std::map<std::string, std::string> engine_flags;  // e.g. {"burn": "1%", "wait": "spin"}
};

struct AppliedKernel {
    std::string variant;
    std::string reason;  // "flag", "champion", "nearest", "reference", "follows": engine/README.md
    double calls_per_token = 0;  // counted on a real decode step, not derived from the plan
    double calls_per_pass = 0;   // the same of a prompt's pass of several tokens, if it takes such
    std::string code;            // hash of the source that ran; empty: an older engine
};

// What really runs, read back after one decode step and one pass of a prompt.
struct AppliedArm {
    std::map<std::string, AppliedKernel> kernels;
    std::map<std::string, std::string> steps;
    std::map<std::string, std::string> code;  // of the steps and of "exec"; empty: an older engine
    int threads = 0;
    std::map<std::string, std::string> engine_flags;  // every flag with its effective value
    double launches_per_token = 0;
    std::int64_t weight_bytes_per_token = 0;
};

struct OpenRequest {
    std::string nonce;
    std::map<std::string, ArmRequest> arms;  // "A" and "B"
    int context = 512;                       // KV positions per arm
    std::uint64_t layout_seed = 0;           // random padding of stack and heap, per process
};

struct OpenReply {
    std::string nonce;
    int version = kVersion;
    std::string engine_build;  // source revision or "unknown"
    std::string architecture;
    std::string model_name;
    int n_blocks = 0;
    std::map<std::string, AppliedArm> arms;
    // op → shapes that this model uses, each "key=value,…" as steady-kernels takes it,
    // most bytes per token first
    std::map<std::string, std::vector<std::string>> op_shapes;
};

struct CorrectnessRequest {
    std::string nonce;
    std::string text;  // the workload's text; prompt and forced tokens are cut from it
    int prompt_tokens = 8;
    int tokens = 32;  // compared positions after the prompt
    int depth = 0;    // positions between the two that repeat the prompt's rows in the cache
};

struct CorrectnessReply {
    std::string nonce;
    int positions = 0;
    double top1_agree = 0;  // share of positions where both arms' argmax is equal
    double kl = 0;          // mean over positions of KL(A‖B), nats
    double kl_max = 0;
    double max_abs = 0;       // largest |logit_A − logit_B|
    double rel_l2 = 0;        // largest over positions of ‖B − A‖ / ‖A‖
    bool non_finite = false;  // NaN or infinity in any logit of B
};

// One pair. Block k of the order gives `chunk` tokens to each arm; coins[k]: '0' = A first.
// Warm-up blocks come first: warmup_tokens / chunk of them, then tokens / chunk.
// scope model: whole decode steps. block / ffn: one layer (cycling through the layers), or its
// feed-forward alone, at the same positions for both arms.
struct DuetRequest {
    std::string nonce;
    std::string scope = "model";
    std::string coins;
    int chunk = 4;
    int warmup_tokens = 16;
    int tokens = 64;
    int prompt_tokens = 8;
    std::string text;
    int depth = 0;  // as in CorrectnessRequest
};

struct DuetArm {
    std::vector<double> token_ns;  // warm-up first, warmup_tokens + tokens values
    std::vector<std::int64_t>
        start_ns;          // when each began, since the duet's begin: order is provable
    double ttft_ns = 0;    // prompt plus first token (scope model)
    double rss_bytes = 0;  // resident memory this arm accounts for: shared weights + own
    double launches_per_token = 0;
    std::int64_t involuntary_switches = 0;
    std::int64_t major_faults = 0;
    // Of the GPU after each chunk of this arm, warm-up included. Empty: no arm runs on a GPU, its
    // driver does not tell, or an older engine.
    std::vector<double> sm_clock_mhz = {}, memory_clock_mhz = {};
    std::vector<std::int64_t> clock_reasons = {};  // NVML's clocks event reasons, a bit each
};

struct DuetReply {
    std::string nonce;
    DuetArm a, b;
    double sentinel_gb_per_s = 0;  // fixed read loop before and after, label-free
    double steal_share = 0;        // /proc/stat steal during the duet, share of wall × CPUs
    double busy_others_share = 0;  // CPU time of other processes, share of wall × CPUs
};

struct ProfileRequest {
    std::string nonce;
    int tokens = 16;
    int prompt_tokens = 8;
    std::string text;
    int depth = 0;     // as in CorrectnessRequest
    bool read = true;  // measure what memory gives, too; an engine of version 1 always does
};

struct ProfileRow {
    std::string op, variant;
    double calls_per_token = 0;
    double ns_per_token = 0;
    double bytes_per_token = 0;
    // Per token, of each process that was asked; the asker joins them. Empty: one process.
    std::vector<double> process_ns = {};
};

struct ProfileReply {
    std::string nonce;
    std::map<std::string, std::vector<ProfileRow>> arms;
    std::map<std::string, double> launches_per_token;
    std::map<std::string, double> barrier_ns_per_token;
    // What all threads together, or the GPU, read from memory in the same minute; 0: not measured,
    // since it was not asked for, or the weights stay in the CPU's cache.
    double read_gb_per_s = 0;
    std::string read_where =
        {};  // "gpu", or empty: of the host, as older engines measured it always
};

struct QuitRequest {
    std::string nonce;
};

struct QuitReply {
    std::string nonce;
};

// Any request may be answered by this instead.
struct ErrorReply {
    std::string nonce;
    std::string error;
};

}  // namespace steady::protocol
