// JSON form of the session protocol. Strict: a missing field, a field of another type or a field
// that nobody knows is an error that names it. Included by few translation units: it is heavy.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "engine/protocol/error.h"
#include "engine/protocol/session.h"

namespace steady::protocol {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(ArmRequest, kernels, steps, threads, engine_flags)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AppliedKernel, variant, reason, calls_per_token)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AppliedArm, kernels, steps, threads, engine_flags,
                                   launches_per_token, weight_bytes_per_token)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(OpenRequest, nonce, arms, context, layout_seed)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OpenReply, nonce, version, engine_build, architecture,
                                   model_name, n_blocks, arms, op_shapes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(CorrectnessRequest, nonce, text, prompt_tokens,
                                                tokens)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CorrectnessReply, nonce, positions, top1_agree, kl, kl_max,
                                   max_abs, rel_l2, non_finite)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(DuetRequest, nonce, scope, coins, chunk,
                                                warmup_tokens, tokens, prompt_tokens, text)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DuetArm, token_ns, start_ns, ttft_ns, rss_bytes,
                                   launches_per_token, involuntary_switches, major_faults)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DuetReply, nonce, a, b, sentinel_gb_per_s, steal_share,
                                   busy_others_share)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(ProfileRequest, nonce, tokens, prompt_tokens, text)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ProfileRow, op, variant, calls_per_token, ns_per_token,
                                   bytes_per_token)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ProfileReply, nonce, arms, launches_per_token,
                                   barrier_ns_per_token)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ErrorReply, nonce, error)

// The first key of `json` that `known` lacks, as a JSON Pointer; empty when there is none.
inline std::string unknown_key(const nlohmann::json& json, const nlohmann::json& known,
                               const std::string& at = "") {
    if (json.is_object() && known.is_object()) {
        for (const auto& [key, value] : json.items()) {
            if (!known.contains(key)) return at + "/" + key;
            std::string below = unknown_key(value, known[key], at + "/" + key);
            if (!below.empty()) return below;
        }
    } else if (json.is_array() && known.is_array()) {
        for (std::size_t i = 0; i < json.size() && i < known.size(); ++i) {
            std::string below = unknown_key(json[i], known[i], at + "/" + std::to_string(i));
            if (!below.empty()) return below;
        }
    }
    return {};
}

// A struct from its JSON form. Throws Error naming what is missing, mistyped or unknown. "do" (the
// request's verb) is let through.
template <class T>
T strict_from_json(nlohmann::json json, const std::string& what) {
    if (!json.is_object()) throw Error(what + ": an object is needed");
    json.erase("do");
    try {
        T value = json.get<T>();
        const std::string unknown = unknown_key(json, nlohmann::json(value));
        if (!unknown.empty()) throw Error(what + ": unknown field " + unknown);
        return value;
    } catch (const nlohmann::json::exception& error) {
        throw Error(what + ": " + error.what());
    }
}

}  // namespace steady::protocol
