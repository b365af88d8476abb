// The figures that every speed is judged against, from the tensor table alone.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/gguf/inspect.h"
#include "engine/gguf/writer.h"
#include "engine/synth/synth.h"
#include "tests/support/gguf_bytes.h"

namespace steady::test {
namespace {

// The published figures of GLM-4.7-Flash in Q4_0, in MB per token.
TEST(Inspect, CountsTheBytesOfOneToken) {
    GgufWriter writer;
    for (const SynthTensor& tensor : synth_tensors({.arch = "glm-4.7-flash"})) {
        writer.tensor(tensor.name, tensor.type, tensor.dims);
    }
    writer.string("general.architecture", "deepseek2");
    writer.u32("deepseek2.block_count", 47);
    writer.u32("deepseek2.expert_used_count", 4);
    const std::string header = writer.header();
    const int descriptor = memory_file(header);
    ASSERT_EQ(ftruncate(descriptor, static_cast<off_t>(header.size() + writer.data_bytes())), 0);
    const GgufFile file = GgufFile::from_descriptor(descriptor, "glm.gguf");
    const TokenBytes bytes = bytes_per_token(file);
    EXPECT_NEAR(static_cast<double>(bytes.attention) * 1e-6, 575, 1);
    EXPECT_NEAR(static_cast<double>(bytes.routed) * 1e-6, 977, 1);
    EXPECT_NEAR(static_cast<double>(bytes.shared) * 1e-6, 318, 1);
    EXPECT_NEAR(static_cast<double>(bytes.router) * 1e-6, 24, 1);
    EXPECT_NEAR(static_cast<double>(bytes.dense) * 1e-6, 35, 1);
    EXPECT_NEAR(static_cast<double>(bytes.output) * 1e-6, 260, 1);
    EXPECT_NEAR(static_cast<double>(bytes.total()) * 1e-9, 2.189, 0.002);
}

TEST(Inspect, SkipsPredictionBlocksAndCountsTiedOutput) {
    const auto make = [](std::uint32_t n_predict) {
        GgufWriter writer;
        const std::vector<std::uint64_t> table{32, 10};
        const std::vector<std::uint64_t> matrix{32, 4};
        writer.tensor("token_embd.weight", Type::f32, table);
        writer.tensor("blk.0.ffn_up.weight", Type::f32, matrix);
        writer.tensor("blk.1.ffn_up.weight", Type::f32, matrix);
        writer.string("general.architecture", "deepseek2");
        writer.u32("deepseek2.block_count", 2);
        writer.u32("deepseek2.nextn_predict_layers", n_predict);
        return parse(writer.header() + std::string(writer.data_bytes(), '\0'));
    };
    EXPECT_EQ(bytes_per_token(make(0)).dense, 1024U);
    EXPECT_EQ(bytes_per_token(make(1)).dense, 512U);
    EXPECT_EQ(bytes_per_token(make(3)).dense, 0U);
    EXPECT_EQ(bytes_per_token(make(1)).output, 1280U);
    EXPECT_EQ(bytes_per_token(make(1)).embedding, 128U);
}

TEST(Inspect, ShowsAFileAsTextAndJson) {
    const GgufFile file = GgufFile::open(model_path("tiny-glm.gguf"));
    const std::string text = inspect_text(file);
    EXPECT_NE(text.find("deepseek2.rope.freq_base"), std::string::npos);
    EXPECT_NE(text.find("blk.2.ffn_up_shexp.weight"), std::string::npos);
    const auto json = nlohmann::json::parse(inspect_json(file));
    EXPECT_EQ(json["metadata"]["deepseek2.embedding_length"], 256);
    EXPECT_EQ(json["metadata"]["tokenizer.ggml.tokens"]["length"], 320);
    EXPECT_EQ(json["tensors"].size(), 52U);
    EXPECT_EQ(json["tensors"][0]["name"], "output.weight");
    EXPECT_EQ(json["bytes_per_token"]["total"], bytes_per_token(file).total());
}

TEST(Inspect, EscapesWhatFilesSay) {
    const std::string bytes = head(0, 3) + entry("a\x1b[2J", 8, text("\x1b]0;x\x07\xff")) +
                              entry("nan", 6, le(std::nanf(""))) +
                              entry("many", 9, array(8, 2, text("\x01") + text("\xc3")));
    const GgufFile file = parse(bytes);
    const std::string shown = inspect_text(file);
    EXPECT_EQ(shown.find('\x1b'), std::string::npos);
    EXPECT_TRUE(nlohmann::json::accept(inspect_json(file)));
}

}  // namespace
}  // namespace steady::test
