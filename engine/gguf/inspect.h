// What a model file holds, as text for people and as JSON for programs, and the weight bytes that
// decoding one token must read, by kind of weight. The last is the figure that every speed is
// judged against, so it is computed from the tensor table alone.
#pragma once

#include <cstdint>
#include <string>

#include "engine/gguf/file.h"

namespace steady {

// Bytes of weights read to decode one token: all dense weights, and of the routed experts the
// fraction n_used / n_experts. Prediction blocks behind the model proper are not read.
struct TokenBytes {
    std::uint64_t attention = 0;  // projections, and the norms inside attention
    std::uint64_t routed = 0;     // experts chosen by the router
    std::uint64_t shared = 0;     // experts that run always
    std::uint64_t router = 0;
    std::uint64_t dense = 0;      // feed-forward of the dense blocks
    std::uint64_t norms = 0;      // of the blocks and of the output
    std::uint64_t output = 0;     // output matrix, or the embedding when it is tied
    std::uint64_t embedding = 0;  // one row
    std::uint64_t total() const {
        return attention + routed + shared + router + dense + norms + output + embedding;
    }
};

TokenBytes bytes_per_token(const GgufFile& file);

std::string inspect_text(const GgufFile& file);
std::string inspect_json(const GgufFile& file);  // one JSON document, metadata arrays shortened

}  // namespace steady
