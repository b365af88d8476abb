// Vocabularies that contradict themselves: refused when loaded, with the key named.
#include <gtest/gtest.h>

#include "engine/gguf/writer.h"
#include "engine/text/byte_alphabet.h"
#include "engine/text/special.h"
#include "engine/text/tokenizer.h"
#include "tests/support/gguf_bytes.h"

namespace steady::test {
namespace {

// A vocabulary of 256 bytes and two special tokens, to be spoilt in one place.
struct Vocabulary {
    std::string model = "gpt2";
    std::string pre = "glm4";
    std::vector<std::string> tokens;
    std::vector<std::int32_t> types;
    std::vector<std::string> merges{"a b"};
    std::uint32_t eos = 256;

    Vocabulary() {
        for (int byte = 0; byte < 256; ++byte) {
            tokens.emplace_back(byte_text(static_cast<std::uint8_t>(byte)));
        }
        types.assign(256, 1);
        tokens.emplace_back("<|endoftext|>");
        tokens.emplace_back("<|user|>");
        types.insert(types.end(), {3, 3});
    }

    GgufFile file() const {
        GgufWriter writer;
        writer.string("tokenizer.ggml.model", model);
        writer.string("tokenizer.ggml.pre", pre);
        writer.strings("tokenizer.ggml.tokens", tokens);
        writer.i32_array("tokenizer.ggml.token_type", types);
        writer.strings("tokenizer.ggml.merges", merges);
        writer.u32("tokenizer.ggml.eos_token_id", eos);
        return parse(writer.header());
    }

    std::string error() const {
        try {
            Tokenizer::load(file());
        } catch (const GgufError& error) {
            return error.what();
        }
        return "accepted";
    }
};

void expect_error(const Vocabulary& vocabulary, const std::string& part) {
    EXPECT_NE(vocabulary.error().find(part), std::string::npos) << vocabulary.error();
}

TEST(Vocabulary, IsAcceptedWhole) {
    EXPECT_EQ(Vocabulary().error(), "accepted");
    // The result of the merge "a b" is no token: its bytes are.
    const Tokenizer tokenizer = Tokenizer::load(Vocabulary().file());
    EXPECT_EQ(tokenizer.encode("ab"), (std::vector<std::int32_t>{'a', 'b'}));
}

TEST(Vocabulary, GivesLongerSpecialTokensTheirBytesFirst) {
    SpecialTokens special;
    special.add("ab", 1, true);
    special.add("bcd", 2, true);
    special.add("aa", 3, false);
    const auto tokens = [&](const char* text, bool controls) {
        std::vector<std::pair<std::size_t, std::int32_t>> found;
        for (const SpecialMatch& match : special.find(text, controls)) {
            found.emplace_back(match.begin, match.token);
        }
        return found;
    };
    using Found = std::vector<std::pair<std::size_t, std::int32_t>>;
    EXPECT_EQ(tokens("abcd", true), (Found{{1, 2}}));
    EXPECT_EQ(tokens("abcabcdab", true), (Found{{0, 1}, {4, 2}, {7, 1}}));
    EXPECT_EQ(tokens("aaab", true), (Found{{0, 3}, {2, 1}}));
    EXPECT_EQ(tokens("aaab", false), (Found{{0, 3}}));
}

TEST(Vocabulary, RefusesOtherModelsAndPretokenizers) {
    Vocabulary other;
    other.model = "llama";
    expect_error(other, "tokenizer.ggml.model': found 'llama', allowed: 'gpt2'");
    Vocabulary pre;
    pre.pre = "qwen2";
    expect_error(pre, "'tokenizer.ggml.pre': found 'qwen2', allowed: glm4,");
}

TEST(Vocabulary, RefusesListsOfOtherLengths) {
    Vocabulary types;
    types.types.pop_back();
    expect_error(types, "token_type': found 257 elements, allowed: an array of 258");
    Vocabulary none;
    none.tokens.clear();
    none.types.clear();
    expect_error(none, "tokenizer.ggml.tokens': found no tokens");
}

TEST(Vocabulary, RefusesNumbersOutsideOfIt) {
    Vocabulary eos;
    eos.eos = 258;
    expect_error(eos, "eos_token_id': found 258, allowed: less than the 258 tokens");
    Vocabulary type;
    type.types[3] = 7;
    expect_error(type, "token_type': found 7 at 3");
    type.types[3] = -1;
    expect_error(type, "token_type': found -1 at 3");
}

TEST(Vocabulary, RefusesMergesThatAreNoPair) {
    for (const char* merge : {"", " ", "a", "a ", " b", "  "}) {
        Vocabulary vocabulary;
        vocabulary.merges = {merge};
        expect_error(vocabulary, "merges': found '");
    }
}

TEST(Vocabulary, TakesByteTokensStrictly) {
    for (const char* text :
         {"<0x-1>", "<0x>", "<0x1>", "<0x100>", "<0xG0>", "0x41", "<0x41", "<0x41>>"}) {
        Vocabulary vocabulary;
        vocabulary.tokens[257] = text;
        vocabulary.types[257] = 6;
        expect_error(vocabulary, "byte token 257 '");
    }
    Vocabulary vocabulary;
    vocabulary.tokens[257] = "<0x41>";
    vocabulary.types[257] = 6;
    EXPECT_EQ(Tokenizer::load(vocabulary.file()).piece(257), "A");
}

TEST(Vocabulary, SaysWhichByteHasNoToken) {
    Vocabulary vocabulary;
    vocabulary.tokens['q'] = "[gone]";
    const Tokenizer tokenizer = Tokenizer::load(vocabulary.file());
    EXPECT_THROW(tokenizer.encode("q"), Error);
    EXPECT_NO_THROW(tokenizer.encode("p"));
}

TEST(Vocabulary, RefusesKeysOfOtherTypes) {
    const std::string bytes = head(0, 2) + entry("tokenizer.ggml.model", 8, text("gpt2")) +
                              entry("tokenizer.ggml.pre", 4, u32(1));
    EXPECT_THROW(Tokenizer::load(parse(bytes)), GgufError);
    EXPECT_THROW(Tokenizer::load(parse(head(0, 0))), GgufError);
}

}  // namespace
}  // namespace steady::test
