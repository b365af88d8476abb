// Metadata to Config. Published files differ in what they leave out, so each default here names the
// files that need it; everything else that is missing is an error.
#include "engine/model/config.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace steady {
namespace {

constexpr std::uint32_t kMaxWidth = 1U << 20;  // of any one dimension; no known model has 1/4
constexpr std::uint32_t kMaxBlocks = 1024;
constexpr std::uint32_t kGatingUnstated = 0;
constexpr std::uint32_t kGatingSoftmax = 1;
constexpr std::uint32_t kGatingSigmoid = 2;

std::string key(const char* name) { return std::string("deepseek2.") + name; }

std::int64_t number(const GgufFile& file, const char* name, std::uint32_t low, std::uint32_t high) {
    const std::uint32_t value = file.require_u32(key(name));
    if (value < low || value > high) {
        file.reject(key(name), fmt::format("{}", value), fmt::format("{} … {}", low, high));
    }
    return value;
}

std::int64_t number_or(const GgufFile& file, const char* name, std::uint32_t high,
                       std::uint32_t fallback) {
    return file.find(key(name)) != nullptr ? number(file, name, 0, high) : fallback;
}

float positive_or(const GgufFile& file, const char* name, float fallback) {
    const float value = file.f32(key(name)).value_or(fallback);
    if (!(value > 0) || !std::isfinite(value)) {
        file.reject(key(name), fmt::format("{}", value), "a positive finite number");
    }
    return value;
}

void read_blocks(const GgufFile& file, Config& config) {
    const std::int64_t all = number(file, "block_count", 1, kMaxBlocks);
    const std::int64_t prediction = number_or(file, "nextn_predict_layers", kMaxBlocks, 0);
    if (prediction >= all) {
        file.reject(key("nextn_predict_layers"), fmt::format("{}", prediction),
                    fmt::format("fewer than the {} blocks", all));
    }
    config.n_blocks = all - prediction;
    config.n_dense_blocks = number_or(file, "leading_dense_block_count", kMaxBlocks, 0);
    config.n_dense_blocks = std::min(config.n_dense_blocks, config.n_blocks);
}

// The vocabulary: the key, else the embedding's rows.
std::int64_t read_vocab(const GgufFile& file) {
    const Tensor& embedding = file.require_tensor("token_embd.weight");
    const auto rows = static_cast<std::int64_t>(embedding.dims[1]);
    if (rows < 1 || rows > (1 << 24)) {
        throw Error{fmt::format("{}: tensor token_embd.weight has {} rows; allowed 1 … {}",
                                file.path(), rows, 1 << 24)};
    }
    const auto stated = file.u32(key("vocab_size"));
    if (stated && *stated != rows) {
        file.reject(key("vocab_size"), fmt::format("{}", *stated),
                    fmt::format("{}, the rows of token_embd.weight", rows));
    }
    return rows;
}

// Head sizes: from the *_mla keys; files from before the split have them in key_length and
// value_length; if all of that is missing, from the tensors.
void read_heads(const GgufFile& file, Config& config) {
    config.n_heads = number(file, "attention.head_count", 1, 4096);
    config.q_rank = number_or(file, "attention.q_lora_rank", kMaxWidth, 0);
    config.kv_rank = number(file, "attention.kv_lora_rank", 1, kMaxWidth);
    config.n_rot = number(file, "rope.dimension_count", 2, kMaxWidth);
    if (config.n_rot % 2 != 0) {
        file.reject(key("rope.dimension_count"), fmt::format("{}", config.n_rot), "an even number");
    }
    // Some files hold both forms; the split one is what attention reads.
    config.split_kv_b = file.tensor("blk.0.attn_k_b.weight") != nullptr ||
                        file.tensor("blk.0.attn_kv_b.weight") == nullptr;
    std::int64_t head = 0;
    const char* source = "attention.key_length_mla";
    if (file.find(key(source)) != nullptr) {
        head = number(file, source, 1, kMaxWidth);
        config.n_value = number(file, "attention.value_length_mla", 1, kMaxWidth);
    } else if (config.split_kv_b) {
        source = "attention.key_length_mla";
        head = static_cast<std::int64_t>(file.require_tensor("blk.0.attn_k_b.weight").dims[0]) +
               config.n_rot;
        config.n_value =
            static_cast<std::int64_t>(file.require_tensor("blk.0.attn_v_b.weight").dims[1]);
    } else {
        source = "attention.key_length";
        head = number(file, source, 1, kMaxWidth);
        config.n_value = number(file, "attention.value_length", 1, kMaxWidth);
    }
    config.n_nope = head - config.n_rot;
    if (config.n_nope < 1) {
        file.reject(key(source), fmt::format("{}", head),
                    fmt::format("more than rope.dimension_count, {}", config.n_rot));
    }
}

void read_experts(const GgufFile& file, Config& config) {
    config.n_experts = number_or(file, "expert_count", 1 << 14, 0);
    if (config.n_experts == 0) config.n_dense_blocks = config.n_blocks;
    if (config.n_dense_blocks > 0) {
        config.ff = number(file, "feed_forward_length", 1, kMaxWidth);
    }
    if (config.n_dense_blocks == config.n_blocks) return;
    config.n_experts_used =
        number(file, "expert_used_count", 1, static_cast<std::uint32_t>(config.n_experts));
    config.expert_ff = number(file, "expert_feed_forward_length", 1, kMaxWidth);
    config.n_shared_experts = number_or(file, "expert_shared_count", 1 << 10, 0);
    const float scale = file.f32(key("expert_weights_scale")).value_or(0);
    config.expert_weights_scale = scale == 0 ? 1 : scale;
    if (!std::isfinite(scale)) {
        file.reject(key("expert_weights_scale"), fmt::format("{}", scale), "a finite number");
    }
    config.expert_weights_norm = file.boolean(key("expert_weights_norm")).value_or(false);
    const std::int64_t groups = number_or(file, "expert_group_count", 1 << 14, 0);
    if (groups > 1) {
        file.reject(key("expert_group_count"), fmt::format("{}", groups),
                    "1 or absent: group-limited routing is not supported");
    }
    // Many published GLM-4.7-Flash files lack the key; only its geometry means sigmoid then.
    const bool glm = (config.n_blocks == 47 || config.n_blocks == 48) && config.n_vocab == 154880;
    std::uint32_t gating = file.u32(key("expert_gating_func")).value_or(kGatingUnstated);
    if (gating == kGatingUnstated) gating = glm ? kGatingSigmoid : kGatingSoftmax;
    if (gating != kGatingSoftmax && gating != kGatingSigmoid) {
        file.reject(key("expert_gating_func"), fmt::format("{}", gating),
                    "1 (softmax) or 2 (sigmoid)");
    }
    config.gating = gating == kGatingSigmoid ? Gating::sigmoid : Gating::softmax;
}

void read_rope(const GgufFile& file, Config& config) {
    config.rope_base = positive_or(file, "rope.freq_base", 10000);
    config.attention_scale = 1 / std::sqrt(static_cast<float>(config.head_size()));
    const std::string type(file.string(key("rope.scaling.type")).value_or("none"));
    if (type == "none") return;
    if (type != "yarn") {
        file.reject(key("rope.scaling.type"), type, "none or yarn");
    }
    Yarn yarn;
    yarn.factor = positive_or(file, "rope.scaling.factor", 1);
    // Where the key is missing, the context that the model was made for is meant.
    const char* original = "rope.scaling.original_context_length";
    if (file.find(key(original)) == nullptr) original = "context_length";
    yarn.original_context = number(file, original, 1, 1U << 31);
    yarn.log_multiplier = file.f32(key("rope.scaling.yarn_log_multiplier")).value_or(0);
    yarn.beta_fast = positive_or(file, "rope.scaling.yarn_beta_fast", yarn.beta_fast);
    yarn.beta_slow = positive_or(file, "rope.scaling.yarn_beta_slow", yarn.beta_slow);
    if (config.rope_base <= 1) {
        file.reject(key("rope.freq_base"), fmt::format("{}", config.rope_base),
                    "more than 1 where rope.scaling.type is yarn");
    }
    config.yarn = yarn;
    const double magnitude =
        1 + static_cast<double>(yarn.log_multiplier) * std::log(static_cast<double>(yarn.factor));
    config.attention_scale = static_cast<float>(magnitude * magnitude /
                                                std::sqrt(static_cast<double>(config.head_size())));
    if (!std::isfinite(config.attention_scale)) {
        file.reject(key("rope.scaling.yarn_log_multiplier"), fmt::format("{}", yarn.log_multiplier),
                    "a number that leaves the attention's scale finite, such as 0.0707");
    }
}

}  // namespace

