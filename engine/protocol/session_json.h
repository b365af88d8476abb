// The session protocol's structs as JSON: the field lists behind both directions. Reading is strict
// (json_fields.h), so that a reply of another version or a broken engine is refused, not guessed
// at. Heavy header: include it where lines are written or read, nowhere else.
#pragma once

#include "engine/protocol/json_fields.h"
#include "engine/protocol/session.h"

namespace steady::protocol {

// A candidate that computes NaN gives NaN divergences: that is an answer, not a broken reply.
template <class T>
constexpr bool kMayBeNonFinite = std::is_same_v<T, CorrectnessReply>;

// Visit is json_fields::Writer with a const value, or json_fields::Reader with a mutable one.
#define STEADY_FIELDS(Type, ...)                                                              \
    template <class Visit>                                                                    \
    void fields(Visit& visit, const Type& v) {                                                \
        __VA_ARGS__                                                                           \
    }                                                                                         \
    template <class Visit>                                                                    \
    void fields(Visit& visit, Type& v) {                                                      \
        __VA_ARGS__                                                                           \
    }                                                                                         \
    inline void to_json(nlohmann::json& out, const Type& v) { out = json_fields::encode(v); } \
    inline void from_json(const nlohmann::json& in, Type& v) {                                \
        json_fields::decode(in, {#Type, kMayBeNonFinite<Type>}, v);                           \
    }

// clang-format off
STEADY_FIELDS(ArmRequest,
    visit("kernels", v.kernels); visit("steps", v.steps); visit("threads", v.threads);
    visit("engine_flags", v.engine_flags);)
STEADY_FIELDS(AppliedKernel,
    visit("variant", v.variant); visit("reason", v.reason);
    visit("calls_per_token", v.calls_per_token);)
STEADY_FIELDS(AppliedArm,
    visit("kernels", v.kernels); visit("steps", v.steps); visit("threads", v.threads);
    visit("engine_flags", v.engine_flags); visit("launches_per_token", v.launches_per_token);
    visit("weight_bytes_per_token", v.weight_bytes_per_token);)
STEADY_FIELDS(OpenRequest,
    visit("nonce", v.nonce); visit("arms", v.arms); visit("context", v.context);
    visit("layout_seed", v.layout_seed);)
STEADY_FIELDS(OpenReply,
    visit("nonce", v.nonce); visit("version", v.version); visit("engine_build", v.engine_build);
    visit("architecture", v.architecture); visit("model_name", v.model_name);
    visit("n_blocks", v.n_blocks); visit("arms", v.arms); visit("op_shapes", v.op_shapes);)
STEADY_FIELDS(CorrectnessRequest,
    visit("nonce", v.nonce); visit("text", v.text); visit("prompt_tokens", v.prompt_tokens);
    visit("tokens", v.tokens);)
STEADY_FIELDS(CorrectnessReply,
    visit("nonce", v.nonce); visit("positions", v.positions); visit("top1_agree", v.top1_agree);
    visit("kl", v.kl); visit("kl_max", v.kl_max); visit("max_abs", v.max_abs);
    visit("rel_l2", v.rel_l2); visit("non_finite", v.non_finite);)
STEADY_FIELDS(DuetRequest,
    visit("nonce", v.nonce); visit("scope", v.scope); visit("coins", v.coins);
    visit("chunk", v.chunk); visit("warmup_tokens", v.warmup_tokens); visit("tokens", v.tokens);
    visit("prompt_tokens", v.prompt_tokens); visit("text", v.text);)
STEADY_FIELDS(DuetArm,
    visit("token_ns", v.token_ns); visit("start_ns", v.start_ns); visit("ttft_ns", v.ttft_ns);
    visit("rss_bytes", v.rss_bytes); visit("launches_per_token", v.launches_per_token);
    visit("involuntary_switches", v.involuntary_switches); visit("major_faults", v.major_faults);)
STEADY_FIELDS(DuetReply,
    visit("nonce", v.nonce); visit("a", v.a); visit("b", v.b);
    visit("sentinel_gb_per_s", v.sentinel_gb_per_s); visit("steal_share", v.steal_share);
    visit("busy_others_share", v.busy_others_share);)
STEADY_FIELDS(ProfileRequest,
    visit("nonce", v.nonce); visit("tokens", v.tokens); visit("prompt_tokens", v.prompt_tokens);
    visit("text", v.text);)
STEADY_FIELDS(ProfileRow,
    visit("op", v.op); visit("variant", v.variant); visit("calls_per_token", v.calls_per_token);
    visit("ns_per_token", v.ns_per_token); visit("bytes_per_token", v.bytes_per_token);)
STEADY_FIELDS(ProfileReply,
    visit("nonce", v.nonce); visit("arms", v.arms);
    visit("launches_per_token", v.launches_per_token);
    visit("barrier_ns_per_token", v.barrier_ns_per_token);)
STEADY_FIELDS(ErrorReply, visit("nonce", v.nonce); visit("error", v.error);)
// clang-format on
#undef STEADY_FIELDS

}  // namespace steady::protocol
