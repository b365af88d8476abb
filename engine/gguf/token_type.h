// What "tokenizer.ggml.token_type" of a GGUF says of each token.
#pragma once

#include <cstdint>

namespace steady {

enum TokenType : std::int32_t { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };

}  // namespace steady
