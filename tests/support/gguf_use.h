// Does everything with a file that the engine could: reads every key, prints it, loads and uses its
// vocabulary, touches its tensors. Shared by the mutation tests and the fuzz target.
#pragma once

#include <array>
#include <optional>

#include "engine/gguf/file.h"
#include "engine/gguf/inspect.h"
#include "engine/text/chat.h"
#include "engine/text/tokenizer.h"

namespace steady::test {

enum class Outcome { refused, header_only, vocabulary_too };

// Runs `step`; an Error is an answer.
template <typename Step>
bool answers(Step step) {
    try {
        step();
        return true;
    } catch (const Error&) {
        return false;
    }
}

inline void read_keys(const GgufFile& file) {
    for (const Metadata& entry : file.metadata()) {
        answers([&] { file.u32(entry.key); });
        answers([&] { file.f32(entry.key); });
        answers([&] { file.boolean(entry.key); });
        answers([&] { file.string(entry.key); });
        answers([&] { file.strings(entry.key); });
        answers([&] { file.i32_array(entry.key); });
        answers([&] { file.f32_array(entry.key); });
    }
}

inline void read_tensors(const GgufFile& file) {
    std::array<std::byte, 4096> buffer;
    for (const Tensor& tensor : file.tensors()) {
        const auto n =
            static_cast<std::size_t>(std::min<std::uint64_t>(tensor.bytes, buffer.size()));
        file.read(tensor, std::span(buffer).first(n), tensor.bytes - n);
        const std::span<const std::byte> mapped = file.map(tensor);
        static_cast<void>(*const_cast<const volatile std::byte*>(&mapped.back()));
    }
}

// Takes the descriptor over. Throws nothing but what is a bug.
inline Outcome use_everything(int descriptor) {
    std::optional<GgufFile> file;
    if (!answers([&] { file = GgufFile::from_descriptor(descriptor, "test.gguf"); })) {
        return Outcome::refused;
    }
    read_keys(*file);
    inspect_text(*file);
    inspect_json(*file);
    read_tensors(*file);
    const bool has_vocabulary = answers([&] {
        const Tokenizer tokenizer = Tokenizer::load(*file);
        file.reset();  // a tokenizer stands on its own
        const std::string text = "the hen <|user|>12'll \xe4\xbd\xa0\xff\n";
        answers([&] { tokenizer.decode(tokenizer.encode(text)); });
        answers([&] { encode_chat(tokenizer, std::array{ChatTurn{ChatRole::user, text}}); });
        for (std::int32_t token = -1; token < std::min(tokenizer.n_vocab(), 400) + 1; ++token) {
            tokenizer.piece(token);
            tokenizer.is_stop(token);
        }
    });
    return has_vocabulary ? Outcome::vocabulary_too : Outcome::header_only;
}

}  // namespace steady::test
