// The rounding of the cache's values, and the op's registration.
#include "kernels/mla_attention/op.h"

#include "kernels/attention/attention_case.h"

namespace steady {

void mla_cache::store(Type type, const float* values, std::int64_t n, std::byte* out) noexcept {
    if (type == Type::f32) {
        std::memcpy(out, values, static_cast<std::size_t>(n) * sizeof(float));
        return;
    }
    for (std::int64_t i = 0; i < n; ++i) {
        std::uint16_t stored = float_to_half(values[i]).bits;
        if (type == Type::bf16) {
            const auto bits = std::bit_cast<std::uint32_t>(values[i]);
            const bool nan = (bits & 0x7FFFFFFFU) > 0x7F800000U;  // rounding could lose it
            stored = static_cast<std::uint16_t>(
                (nan ? bits | 0x400000U : bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
        }
        std::memcpy(out + 2 * i, &stored, sizeof stored);
    }
}

static const RegisteredOp<MlaAttention> mla_attention_op;

}  // namespace steady
