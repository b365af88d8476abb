// Texts of whatever hurts a tokeniser most: runs without a break, runs of spaces before a letter,
// characters on which a careless expression would go back and forth. Quadratic time would meet the
// time limit of the test.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/text/tokenizer.h"

namespace steady::test {

inline void expect_long_texts_survive(const std::string& pretokenizer, std::size_t n_bytes) {
    const Tokenizer tokenizer = Tokenizer::load(GgufFile::open(
        STEADY_SOURCE_DIR "/tests/data/tokenizer/vocabulary-" + pretokenizer + ".gguf"));
    const std::vector<std::string> units = {"a",
                                            "A",
                                            "aB",
                                            " ",
                                            "\n",
                                            " \n",
                                            "\t",
                                            "1",
                                            "!",
                                            "<",
                                            "'",
                                            "\xe4\xbd\xa0",
                                            "\xcc\x81",
                                            "\xff",
                                            "the ",
                                            "e\xcc\x81 ",
                                            "\xe3\x80\x80",
                                            "<|us",
                                            "x  "};
    for (const std::string& unit : units) {
        std::string text;
        while (text.size() < n_bytes) text += unit;
        text += "z";
        EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text) << unit;
    }
}

}  // namespace steady::test
