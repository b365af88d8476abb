// The joined forward, top to bottom, and how its launches are issued.
#include "engine/model/joined.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <tuple>

#include "engine/model/arm.h"

namespace steady {
namespace {

// Passes that may be enqueued before the host waits for them.
constexpr std::int64_t kAhead = 64;
// Passes before and from these positions on are recorded apart: a recorded pass does what its
// position asked for, and variants of attention may choose by it. Before the first two
// kernels/block_decode/cuda_polled.cu has room for that many; the last two are where the 132 blocks
// of kernel_parts.cu beside it need a second tile of 48 and of 64.
constexpr std::int64_t kDepths[] = {320, 512, 132 * 48, 132 * 64};
static_assert(std::tuple_size_v<decltype(Joined::graphs)> == 2 * (std::size(kDepths) + 1));
static_assert(std::tuple_size_v<decltype(Arm::graph_counters)> == 2 * (std::size(kDepths) + 1));

AnyMatrix any(const Matrix& m) { return {m.type, m.groups * m.rows, m.cols, m.data}; }

void note(const Arm& arm, std::string_view name, std::int64_t block, const float* values,
          std::int64_t n) {
    if (!arm.trace) return;
    arm.trace(name, block, floats_at(arm.joined->on_gpu, values, n));
}

// Which vector the products read, and how it is prepared.
struct From {
    const float* x = nullptr;
    const float* norm = nullptr;
    const float* up = nullptr;
};

struct To {
    const Matrix* m = nullptr;
    float* y = nullptr;
};

Products::Args products(const Arm& arm, const From& from, std::initializer_list<To> to,
                        const float* residual = nullptr) {
    Products::Args args;
    args.x = from.x;
    args.norm = from.norm;
    args.up = from.up;
    args.eps = arm.config.rms_epsilon;
    args.residual = residual;
    std::int64_t n = 0, rows = 0;
    for (const To& each : to) {
        args.m[static_cast<std::size_t>(n)] = any(*each.m);
        args.y[static_cast<std::size_t>(n++)] = each.y;
        rows += each.m->rows;
    }
    const Matrix& m = *to.begin()->m;
    const std::int64_t input = from.norm != nullptr ? 2 : from.up != nullptr ? 3 : 1;
    args.shape = {m.type, rows, m.cols, n, input, residual != nullptr ? 2 : 1};
    return args;
}

Products::Args first_products(const Arm& arm, const Block& b) {
    const Joined& j = *arm.joined;
    const Matrix* query = arm.config.q_rank == 0 ? &b.attn_q : &b.attn_q_a;
    return products(arm, {.x = j.x, .norm = b.attn_norm}, {{query, j.q}, {&b.attn_kv_a_mqa, j.kv}});
}

MlaDecode::Args attention_of(Arm& arm, const Block& b, std::int64_t index, std::int64_t position) {
    Joined& j = *arm.joined;
    const Config& c = arm.config;
    MlaDecode::Args args;
    args.shape = {c.n_heads, c.q_rank,     c.n_nope,         c.n_rot,        c.n_value,
                  c.kv_rank, position + 1, arm.cache.type(), b.attn_v_b.type};
    args.q = j.q;
    args.q_norm = b.attn_q_a_norm;
    const bool folded = arm.plan.mla->folded;
    args.shape.folded = folded ? 1 : 0;
    args.q_b = any(folded ? b.attn_q_rot : b.attn_q_b);
    args.kv = j.kv;
    args.kv_norm = b.attn_kv_a_norm;
    args.eps = c.rms_epsilon;
    args.k_b = any(folded ? b.attn_q_folded : b.attn_k_b);
    args.v_b = any(b.attn_v_b);
    args.cos = j.rope_cos;
    args.sin = j.rope_sin;
    args.position = j.now + 1;
    args.cache = arm.cache.row(index, 0);
    args.scale = c.attention_scale;
    args.out = j.values;
    args.scratch = j.parts;
    return args;
}

Products::Args output_product(const Arm& arm, const Block& b) {
    const Joined& j = *arm.joined;
    return products(arm, {.x = j.values}, {{&b.attn_output, j.x}}, j.x);
}

// Of a dense block the matrices of its feed-forward take the place of the shared expert's.
MoeDecode::Args experts(const Arm& arm, const Block& b) {
    const Joined& j = *arm.joined;
    const Config& c = arm.config;
    MoeDecode::Args args;
    const Type shared = b.ffn_gate.present() ? b.ffn_gate.type : Type::q4_0;
    args.shape = {0, 0, c.dim, 0, b.ffn_gate.rows, Type::q4_0, shared};
    args.x = j.x;
    args.norm = b.ffn_norm;
    args.eps = c.rms_epsilon;
    args.shared_gate = any(b.ffn_gate);
    args.shared_up = any(b.ffn_up);
    args.shared_down = any(b.ffn_down);
    args.hidden = j.hidden;
    if (b.dense) return args;
    args.shape.n_experts = c.n_experts;
    args.shape.n_used = c.n_experts_used;
    args.shape.hidden = c.expert_ff;
    args.shape.type = b.ffn_gate_exps.type;
    args.router = any(b.ffn_gate_inp);
    args.bias = b.exp_probs_b;
    args.gating = c.gating;
    args.normalise = c.expert_weights_norm;
    args.scale = c.expert_weights_scale;
    args.gate = any(b.ffn_gate_exps);
    args.up = any(b.ffn_up_exps);
    args.down = any(b.ffn_down_exps);
    args.logits = j.router;
    args.ids = j.expert_ids;
    args.weights = j.expert_weights;
    return args;
}

void attend(Arm& arm, const Block& b, std::int64_t index, std::int64_t position) {
    Joined& j = *arm.joined;
    launch<Products>(arm, first_products(arm, b));
    launch<MlaDecode>(arm, attention_of(arm, b, index, position));
    note(arm, "kqv_out", index, j.values, arm.config.n_heads * arm.config.n_value);
    launch<Products>(arm, output_product(arm, b));
    note(arm, "ffn_inp", index, j.x, arm.config.dim);
}

void feed_forward(Arm& arm, std::int64_t index) {
    Joined& j = *arm.joined;
    const Block& b = arm.weights.blocks[static_cast<std::size_t>(index)];
    if (b.dense) {
        launch<Products>(arm, products(arm, {.x = j.x, .norm = b.ffn_norm},
                                       {{&b.ffn_gate, j.gate}, {&b.ffn_up, j.up}}));
        launch<Products>(arm, products(arm, {.x = j.gate, .up = j.up}, {{&b.ffn_down, j.x}}, j.x));
    } else {
        launch<MoeDecode>(arm, experts(arm, b));
        note(arm, "ffn_moe_logits", -1, j.router, arm.config.n_experts);
    }
    note(arm, "l_out", index, j.x, arm.config.dim);
}

// A block in one op. Blocks that follow each other in a pass hand x over.
void whole_block(Arm& arm, std::int64_t index, std::int64_t position, bool handed, bool hands) {
    Joined& j = *arm.joined;
    const Config& c = arm.config;
    const Block& b = arm.weights.blocks[static_cast<std::size_t>(index)];
    BlockDecode::Args args;
    args.first = first_products(arm, b);
    args.attention = attention_of(arm, b, index, position);
    args.output = output_product(arm, b);
    args.experts = experts(arm, b);
    const MoeDecodeShape& e = args.experts.shape;
    args.shape = {c.dim,
                  c.n_heads,
                  c.q_rank,
                  c.n_nope,
                  c.n_rot,
                  c.n_value,
                  c.kv_rank,
                  position + 1,
                  arm.cache.type(),
                  b.attn_v_b.type,
                  e.n_experts,
                  e.n_used,
                  e.hidden,
                  e.type,
                  e.shared,
                  e.shared_type,
                  args.experts.router.type};
    args.handed = handed;
    if (hands && index + 1 < c.n_blocks) {
        args.next_norm = arm.weights.blocks[static_cast<std::size_t>(index) + 1].attn_norm;
    }
    args.scratch = j.handed;
    launch<BlockDecode>(arm, args);
    note(arm, "l_out", index, j.x, c.dim);
}

void enqueue_block(Arm& arm, std::int64_t index, std::int64_t position) {
    if (arm.plan.block->whole) return whole_block(arm, index, position, index > 0, true);
    attend(arm, arm.weights.blocks[static_cast<std::size_t>(index)], index, position);
    feed_forward(arm, index);
}

// The whole pass of the token that lies in `now`.
void run_pass(Arm& arm, std::int64_t position, bool want_logits) {
    Joined& j = *arm.joined;
    const Weights& w = arm.weights;
    launch<TokenRow>(
        arm,
        {{w.token_embd.type, w.token_embd.rows, w.token_embd.cols}, w.token_embd.data, j.now, j.x});
    note(arm, "inp_embd", -1, j.x, arm.config.dim);
    for (std::int64_t i = 0; i < arm.config.n_blocks; ++i) {
        enqueue_block(arm, i, position);
    }
    if (!want_logits) return;
    launch<Products>(arm,
                     products(arm, {.x = j.x, .norm = w.output_norm}, {{&w.output, j.logits}}));
    note(arm, "result_output", -1, j.logits, arm.config.n_vocab);
}

void set_now(Joined& j, std::int32_t token, std::int64_t position) {
    if (!j.on_gpu) {
        j.now[0] = token;
        j.now[1] = static_cast<std::int32_t>(position);
        return;
    }
    const std::int64_t slot = j.n_passes++ % kAhead;
    if (slot == 0) gpu::finish();  // what lies in the slots was read
    j.next[2 * slot] = token;
    j.next[2 * slot + 1] = static_cast<std::int32_t>(position);
    gpu::enqueue_upload(j.now, j.next + 2 * slot, 2 * sizeof(std::int32_t));
}

std::size_t graph_of(std::int64_t position, bool want_logits) {
    std::size_t depth = 0;
    for (const std::int64_t from : kDepths) depth += position >= from ? 1U : 0U;
    return 2 * depth + (want_logits ? 1U : 0U);
}

struct Recording {
    Arm* arm;
    std::int64_t position;
    bool want_logits;
};

// What a recorded pass calls is what it calls whenever it is issued.
void record(Arm& arm, std::int64_t position, bool want_logits) {
    const EngineOps::Tuple<Counted> before = arm.counters;
    arm.counters = {};
    Recording recording{&arm, position, want_logits};
    arm.joined->graphs[graph_of(position, want_logits)].record(
        arm.options.launch,
        [](void* context) {
            const Recording& r = *static_cast<Recording*>(context);
            run_pass(*r.arm, r.position, r.want_logits);
        },
        &recording);
    arm.graph_counters[graph_of(position, want_logits)] = arm.counters;
    arm.counters = before;
}

template <std::size_t... kOps>
void add_calls(EngineOps::Tuple<Counted>& to, const EngineOps::Tuple<Counted>& from,
               std::index_sequence<kOps...> /*ops*/) {
    ((std::get<kOps>(to).counter.calls += std::get<kOps>(from).counter.calls), ...);
}

void issue_pass(Arm& arm, std::int64_t position, bool want_logits) {
    Joined& j = *arm.joined;
    // Times and intermediates are of single ops.
    const bool one_by_one =
        !j.on_gpu || arm.options.launch == gpu::Launch::stream || arm.timed || arm.trace;
    if (one_by_one) return run_pass(arm, position, want_logits);
    const std::size_t which = graph_of(position, want_logits);
    if (!j.graphs[which].ready()) record(arm, position, want_logits);
    j.graphs[which].issue();
    add_calls(arm.counters, arm.graph_counters[which],
              std::make_index_sequence<static_cast<std::size_t>(EngineOps::size)>());
}

// The same for a batch: the ops of one token say where its values lie, and those of the others
// follow them.
struct BatchPass {
    Arm& arm;
    JoinedBatch& of;
    std::int64_t n, first;

