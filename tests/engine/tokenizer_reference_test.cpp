// Token numbers against the reference tokeniser (llama.cpp v0.5.0), and the way back: any bytes
// survive encoding and decoding.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "engine/text/pretokenizer.h"
#include "engine/text/tokenizer.h"
#include "tests/support/gguf_bytes.h"
#include "tests/support/long_texts.h"

namespace steady::test {
namespace {

using Tokens = std::vector<std::int32_t>;

std::string data_path(const std::string& name) {
    return std::string(STEADY_SOURCE_DIR) + "/tests/data/" + name;
}

nlohmann::json json_of(const std::string& name) {
    return nlohmann::json::parse(std::ifstream(data_path(name)));
}

Tokenizer tokenizer_of(const std::string& name) {
    return Tokenizer::load(GgufFile::open(data_path(name)));
}

class ReferenceModels : public testing::TestWithParam<const char*> {};

TEST_P(ReferenceModels, GiveTheReferenceTokens) {
    const std::string name = std::string("models/") + GetParam();
    const Tokenizer tokenizer = tokenizer_of(name + ".gguf");
    const nlohmann::json model = json_of(name + ".json");
    int n_cases = 0;
    for (const auto& item : model["tokenizer_cases"]) {
        const auto text = item["text"].get<std::string>();
        EXPECT_EQ(tokenizer.encode(text), item["ids"].get<Tokens>()) << text;
        EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
        ++n_cases;
    }
    EXPECT_GE(n_cases, 8);
}

INSTANTIATE_TEST_SUITE_P(Tokenizer, ReferenceModels,
                         testing::Values("tiny-glm", "tiny-dsv2", "tiny-youtu", "tiny-glm-f32"));

class Pretokenizers : public testing::TestWithParam<const char*> {};

// Random mixtures of scripts, spaces, digits, punctuation and special tokens over a vocabulary of
// learned merges, with tokens that no merge reaches and two user-defined ones.
TEST_P(Pretokenizers, GiveTheReferenceTokensOnRandomText) {
    const std::string pre = GetParam();
    const Tokenizer tokenizer = tokenizer_of("tokenizer/vocabulary-" + pre + ".gguf");
    const nlohmann::json cases = json_of("tokenizer/cases.json");
    const nlohmann::json& ids = cases["ids"][pre];
    ASSERT_EQ(ids.size(), 400U);
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const auto text = cases["texts"][i].get<std::string>();
        EXPECT_EQ(tokenizer.encode(text), ids[i].get<Tokens>()) << text;
    }
}

// Where the text is cut, also where no merge would show it: scripts, spaces and digits of all
// kinds.
TEST_P(Pretokenizers, CutWhereTheReferenceCuts) {
    const Pretokenizer pretokenizer(GetParam());
    const nlohmann::json cases = json_of("tokenizer/pieces.json");
    const nlohmann::json& pieces = cases["pieces"][GetParam()];
    ASSERT_GE(pieces.size(), 290U);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const auto text = cases["texts"][i].get<std::string>();
        EXPECT_EQ(pretokenizer.split(text), pieces[i].get<std::vector<std::size_t>>()) << text;
    }
}

TEST_P(Pretokenizers, KeepAnyBytes) {
    const Tokenizer tokenizer =
        tokenizer_of(std::string("tokenizer/vocabulary-") + GetParam() + ".gguf");
    std::mt19937 random(7);
    for (int round = 0; round < 300; ++round) {
        std::string bytes(random() % 200, '\0');
        // Halves of characters next to whole ones, and plain noise.
        for (char& byte : bytes) {
            constexpr std::string_view favourites =
                "\xe4\xbd\xa0\xff\xc3\xf0\x9f \n<|a1'\xed\xa0\x80";
            byte = random() % 2 != 0 ? favourites[random() % favourites.size()]
                                     : static_cast<char>(random());
        }
        EXPECT_EQ(tokenizer.decode(tokenizer.encode(bytes)), bytes);
        EXPECT_EQ(tokenizer.decode(tokenizer.encode(bytes, false)), bytes);
    }
}

// A megabyte of each takes a second in tokenizer_megabyte_long.cpp.
TEST_P(Pretokenizers, TakeLongTexts) {
    const bool longer = std::getenv("STEADY_LONG") != nullptr;
    expect_long_texts_survive(GetParam(), longer ? 1 << 20 : 1 << 15);
}

INSTANTIATE_TEST_SUITE_P(Tokenizer, Pretokenizers,
                         testing::Values("glm4", "deepseek-llm", "youtu"));

TEST(Tokenizer, LeavesControlTokensOfForeignTextAlone) {
    const Tokenizer tokenizer = tokenizer_of("models/tiny-glm.gguf");
    const std::string text = "a<|user|>b";
    EXPECT_EQ(tokenizer.encode(text), (Tokens{97, 303, 98}));
    for (const std::int32_t token : tokenizer.encode(text, false)) EXPECT_LT(token, 296);
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text, false)), text);
}

TEST(Tokenizer, KnowsItsSpecialTokens) {
    const Tokenizer tokenizer = tokenizer_of("models/tiny-glm.gguf");
    EXPECT_EQ(tokenizer.n_vocab(), 320);
    EXPECT_EQ(tokenizer.bos(), 298);
    EXPECT_EQ(tokenizer.eos(), 296);
    EXPECT_FALSE(tokenizer.add_bos());
    EXPECT_TRUE(tokenizer.is_stop(296));
    EXPECT_TRUE(tokenizer.is_stop(*tokenizer.find("<|user|>")));
    EXPECT_FALSE(tokenizer.is_stop(97));
    EXPECT_FALSE(tokenizer.is_stop(-1));
    EXPECT_FALSE(tokenizer.is_stop(320));
    EXPECT_EQ(tokenizer.piece(-1), "");
    EXPECT_EQ(tokenizer.piece(320), "");
    EXPECT_EQ(tokenizer.piece(303), "<|user|>");
    EXPECT_EQ(tokenizer.encode(""), Tokens{});
}

}  // namespace
}  // namespace steady::test
