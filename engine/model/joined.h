// The forward with a block's ops joined: the one that a GPU runs, and the same on the CPU. A block
// is one op, or three with experts and four without, and the same three or four for a batch of a
// prompt; nothing of a token returns to the host but its logits, when they are asked for.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/model/device_memory.h"
#include "kernels/runtime/gpu.h"

namespace steady {

struct Arm;
struct State;

// Of logits: not made; made and left where they are; or brought to the caller.
enum class Want { nothing, made, logits };

// What a pass of several tokens writes: n of what the pass of one writes, under the same names.
struct JoinedBatch {
    std::int32_t* tokens = nullptr;
    float *x = nullptr, *q = nullptr, *kv = nullptr, *values = nullptr;
    float *gate = nullptr, *up = nullptr, *router = nullptr, *expert_weights = nullptr;
    std::int32_t* expert_ids = nullptr;
    std::byte* scratch = nullptr;  // of the ops of batches
    std::int32_t* next = nullptr;  // [n] on the host: what `tokens` becomes
};

// Everything that such a pass writes, where the arm runs, and the graphs that were recorded of it.
struct Joined {
    // batch: tokens of a pass, at most; 1: none of several. context: positions of the cache.
    Joined(const Config& config, const State& tables, bool on_gpu, std::int64_t batch,
           std::int64_t context);
    ~Joined();
    Joined(const Joined&) = delete;
    Joined& operator=(const Joined&) = delete;

    bool on_gpu = false;
    std::int32_t* now = nullptr;         // [2]: this pass's token and position
    float* x = nullptr;                  // [dim]: the residual
    float* q = nullptr;                  // [q_rank], or [heads][head_size]
    float* kv = nullptr;                 // [kv_rank + n_rot]
    float* values = nullptr;             // [heads][n_value]
    float* parts = nullptr;              // scratch of op mla_decode
    float* gate = nullptr;               // [ff]
    float* up = nullptr;                 // [ff]
    float* router = nullptr;             // [n_experts]
    std::int32_t* expert_ids = nullptr;  // [n_experts_used]
    float* expert_weights = nullptr;     // [n_experts_used]
    float* hidden = nullptr;             // [2][n_experts_used * expert_ff + shared_ff]
    float* handed = nullptr;             // scratch of op block_decode
    float* logits = nullptr;             // [n_vocab]
    float* rope_cos = nullptr;           // [context][n_rot / 2]
    float* rope_sin = nullptr;

    std::int32_t* next = nullptr;  // [kAhead][2] on the host: what `now` becomes, pass by pass
    std::int64_t n_passes = 0;
    // Without and with logits; from each of kDepths positions on others, since variants may then do
    // otherwise.
    std::array<gpu::Graph, 10> graphs;
    JoinedBatch batch;

private:
    void make_batch(const Config& config, std::int64_t n, std::int64_t context);
    template <class T>
    T* take(std::int64_t n);
    std::vector<std::unique_ptr<DeviceMemory>> memory_;
};

// As forward(): token by token, or in batches of arm.batch.
std::span<const float> forward_joined(Arm& arm, std::span<const std::int32_t> tokens,
                                      std::int64_t first, Want want);

// Greedy decoding behind a pass whose last token stands at `position`. Enqueued, where the arm
// runs: the token of the largest logit becomes the next pass's, and told[0] once it is known; told
// lies on the host, where a GPU can write it. begin_choosing comes before the first.
void begin_choosing(Arm& arm, std::int64_t position);
void choose_token(Arm& arm, std::int32_t* told);
void forward_chosen(Arm& arm, std::int64_t position);  // the pass of the chosen token

// The parts, for block-level measurements: complete when they return.
void embed_joined(Arm& arm, std::int32_t token, std::int64_t position);
void run_block_joined(Arm& arm, std::int64_t index);
void run_feed_forward_joined(Arm& arm, std::int64_t index);

}  // namespace steady
