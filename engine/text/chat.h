// Turns of a conversation as the three models were taught to read them. Only the marks are parsed
// as special tokens; what people wrote stays plain text, so that nobody can type a turn's end.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/text/tokenizer.h"

namespace steady {

enum class ChatRole { system, user, assistant };

struct ChatTurn {
    ChatRole role;
    std::string text;
};

// The tokens of the turns and of the mark after which the model answers. The format follows the
// tokenizer's pre-tokeniser; begins with the model's beginning-of-text tokens.
std::vector<std::int32_t> encode_chat(const Tokenizer& tokenizer, std::span<const ChatTurn> turns);

}  // namespace steady
