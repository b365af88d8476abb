// The tiny models in the forms that other converters write: the same numbers in other tensors, so
// the same exact logits. And what a file may not say.
#include <gtest/gtest.h>

#include "engine/run/decode.h"
#include "engine/run/model.h"
#include "tests/support/model_file.h"
#include "tests/support/tiny_models.h"

namespace steady::test {
namespace {

std::vector<float> logits(const ModelFile& file, const PlanRequest& plan,
                          const std::vector<std::int32_t>& tokens) {
    const OpenFile opened(file);
    Model model(opened.path());
    ArmOptions options;
    options.plan = plan;
    options.threads.threads = 1;
    auto arms = model.make_arms({options}, static_cast<std::int64_t>(tokens.size()));
    const auto last = feed(*arms[0], tokens);
    return {last.begin(), last.end()};
}

void expect_exact(const ModelFile& file, const std::string& name) {
    const PlanRequest reference{{{"*", "reference"}}, {}};
    PlanRequest other{{{"*", "reference"}}, {{"mla", "materialised"}, {"moe", "unfused"}}};
    for (const tiny::Prompt& prompt : tiny::prompts(name)) {
        if (prompt.tokens.size() != 7) continue;
        EXPECT_LE(tiny::rel_l2(logits(file, reference, prompt.tokens), prompt.exact_last),
                  tiny::kExact);
        EXPECT_LE(tiny::rel_l2(logits(file, other, prompt.tokens), prompt.exact_last),
                  tiny::kExact);
        EXPECT_LE(tiny::rel_l2(logits(file, {}, prompt.tokens), prompt.exact_last),
                  tiny::kQuantised);
    }
}

std::string complaint(const ModelFile& file) {
    try {
        const OpenFile opened(file);
        const Model model(opened.path());
    } catch (const Error& error) {
        return error.what();
    }
    return "accepted";
}

class Rearranged : public testing::TestWithParam<std::string> {
protected:
    const std::string& name() const { return GetParam(); }
    ModelFile file{tiny::path(GetParam())};
    bool has_experts() { return file.find("blk.1.ffn_gate_inp.weight") != nullptr; }
};

INSTANTIATE_TEST_SUITE_P(All, Rearranged, testing::ValuesIn(tiny::kModels), [](const auto& model) {
    std::string name = model.param;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
});

TEST_P(Rearranged, AsItIs) { expect_exact(file, name()); }

// Gate rows first, then up rows, expert by expert.
TEST_P(Rearranged, MergedGateAndUpExperts) {
    if (!has_experts()) GTEST_SKIP() << "a model without experts";
    for (const std::string block : {"blk.1.", "blk.2."}) {
        FileTensor both = file.take(block + "ffn_gate_exps.weight");
        const FileTensor up = file.take(block + "ffn_up_exps.weight");
        const std::string gate = both.bytes;
        const std::size_t one = gate.size() / both.dims[2];
        both.name = block + "ffn_gate_up_exps.weight";
        both.dims[1] *= 2;
        both.bytes.clear();
        for (std::size_t at = 0; at < gate.size(); at += one) {
            both.bytes += gate.substr(at, one) + up.bytes.substr(at, one);
        }
        file.tensors.push_back(both);
    }
    expect_exact(file, name());
}

// Files from before attn_kv_b was split: one matrix, key_length and value_length of a head.
void merge_key_value(ModelFile& file, bool keep_split) {
    const OpenFile opened(file);
    const GgufFile sizes = GgufFile::open(opened.path());
    const auto length = *sizes.u32("deepseek2.attention.key_length_mla");
    const auto value = *sizes.u32("deepseek2.attention.value_length_mla");
    for (int i = 0; i < 3; ++i) {
        const std::string block = fmt::format("blk.{}.", i);
        const FileTensor k = *file.find(block + "attn_k_b.weight");
        const FileTensor v = *file.find(block + "attn_v_b.weight");
        const std::vector<float> k_values = k.values(), v_values = v.values();
        const std::size_t nope = k.dims[0], rank = k.dims[1], heads = k.dims[2];
        std::vector<float> both;
        for (std::size_t h = 0; h < heads; ++h) {
            for (std::size_t n = 0; n < nope; ++n) {
                for (std::size_t l = 0; l < rank; ++l) {
                    both.push_back(k_values[(h * rank + l) * nope + n]);
                }
            }
            const auto at = v_values.begin() + static_cast<std::ptrdiff_t>(h * value * rank);
            both.insert(both.end(), at, at + static_cast<std::ptrdiff_t>(value * rank));
        }
        file.tensors.push_back(
            float_tensor(block + "attn_kv_b.weight", {rank, heads * (nope + value)}, both));
        if (keep_split) continue;
        file.take(block + "attn_k_b.weight");
        file.take(block + "attn_v_b.weight");
    }
    if (keep_split) return;
    file.erase("attention.key_length_mla");
    file.erase("attention.value_length_mla");
    file.set_u32("attention.key_length", length);
    file.set_u32("attention.value_length", value);
    file.set_u32("attention.head_count_kv", 4);
}

TEST_P(Rearranged, KeyAndValueInOneMatrix) {
    merge_key_value(file, false);
    expect_exact(file, name());
}

TEST_P(Rearranged, KeyAndValueInBothForms) {
    merge_key_value(file, true);
    // The merged form would be wrong now: only the split one may be read.
    for (FileTensor& tensor : file.tensors) {
        if (tensor.name.find("attn_kv_b") != std::string::npos) scale_weights(tensor, 3);
    }
    expect_exact(file, name());
}

TEST_P(Rearranged, HeadSizesFromTheTensorsAlone) {
    file.erase("attention.key_length_mla");
    file.erase("attention.value_length_mla");
    expect_exact(file, name());
}

// The last block predicts a second token; decoding does not read it, whatever it holds.
TEST_P(Rearranged, NextTokenPredictionBlockIsSkipped) {
    file.set_u32("block_count", 4);
    file.set_u32("nextn_predict_layers", 1);
    file.tensors.push_back(float_tensor("blk.3.attn_norm.weight", {5}, {1, 2, 3, 4, 5}));
    file.tensors.push_back(float_tensor("blk.3.nextn.eh_proj.weight", {2, 2}, {1, 2, 3, 4}));
    expect_exact(file, name());
    file.set_u32("nextn_predict_layers", 4);
    EXPECT_NE(complaint(file).find("nextn_predict_layers"), std::string::npos);
    file.erase("nextn_predict_layers");
    EXPECT_NE(complaint(file).find("blk.3."), std::string::npos) << complaint(file);
}

TEST_P(Rearranged, OptionalKeysMayBeMissing) {
    file.erase("vocab_size");
    file.erase("context_length");
    file.erase("attention.head_count_kv");
    file.erase("expert_group_count");
    if (!has_experts()) {
        for (const char* key : {"expert_count", "expert_used_count", "expert_shared_count",
                                "leading_dense_block_count", "expert_feed_forward_length"}) {
            file.erase(key);
        }
    }
    if (name() == "tiny-dsv2") {  // its true values are the defaults
        for (const char* key : {"attention.q_lora_rank", "expert_gating_func", "rope.freq_base",
                                "expert_weights_scale", "expert_weights_norm"}) {
            file.erase(key);
        }
    }
    expect_exact(file, name());
}

TEST_P(Rearranged, EveryMatrixInFloats) {
    for (FileTensor& tensor : file.tensors) {
        tensor = float_tensor(tensor.name, tensor.dims, tensor.values());
    }
    expect_exact(file, name());
}

TEST_P(Rearranged, BrokenNumbersAreRefusedByName) {
    const float not_a_number = std::nanf("");
    const float infinite = INFINITY;
    for (const char* key : {"rope.freq_base", "attention.layer_norm_rms_epsilon",
                            "rope.scaling.factor", "rope.scaling.yarn_log_multiplier",
                            "rope.scaling.yarn_beta_fast", "expert_weights_scale"}) {
        for (const float bad : {not_a_number, infinite, -infinite, 3e38F}) {
            if (bad == 3e38F && std::string(key) != "rope.scaling.yarn_log_multiplier") continue;
            if (!has_experts() && std::string(key) == "expert_weights_scale") continue;
            const ModelFile::KeptKeys kept(file);
            if (std::string(key).find("scaling") != std::string::npos) {
                file.set_text("rope.scaling.type", "yarn");
                file.set_f32("rope.scaling.factor", 40);
                file.set_u32("rope.scaling.original_context_length", 4096);
            }
            file.set_f32(key, bad);
            const std::string text = complaint(file);
            EXPECT_NE(text.find(key), std::string::npos) << key << " = " << bad << ": " << text;
        }
    }
}

TEST_P(Rearranged, SizesThatCannotBeAreRefusedByName) {
    const auto refused = [&](const char* key, std::uint32_t value, const char* named) {
        const ModelFile::KeptKeys kept(file);
        file.set_u32(key, value);
        const std::string text = complaint(file);
        EXPECT_NE(text.find(named), std::string::npos) << key << " = " << value << ": " << text;
    };
    for (const std::uint32_t value : {0U, 5U, 0xFFFFFFFFU}) {
        refused("embedding_length", value, value == 5 ? "token_embd" : "embedding_length");
        refused("attention.head_count", value, value == 5 ? "attn_q" : "head_count");
        refused("attention.kv_lora_rank", value, value == 5 ? "attn_kv_a" : "kv_lora_rank");
        refused("rope.dimension_count", value, "rope.dimension_count");
        refused("block_count", value, value == 5 ? "blk.3." : "block_count");
        if (value != 5) refused("attention.key_length_mla", value, "key_length_mla");
    }
    refused("vocab_size", 319, "vocab_size");
    if (!has_experts()) return;
    refused("expert_used_count", 0, "expert_used_count");
    refused("expert_used_count", 9, "expert_used_count");
    refused("expert_count", 7, "ffn_gate_inp");
    refused("expert_feed_forward_length", 100, "ffn_");
    refused("expert_group_count", 2, "expert_group_count");
    refused("expert_gating_func", 3, "expert_gating_func");
    refused("expert_shared_count", 3, "shexp");
}

// Many published GLM files do not state their router's function. Only its geometry says sigmoid.
TEST(Gating, MissingMeansSigmoidForTheGlmGeometryOnly) {
    const auto gating = [](std::uint32_t blocks, std::uint32_t prediction, std::uint64_t vocab,
                           std::optional<std::uint32_t> stated) {
        ModelFile file(tiny::path("tiny-glm"));
        file.set_u32("block_count", blocks);
        if (prediction > 0) file.set_u32("nextn_predict_layers", prediction);
        file.erase("vocab_size");
        file.erase("expert_gating_func");
        if (stated) file.set_u32("expert_gating_func", *stated);
        FileTensor* embedding = file.find("token_embd.weight");
        const std::size_t row = embedding->bytes.size() / embedding->dims[1];
        embedding->dims[1] = vocab;
        embedding->bytes.resize(row * vocab, '\0');
        const OpenFile opened(file);
        return read_config(GgufFile::open(opened.path())).gating;
    };
    EXPECT_EQ(gating(47, 0, 154880, {}), Gating::sigmoid);
    EXPECT_EQ(gating(48, 1, 154880, {}), Gating::sigmoid);
    EXPECT_EQ(gating(48, 0, 154880, 0), Gating::sigmoid);
    EXPECT_EQ(gating(47, 0, 154880, 1), Gating::softmax);
    EXPECT_EQ(gating(46, 0, 154880, {}), Gating::softmax);
    EXPECT_EQ(gating(47, 0, 102400, {}), Gating::softmax);
    EXPECT_EQ(gating(27, 0, 102400, 2), Gating::sigmoid);
}

}  // namespace
}  // namespace steady::test