    void products(Products::Args args) const {
        launch<ProductsBatch>(arm, {{args.shape, n}, args, of.scratch});
    }
    void attend(const Block& b, std::int64_t index) const {
        MlaDecode::Args args = attention_of(arm, b, index, first + n - 1);
        args.q = of.q;
        args.kv = of.kv;
        args.out = of.values;
        launch<MlaBatch>(arm, {{args.shape, n}, args, of.scratch});
    }
    void feed_forward(const Block& b) const {
        if (b.dense) {
            products(steady::products(arm, {.x = of.x, .norm = b.ffn_norm},
                                      {{&b.ffn_gate, of.gate}, {&b.ffn_up, of.up}}));
            products(
                steady::products(arm, {.x = of.gate, .up = of.up}, {{&b.ffn_down, of.x}}, of.x));
            return;
        }
        MoeDecode::Args args = experts(arm, b);
        args.x = of.x;
        args.logits = of.router;
        args.ids = of.expert_ids;
        args.weights = of.expert_weights;
        launch<MoeBatch>(arm, {{args.shape, n}, args, of.scratch});
    }
    void block(std::int64_t index) const {
        const Block& b = arm.weights.blocks[static_cast<std::size_t>(index)];
        const Matrix* query = arm.config.q_rank == 0 ? &b.attn_q : &b.attn_q_a;
        products(steady::products(arm, {.x = of.x, .norm = b.attn_norm},
                                  {{query, of.q}, {&b.attn_kv_a_mqa, of.kv}}));
        attend(b, index);
        products(steady::products(arm, {.x = of.values}, {{&b.attn_output, of.x}}, of.x));
        feed_forward(b);
    }
};

void set_batch(Joined& j, std::span<const std::int32_t> tokens) {
    if (!j.on_gpu) {
        std::copy(tokens.begin(), tokens.end(), j.batch.tokens);
        return;
    }
    gpu::finish();  // what lies there was read
    std::copy(tokens.begin(), tokens.end(), j.batch.next);
    gpu::enqueue_upload(j.batch.tokens, j.batch.next,
                        static_cast<std::int64_t>(tokens.size_bytes()));
}

void run_batch(Arm& arm, std::span<const std::int32_t> tokens, std::int64_t first,
               bool want_logits) {
    Joined& j = *arm.joined;
    const Weights& w = arm.weights;
    const auto n = static_cast<std::int64_t>(tokens.size());
    set_batch(j, tokens);
    launch<TokenRow>(arm, {{w.token_embd.type, w.token_embd.rows, w.token_embd.cols, n},
                           w.token_embd.data,
                           j.batch.tokens,
                           j.batch.x});
    const BatchPass pass{arm, j.batch, n, first};
    for (std::int64_t i = 0; i < arm.config.n_blocks; ++i) pass.block(i);
    if (!want_logits) return;
    const float* last = j.batch.x + (n - 1) * arm.config.dim;
    launch<Products>(arm,
                     products(arm, {.x = last, .norm = w.output_norm}, {{&w.output, j.logits}}));
}

}  // namespace

template <class T>
T* Joined::take(std::int64_t n) {
    const auto bytes = std::max<std::int64_t>(n, 1) * static_cast<std::int64_t>(sizeof(T));
    memory_.push_back(std::make_unique<DeviceMemory>(on_gpu, bytes));
    return memory_.back()->as<T>();
}

Joined::Joined(const Config& c, const State& tables, bool runs_on_gpu, std::int64_t most,
               std::int64_t context)
    : on_gpu(runs_on_gpu) {
    now = take<std::int32_t>(2);
    x = take<float>(c.dim);
    q = take<float>(c.q_rank == 0 ? c.n_heads * c.head_size() : c.q_rank);
    kv = take<float>(c.latent_size());
    values = take<float>(c.n_heads * c.n_value);
    parts = take<float>(
        MlaDecode::scratch_floats({c.n_heads, c.q_rank, c.n_nope, c.n_rot, c.n_value, c.kv_rank}));
    gate = take<float>(c.ff);
    up = take<float>(c.ff);
    router = take<float>(c.n_experts);
    expert_ids = take<std::int32_t>(c.n_experts_used);
    expert_weights = take<float>(c.n_experts_used);
    hidden = take<float>(2 * (c.n_experts_used * c.expert_ff + std::max(c.ff, c.shared_ff())));
    handed = take<float>(BlockDecode::scratch_floats({.cols = c.dim,
                                                      .n_heads = c.n_heads,
                                                      .q_rank = c.q_rank,
                                                      .n_value = c.n_value,
                                                      .kv_rank = c.kv_rank,
                                                      .n_experts = c.n_experts,
                                                      .n_used = c.n_experts_used,
                                                      .hidden = c.expert_ff,
                                                      .shared = std::max(c.ff, c.shared_ff())}));
    logits = take<float>(c.n_vocab);
    const auto table = [this](const std::vector<float>& values_of) {
        auto* data = take<float>(static_cast<std::int64_t>(values_of.size()));
        memory_.back()->write(values_of.data(),
                              static_cast<std::int64_t>(values_of.size() * sizeof(float)));
        return data;
    };
    rope_cos = table(tables.rope_cos);
    rope_sin = table(tables.rope_sin);
    if (on_gpu) {
        next = static_cast<std::int32_t*>(
            gpu::allocate_on_host(kAhead * 2 * static_cast<std::int64_t>(sizeof(std::int32_t))));
    }
    if (most > 1) make_batch(c, most, context);
}

void Joined::make_batch(const Config& c, std::int64_t n, std::int64_t context) {
    batch.tokens = take<std::int32_t>(n);
    batch.x = take<float>(n * c.dim);
    batch.q = take<float>(n * (c.q_rank == 0 ? c.n_heads * c.head_size() : c.q_rank));
    batch.kv = take<float>(n * c.latent_size());
    batch.values = take<float>(n * c.n_heads * c.n_value);
    batch.gate = take<float>(n * c.ff);
    batch.up = take<float>(n * c.ff);
    batch.router = take<float>(n * c.n_experts);
    batch.expert_ids = take<std::int32_t>(n * c.n_experts_used);
    batch.expert_weights = take<float>(n * c.n_experts_used);
    const std::int64_t widest = std::max({c.dim, c.ff, c.n_heads * c.n_value});
    const MlaDecodeShape attention{c.n_heads, c.q_rank,  c.n_nope, c.n_rot,
                                   c.n_value, c.kv_rank, context};
    const MoeDecodeShape mixture{c.n_experts, c.n_experts_used, c.dim, c.expert_ff, c.shared_ff()};
    batch.scratch = take<std::byte>(
        std::max({ProductsBatch::scratch_bytes({{.cols = widest}, n}),
                  MlaBatch::scratch_bytes({attention, n}), MoeBatch::scratch_bytes({mixture, n})}));
    const auto bytes = n * static_cast<std::int64_t>(sizeof(std::int32_t));
    if (on_gpu) batch.next = static_cast<std::int32_t*>(gpu::allocate_on_host(bytes));
}

Joined::~Joined() {
    if (next != nullptr) gpu::release_on_host(next);
    if (batch.next != nullptr) gpu::release_on_host(batch.next);
}

std::span<const float> forward_joined(Arm& arm, std::span<const std::int32_t> tokens,
                                      std::int64_t first, Want want) {
    Joined& j = *arm.joined;
    const std::int64_t launches = gpu::launches();
    const auto at_once = static_cast<std::size_t>(arm.batch);
    for (std::size_t t = 0; t < tokens.size();) {
        const std::size_t n = std::min(at_once, tokens.size() - t);
        const bool last = want != Want::nothing && t + n == tokens.size();
        const std::int64_t position = first + static_cast<std::int64_t>(t);
        if (n > 1) {
            run_batch(arm, tokens.subspan(t, n), position, last);
        } else {
            set_now(j, tokens[t], position);
            issue_pass(arm, position, last);
        }
        t += n;
    }
    arm.pool.counters().launches += gpu::launches() - launches;
    std::vector<float>& logits = arm.state.logits;
    if (want == Want::logits) {
        const auto bytes = static_cast<std::int64_t>(logits.size() * sizeof(float));
        j.on_gpu ? gpu::download(logits.data(), j.logits, bytes)
                 : static_cast<void>(std::copy_n(j.logits, logits.size(), logits.begin()));
        return logits;
    }
    if (j.on_gpu && want == Want::made) gpu::finish();
    return {};
}

void begin_choosing(Arm& arm, std::int64_t position) { set_now(*arm.joined, 0, position); }

void choose_token(Arm& arm, std::int32_t* told) {
    Joined& j = *arm.joined;
    launch<GreedyToken>(arm, {{arm.config.n_vocab}, j.logits, j.now, told});
}

void forward_chosen(Arm& arm, std::int64_t position) { issue_pass(arm, position, true); }

void embed_joined(Arm& arm, std::int32_t token, std::int64_t position) {
    Joined& j = *arm.joined;
    set_now(j, token, position);
    const Matrix& m = arm.weights.token_embd;
    launch<TokenRow>(arm, {{m.type, m.rows, m.cols}, m.data, j.now, j.x});
    if (j.on_gpu) gpu::finish();
    arm.joined_position = position;
}

void run_block_joined(Arm& arm, std::int64_t index) {
    if (arm.plan.block->whole) {
        whole_block(arm, index, arm.joined_position, false, false);
    } else {
        enqueue_block(arm, index, arm.joined_position);
    }
    if (arm.joined->on_gpu) gpu::finish();
}

void run_feed_forward_joined(Arm& arm, std::int64_t index) {
    feed_forward(arm, index);
    if (arm.joined->on_gpu) gpu::finish();
}

}  // namespace steady
