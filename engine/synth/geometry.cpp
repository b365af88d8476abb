// One table per model. Reduced sizes keep what makes a model itself (its attention, its router, its
// number formats) and shrink widths and counts.
#include "engine/synth/geometry.h"

#include <fmt/format.h>

#include "kernels/base/error.h"

namespace steady {
namespace {

Geometry glm() {
    return {.name = "GLM-4.7-Flash",
            .pre = "glm4",
            .context = 202752,
            .dim = 2048,
            .n_blocks = 47,
            .n_dense = 1,
            .ff = 10240,
            .n_heads = 20,
            .q_rank = 768,
            .kv_rank = 512,
            .n_rot = 64,
            .nope = 192,
            .value = 256,
            .n_experts = 64,
            .n_used = 4,
            .ff_expert = 1536,
            .n_shared = 1,
            .gating = 2,
            .expert_scale = 1.8F,
            .expert_normalise = true,
            .rope_base = 1e6F,
            .epsilon = 1e-5F,
            .n_vocab = 154880,
            .first_special = 154820};
}

Geometry deepseek() {
    return {.name = "DeepSeek-V2-Lite",
            .pre = "deepseek-llm",
            .context = 163840,
            .dim = 2048,
            .n_blocks = 27,
            .n_dense = 1,
            .ff = 10944,
            .n_heads = 16,
            .q_rank = 0,
            .kv_rank = 512,
            .n_rot = 64,
            .nope = 128,
            .value = 128,
            .n_experts = 64,
            .n_used = 6,
            .ff_expert = 1408,
            .n_shared = 2,
            .gating = 1,
            .expert_scale = 1.0F,
            .expert_normalise = false,
            .rope_base = 1e4F,
            .epsilon = 1e-6F,
            .yarn = true,
            .n_vocab = 102400,
            .first_special = 100000};
}

Geometry youtu() {
    return {.name = "Youtu-LLM-2B",
            .pre = "youtu",
            .context = 131072,
            .dim = 2048,
            .n_blocks = 32,
            .n_dense = 32,
            .ff = 6144,
            .n_heads = 16,
            .q_rank = 1536,
            .kv_rank = 512,
            .n_rot = 64,
            .nope = 128,
            .value = 128,
            .ff_expert = 6144,
            .rope_base = 1.6e6F,
            .epsilon = 1e-6F,
            .tied = true,
            .n_vocab = 128256,
            .first_special = 128000};
}

void shrink(Geometry& geometry, SynthSize size) {
    const bool tiny = size == SynthSize::tiny;
    const bool dense = geometry.n_experts == 0;
    geometry.name += tiny ? " (tiny)" : " (small)";
    geometry.dim = tiny ? 256 : 1024;
    geometry.n_blocks = tiny ? 3 : (dense ? 12 : 6);
    geometry.n_dense = dense ? geometry.n_blocks : 1;
    geometry.ff = tiny ? 512 : 4096;
    geometry.n_heads = tiny ? 4 : 8;
    if (geometry.q_rank != 0) geometry.q_rank = tiny ? 128 : 512;
    if (!dense) {
        geometry.n_experts = tiny ? 8 : 32;
        geometry.n_used = tiny ? 2 : geometry.n_used;
    }
    geometry.ff_expert = dense ? geometry.ff : (tiny ? 256 : 768);
    geometry.n_vocab = tiny ? 320 : 16384;
    geometry.first_special = geometry.n_vocab - 24;
}

}  // namespace

const std::vector<std::string>& synth_architectures() {
    static const std::vector<std::string> names{"glm-4.7-flash", "deepseek-v2-lite",
                                                "youtu-llm-2b"};
    return names;
}

Geometry geometry_of(const SynthOptions& options) {
    const auto& names = synth_architectures();
    Geometry geometry;
    if (options.arch == names[0]) {
        geometry = glm();
    } else if (options.arch == names[1]) {
        geometry = deepseek();
    } else if (options.arch == names[2]) {
        geometry = youtu();
    } else {
        throw Error(fmt::format("synth: --arch: found '{}', allowed: {}", options.arch,
                                fmt::join(names, ", ")));
    }
    if (options.size != SynthSize::full) shrink(geometry, options.size);
    if (options.n_blocks < 0 || options.n_blocks > 1024) {
        throw Error(fmt::format("synth: --blocks: found {}, allowed: 1 to 1024", options.n_blocks));
    }
    if (options.n_blocks > 0) {
        geometry.n_blocks = static_cast<std::uint32_t>(options.n_blocks);
        if (geometry.n_experts == 0) geometry.n_dense = geometry.n_blocks;
    }
    return geometry;
}

void write_geometry(const Geometry& geometry, GgufWriter& writer) {
    const auto u32 = [&](const char* key, std::uint32_t value) {
        writer.u32(fmt::format("deepseek2.{}", key), value);
    };
    const auto f32 = [&](const char* key, float value) {
        writer.f32(fmt::format("deepseek2.{}", key), value);
    };
    u32("context_length", geometry.context);
    u32("embedding_length", geometry.dim);
    u32("block_count", geometry.n_blocks);
    u32("feed_forward_length", geometry.ff);
    u32("leading_dense_block_count", geometry.n_dense);
    u32("vocab_size", geometry.n_vocab);
    u32("attention.head_count", geometry.n_heads);
    u32("attention.head_count_kv", 1);
    f32("attention.layer_norm_rms_epsilon", geometry.epsilon);
    // Other engines want the key unless the number of blocks is that of the published file.
    if (geometry.q_rank != 0 || geometry.n_blocks != 27) {
        u32("attention.q_lora_rank", geometry.q_rank);
    }
    u32("attention.kv_lora_rank", geometry.kv_rank);
    u32("attention.key_length", geometry.kv_rank + geometry.n_rot);
    u32("attention.value_length", geometry.kv_rank);
    u32("attention.key_length_mla", geometry.nope + geometry.n_rot);
    u32("attention.value_length_mla", geometry.value);
    u32("rope.dimension_count", geometry.n_rot);
    f32("rope.freq_base", geometry.rope_base);
    u32("expert_feed_forward_length", geometry.ff_expert);
    u32("expert_shared_count", geometry.n_shared);
    if (geometry.n_experts != 0) {
        u32("expert_count", geometry.n_experts);
        u32("expert_used_count", geometry.n_used);
        u32("expert_gating_func", geometry.gating);
        f32("expert_weights_scale", geometry.expert_scale);
        writer.boolean("deepseek2.expert_weights_norm", geometry.expert_normalise);
    } else {
        f32("expert_weights_scale", 1.0F);  // ik_llama.cpp wants it of every model
    }
    if (geometry.yarn) {
        writer.string("deepseek2.rope.scaling.type", "yarn");
        f32("rope.scaling.factor", 40.0F);
        u32("rope.scaling.original_context_length", 4096);
        f32("rope.scaling.yarn_log_multiplier", 0.0707F);
    }
}

}  // namespace steady
