// Text to token numbers and back, with the vocabulary of a GGUF file: byte-level BPE behind the
// model's pre-tokeniser, special tokens recognised in the text. Any bytes survive the round trip.
// A file that holds a vocabulary and no tensors is enough.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/gguf/file.h"

namespace steady {

class Tokenizer {
public:
    // GgufError if the vocabulary is incomplete or contradicts itself (engine/text/README.md).
    static Tokenizer load(const GgufFile& file);
    ~Tokenizer();
    Tokenizer(Tokenizer&&) noexcept;
    Tokenizer& operator=(Tokenizer&&) noexcept;

    // No beginning-of-text token is added. parse_special = false leaves control tokens in the text
    // as plain characters, for text that comes from outside.
    std::vector<std::int32_t> encode(std::string_view text, bool parse_special = true) const;

    // The bytes of a token; special tokens give their text, unused ones and numbers outside of
    // the vocabulary give nothing. A piece may be part of a character.
    std::string_view piece(std::int32_t token) const;
    std::string decode(std::span<const std::int32_t> tokens) const;

    std::int32_t n_vocab() const;
    std::optional<std::int32_t> find(std::string_view text) const;  // the token's text in the file
    std::optional<std::int32_t> bos() const;
    std::optional<std::int32_t> eos() const;
    bool add_bos() const;                     // prompts begin with bos()
    bool is_stop(std::int32_t token) const;   // generation ends before this token
    const std::string& pretokenizer() const;  // "glm4", …

private:
    struct Data;
    friend struct VocabularyLoader;
    explicit Tokenizer(std::unique_ptr<Data> data);
    std::unique_ptr<Data> data_;
};

}  // namespace steady
