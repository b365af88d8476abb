// As mla_absorbed, but one launch in place of three: a thread takes whole heads through the query's
// absorption, the attention and the value product, since no head needs another before the output
// matrix. The quantisations in between are cut with the heads instead of running on one thread.
// With bytes in the cache (heads_q8) attention reads a quarter of the memory and multiplies
// integers: what depth costs is then a fraction, for a rounding of the latent to a byte.
#include <cstring>

#include "engine/model/forward.h"
#include "engine/model/forward_parts.h"
#include "kernels/base/error.h"

namespace steady {
namespace {

struct Heads {
    Arm* arm = nullptr;
    const Block* block = nullptr;
    Job absorb{}, values{};  // attn_k_b and attn_v_b over all heads
    bool bytes = false;      // which of the two the cache is for
    MlaAttention::Args attention{};
    MlaAttentionQ8::Args attention_q8{};
};

// Blocks [begin, end) of x in the form that the reader of it wants.
void quantize_part(Arm& arm, QuantizedVector& x, Range blocks, Input form) {
    const std::int64_t n = kActivationBlock * blocks.end;
    if (form == Input::q8) {
        const QuantizeQ8::Args args{{n}, x.f32.data(), x.q8.data(), x.scale.data(), x.sum.data()};
        arm.plan.variant<QuantizeQ8>().run(args, blocks);
    } else if (form == Input::q16) {
        const QuantizeQ16::Args args{{n},          x.f32.data(),  x.q8.data(), x.scale.data(),
                                     x.low.data(), x.sum16.data()};
        arm.plan.variant<QuantizeQ16>().run(args, blocks);
    }
}

// The part of a job that belongs to these heads.
void run_rows(const Job& job, Range heads, std::int64_t n_heads) {
    const std::int64_t rows = job.rows / n_heads;
    job.run(job.args, {heads.begin * rows, heads.end * rows, 0});
}

void run_heads(const void* self, Range heads) noexcept {
    const Heads& all = *static_cast<const Heads*>(self);
    Arm& arm = *all.arm;
    State& s = arm.state;
    const Config& c = arm.config;
    const auto blocks = [&](std::int64_t width) {
        return Range{heads.begin * width / kActivationBlock, heads.end * width / kActivationBlock};
    };
    for (std::int64_t h = heads.begin; h < heads.end; ++h) {
        std::memcpy(s.q_nope.f32.data() + h * c.n_nope, s.q.data() + h * c.head_size(),
                    floats(c.n_nope));
    }
    quantize_part(arm, s.q_nope, blocks(c.n_nope), input_of(arm, all.block->attn_k_b));
    run_rows(all.absorb, heads, c.n_heads);
    float* queries = all.bytes ? s.q_rows.f32.data() : s.q_latent.data();
    for (std::int64_t h = heads.begin; h < heads.end; ++h) {
        float* row = queries + h * c.latent_size();
        std::memcpy(row, s.q_absorbed.data() + h * c.kv_rank, floats(c.kv_rank));
        std::memcpy(row + c.kv_rank, s.q.data() + h * c.head_size() + c.n_nope, floats(c.n_rot));
    }
    if (all.bytes) {
        const VariantInfo<MlaAttentionQ8>& variant = arm.plan.variant<MlaAttentionQ8>();
        quantize_part(arm, s.q_rows, blocks(c.latent_size()), variant.input);
        variant.run(all.attention_q8, heads);
    } else {
        arm.plan.variant<MlaAttention>().run(all.attention, heads);
    }
    quantize_part(arm, s.attended, blocks(c.kv_rank), input_of(arm, all.block->attn_v_b));
    run_rows(all.values, heads, c.n_heads);
}

// The fewest heads whose rows and blocks are whole granules of everything that runs on them.
std::int64_t granule(const Heads& all, const Config& c) {
    const KernelPlan& plan = all.arm->plan;
    const VariantBase& attention =
        all.bytes ? static_cast<const VariantBase&>(plan.variant<MlaAttentionQ8>())
                  : plan.variant<MlaAttention>();
    const auto fits = [&](std::int64_t heads) {
        const auto whole = [&](const Job& job) {
            return job.granule < job.rows && heads * (job.rows / c.n_heads) % job.granule == 0;
        };
        return whole(all.absorb) && whole(all.values) && heads % attention.granule == 0 &&
               heads * c.n_nope % kActivationBlock == 0 &&
               heads * c.kv_rank % kActivationBlock == 0;
    };
    std::int64_t heads = 1;
    while (heads < c.n_heads && !fits(heads)) ++heads;
    return heads;
}

// The common time is shared out by the bytes that each part read.
void count_all(Arm& arm, const Heads& all, const BoundProduct& absorb, const BoundProduct& values,
               std::int64_t ns) {
    const std::int64_t cache = all.bytes ? MlaAttentionQ8::cost(all.attention_q8.shape).weight_bytes
                                         : MlaAttention::cost(all.attention.shape).weight_bytes;
    const std::int64_t bytes = cache + weight_bytes(absorb) + weight_bytes(values);
    count_product(arm, absorb, ns * weight_bytes(absorb) / bytes);
    count_product(arm, values, ns * weight_bytes(values) / bytes);
    const auto count_form = [&](Input form) {
        if (form == Input::q8) ++arm.counter<QuantizeQ8>().calls;
        if (form == Input::q16) ++arm.counter<QuantizeQ16>().calls;
    };
    count_form(input_of(arm, all.block->attn_k_b));
    count_form(input_of(arm, all.block->attn_v_b));
    if (all.bytes) {
        count<MlaAttentionQ8>(arm, all.attention_q8, ns * cache / bytes);
        count_form(arm.plan.variant<MlaAttentionQ8>().input);
    } else {
        count<MlaAttention>(arm, all.attention, ns * cache / bytes);
    }
}

void store_bytes(Arm& arm, std::int64_t index, std::int64_t position) {
    const Config& c = arm.config;
    const std::string problem = MlaQ8Shape{c.n_heads, c.kv_rank, c.n_rot, 1}.problem();
    if (!problem.empty()) throw Error{"steps: mla=heads_q8: this model's " + problem};
    arm.cache.store(index, position, arm.state.kv.data());
}

void run_step(Arm& arm, const Block& b, std::int64_t index, std::int64_t position, bool bytes) {
    State& s = arm.state;
    const Config& c = arm.config;
    const std::byte* cache = bytes ? arm.cache.groups(index) : arm.cache.row(index, 0);
    if (bytes) {
        store_bytes(arm, index, position);
    } else {
        mla_cache::store(arm.cache.type(), s.kv.data(), c.latent_size(),
                         arm.cache.row(index, position));
    }
    BoundProduct absorb;
    BoundProduct values;
    Heads all{.arm = &arm, .block = &b, .bytes = bytes};
    all.absorb = bind_product(arm, {&b.attn_k_b, s.q_nope.view(), s.q_absorbed.data()}, absorb);
    all.values = bind_product(arm, {&b.attn_v_b, s.attended.view(), s.values.f32.data()}, values);
    all.attention = {{c.n_heads, c.kv_rank, c.n_rot, position + 1, arm.cache.type()},
                     s.q_latent.data(),
                     cache,
                     c.attention_scale,
                     s.scores.data(),
                     s.attended.f32.data()};
    all.attention_q8 = {{c.n_heads, c.kv_rank, c.n_rot, position + 1},
                        s.q_rows.view(),
                        cache,
                        c.attention_scale,
                        s.scores.data(),
                        s.attended.f32.data()};
    const std::int64_t begin = arm.timed ? now_ns() : 0;
    arm.pool.launch({run_heads, &all, c.n_heads, granule(all, c), 0});
    count_all(arm, all, absorb, values, arm.timed ? now_ns() - begin : 0);
    arm.note("q_nope_absorbed", index, s.q_absorbed);
    arm.note("kqv_out", index, s.values.f32);
    quantize_for(arm, s.values, c.n_heads * c.n_value, {&b.attn_output});
    multiply(arm, {&b.attn_output, s.values.view(), s.attn_out.data()});
}

}  // namespace

void mla_heads(Arm& arm, const Block& b, std::int64_t index, std::int64_t position) {
    run_step(arm, b, index, position, false);
}

void mla_heads_q8(Arm& arm, const Block& b, std::int64_t index, std::int64_t position) {
    run_step(arm, b, index, position, true);
}

}  // namespace steady
