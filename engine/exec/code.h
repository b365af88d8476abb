// A hash of the code behind each choice of a plan, made when the engine is built. A record holds
// the hashes of what ran, so that a verdict stays tied to the code that it measured. What is
// hashed, and which changes are cosmetic: engine/exec/code.cmake.
#pragma once

#include <span>
#include <string_view>

namespace steady {

struct CodeHash {
    std::string_view name;  // "q4_0_matvec/avx2", "moe/fused", "exec/threads"
    std::string_view hash;  // 16 hex digits
};
std::span<const CodeHash> code_hashes();  // written by code.cmake

// Of an op's variant, or of a step's alternative, whose file may serve several ("mla",
// "spans_i8x2" stands in mla_spans.cpp). Empty: it has no file of its own.
std::string_view code_of(std::string_view op, std::string_view variant);

}  // namespace steady
