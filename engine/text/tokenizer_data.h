// What a Tokenizer holds; the loader fills it, the tokeniser reads it.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/text/bpe.h"
#include "engine/text/pretokenizer.h"
#include "engine/text/special.h"
#include "engine/text/tokenizer.h"

namespace steady {

// Many short texts in one allocation.
class TextTable {
public:
    void add(std::string_view text) {
        bytes_ += text;
        ends_.push_back(bytes_.size());
    }
    std::string_view operator[](std::size_t i) const {
        const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
        return std::string_view(bytes_).substr(begin, ends_[i] - begin);
    }
    std::size_t size() const { return ends_.size(); }

private:
    std::string bytes_;
    std::vector<std::size_t> ends_;
};

struct Tokenizer::Data {
    explicit Data(std::string_view pretokenizer_name)
        : pretokenizer(pretokenizer_name), name(pretokenizer_name) {}

    Pretokenizer pretokenizer;
    std::string name;
    bool whole_pieces_first = false;  // a piece that is a token is not merged
    TextTable texts;                  // by token, as in the file
    TextTable pieces;                 // by token, decoded
    std::unordered_map<std::string_view, std::int32_t> tokens;  // by text; views into texts
    SpecialTokens special;
    BytePairMerger merger;
    std::vector<std::int32_t> symbol_tokens;          // by Symbol; -1: no such token
    std::unordered_map<Symbol, std::string> orphans;  // bytes of symbols that are no token
    std::vector<bool> stops;                          // by token
    std::optional<std::int32_t> bos;
    std::optional<std::int32_t> eos;
    bool add_bos = false;
};

}  // namespace steady