Config read_config(const GgufFile& file) {
    Config config;
    config.architecture = std::string(file.require_string("general.architecture"));
    if (config.architecture != "deepseek2") {
        file.reject("general.architecture", config.architecture,
                    "deepseek2 (GLM-4.7-Flash, DeepSeek-V2-Lite, youtu-llm)");
    }
    config.name = std::string(file.string("general.name").value_or(""));
    read_blocks(file, config);
    config.n_vocab = read_vocab(file);
    config.context_length = number_or(file, "context_length", 1U << 31, 0);
    config.dim = number(file, "embedding_length", 1, kMaxWidth);
    config.rms_epsilon = positive_or(file, "attention.layer_norm_rms_epsilon", 0);
    read_heads(file, config);
    read_experts(file, config);
    read_rope(file, config);
    return config;
}

std::vector<double> rope_frequencies(const Config& config) {
    const auto n = static_cast<double>(config.n_rot);
    const auto base = static_cast<double>(config.rope_base);
    std::vector<double> frequencies(static_cast<std::size_t>(config.n_rot / 2));
    for (std::size_t i = 0; i < frequencies.size(); ++i) {
        frequencies[i] = std::pow(base, -2.0 * static_cast<double>(i) / n);
    }
    if (!config.yarn) return frequencies;
    // YaRN keeps the pairs that turn often within the original context and slows the others.
    const auto correction = [&](float turns) {
        const auto context = static_cast<double>(config.yarn->original_context);
        return n * std::log(context / (2 * std::numbers::pi * static_cast<double>(turns))) /
               (2 * std::log(base));
    };
    const double low = std::max(0.0, std::floor(correction(config.yarn->beta_fast)));
    const double high = std::min(n - 1, std::ceil(correction(config.yarn->beta_slow)));
    for (std::size_t i = 0; i < frequencies.size(); ++i) {
        const double at = (static_cast<double>(i) - low) / std::max(0.001, high - low);
        const double kept = 1 - std::clamp(at, 0.0, 1.0);
        frequencies[i] *= kept + (1 - kept) / static_cast<double>(config.yarn->factor);
    }
    return frequencies;
}

}  // namespace steady
