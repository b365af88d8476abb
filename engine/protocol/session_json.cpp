// One table of fields per struct serves writing and reading. Apart from the header, since to
// compile it takes seconds for each file that needs a message.
#include "engine/protocol/session_json.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "kernels/base/error.h"

namespace steady::protocol {
namespace {

using Json = nlohmann::ordered_json;

// ---- fields. visit(name, member, required) for each.
template <class S, class V>
void fields(S& s, V visit) requires std::is_same_v<std::remove_const_t<S>, ArmRequest> {
    visit("kernels", s.kernels, false);
    visit("steps", s.steps, false);
    visit("threads", s.threads, false);
    visit("engine_flags", s.engine_flags, false);
}
template <class S, class V>
void fields(S& s, V visit) requires std::is_same_v<std::remove_const_t<S>, AppliedKernel> {
    visit("variant", s.variant, true);
    visit("reason", s.reason, true);
    visit("calls_per_token", s.calls_per_token, true);
    visit("calls_per_pass", s.calls_per_pass, false);
    visit("code", s.code, false);
}
template <class S, class V>
void fields(S& s, V visit) requires std::is_same_v<std::remove_const_t<S>, AppliedArm> {
    visit("kernels", s.kernels, true);
    visit("steps", s.steps, true);
    visit("code", s.code, false);
    visit("threads", s.threads, true);
    visit("engine_flags", s.engine_flags, true);
    visit("launches_per_token", s.launches_per_token, true);
    visit("weight_bytes_per_token", s.weight_bytes_per_token, true);
}
template <class S, class V>
void fields(S& s, V visit) requires std::is_same_v<std::remove_const_t<S>, OpenRequest> {
    visit("nonce", s.nonce, true);
    visit("arms", s.arms, true);
    visit("context", s.context, false);
    visit("layout_seed", s.layout_seed, false);
}
template <class S, class V>
void fields(S& s, V visit) requires std::is_same_v<std::remove_const_t<S>, OpenReply> {
    visit("nonce", s.nonce, true);
    visit("version", s.version, true);
    visit("engine_build", s.engine_build, true);
    visit("architecture", s.architecture, true);
    visit("model_name", s.model_name, true);
    visit("n_blocks", s.n_blocks, true);
    visit("arms", s.arms, true);
    visit("op_shapes", s.op_shapes, true);
}
template <class S, class V>
void fields(S& s, V visit) requires std::is_same_v<std::remove_const_t<S>, CorrectnessRequest> {
    visit("nonce", s.nonce, true);
    visit("text", s.text, true);
    visit("prompt_tokens", s.prompt_tokens, false);
    visit("tokens", s.tokens, false);
    visit("depth", s.depth, false);
}
template <class S, class V>
void fields(S& s, V visit) requires std::is_same_v<std::remove_const_t<S>, CorrectnessReply> {
    visit("nonce", s.nonce, true);
    visit("positions", s.positions, true);
    visit("top1_agree", s.top1_agree, true);
    visit("kl", s.kl, true);
    visit("kl_max", s.kl_max, true);
    visit("max_abs", s.max_abs, true);
    visit("rel_l2", s.rel_l2, true);
    visit("non_finite", s.non_finite, true);
}
template <class S, class V>
void fields(S& s, V visit) requires std::is_same_v<std::remove_const_t<S>, DuetRequest> {
    visit("nonce", s.nonce, true);
    visit("scope", s.scope, false);
    visit("coins", s.coins, true);
    visit("chunk", s.chunk, false);
    visit("warmup_tokens", s.warmup_tokens, false);
    visit("tokens", s.tokens, false);
    visit("prompt_tokens", s.prompt_tokens, false);
    visit("text", s.text, true);
    visit("depth", s.depth, false);
}
template <class S, class V>
void fields(S& s, V visit) requires std::is_same_v<std::remove_const_t<S>, DuetArm> {
    visit("token_ns", s.token_ns, true);
    visit("start_ns", s.start_ns, true);
    visit("ttft_ns", s.ttft_ns, true);
    visit("rss_bytes", s.rss_bytes, true);
    visit("launches_per_token", s.launches_per_token, true);
    visit("involuntary_switches", s.involuntary_switches, true);
    visit("major_faults", s.major_faults, true);
    visit("sm_clock_mhz", s.sm_clock_mhz, false);
    visit("memory_clock_mhz", s.memory_clock_mhz, false);
    visit("clock_reasons", s.clock_reasons, false);
}
template <class S, class V>
void fields(S& s, V visit) requires std::is_same_v<std::remove_const_t<S>, DuetReply> {
    visit("nonce", s.nonce, true);
    visit("a", s.a, true);
    visit("b", s.b, true);
    visit("sentinel_gb_per_s", s.sentinel_gb_per_s, true);
    visit("steal_share", s.steal_share, true);
    visit("busy_others_share", s.busy_others_share, true);
}
template <class S, class V>
void fields(S& s, V visit) requires std::is_same_v<std::remove_const_t<S>, ProfileRequest> {
    visit("nonce", s.nonce, true);
    visit("tokens", s.tokens, false);
    visit("prompt_tokens", s.prompt_tokens, false);
    visit("text", s.text, true);
    visit("depth", s.depth, false);
    visit("read", s.read, false);
}
template <class S, class V>
void fields(S& s, V visit) requires std::is_same_v<std::remove_const_t<S>, ProfileRow> {
    visit("op", s.op, true);
    visit("variant", s.variant, true);
    visit("calls_per_token", s.calls_per_token, true);
    visit("ns_per_token", s.ns_per_token, true);
    visit("bytes_per_token", s.bytes_per_token, true);
    visit("process_ns", s.process_ns, false);
}
template <class S, class V>
void fields(S& s, V visit) requires std::is_same_v<std::remove_const_t<S>, ProfileReply> {
    visit("nonce", s.nonce, true);
    visit("arms", s.arms, true);
    visit("launches_per_token", s.launches_per_token, true);
    visit("barrier_ns_per_token", s.barrier_ns_per_token, true);
    visit("read_gb_per_s", s.read_gb_per_s, false);
    visit("read_where", s.read_where, false);
}
template <class S, class V>
void fields(S& s, V visit) requires(std::is_same_v<std::remove_const_t<S>, QuitRequest> ||
                                    std::is_same_v<std::remove_const_t<S>, QuitReply>) {
    visit("nonce", s.nonce, true);
}
template <class S, class V>
void fields(S& s, V visit) requires std::is_same_v<std::remove_const_t<S>, ErrorReply> {
    visit("nonce", s.nonce, true);
    visit("error", s.error, true);
}

// ---- writing
// Replies of engines that hashed no code or read no clocks have no such field, and stored ones are
// written as they were.
template <class T>
bool is_absent(std::string_view name, const T& member) {
    const bool optional = name == "code" || name == "read_where" || name == "sm_clock_mhz" ||
                          name == "memory_clock_mhz" || name == "clock_reasons";
    if constexpr (requires { member.empty(); }) return optional && member.empty();
    return false;
}

template <class T>
Json to_json(const T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
        return value;
    } else if constexpr (requires { value.begin()->second; }) {
        Json object = Json::object();
        for (const auto& [key, each] : value) object[key] = to_json(each);
        return object;
    } else if constexpr (requires { value.begin(); }) {
        Json array = Json::array();
        for (const auto& each : value) array.push_back(to_json(each));
        return array;
    } else {
        Json object = Json::object();
        fields(value, [&](const char* name, const auto& member, bool) {
            if (!is_absent(name, member)) object[name] = to_json(member);
        });
        return object;
    }
}

// ---- reading, from either kind of Json: what is kept sorted need not be written out and parsed
// again. Error naming the path ("/arms/A/threads"), what was found and what is allowed.

// Where a value stands. The text is made only for a message.
struct Path {
    const Path* above = nullptr;
    std::string_view step = {};

    std::string text() const {
        return above == nullptr ? "" : above->text() + "/" + std::string(step);
    }
};

constexpr Path kWholeLine;

[[noreturn]] void reject(const Path& path, const std::string& found, const std::string& allowed) {
    throw Error{"session line: " + (path.above == nullptr ? "the whole line" : path.text()) +
                ": found " + found + ", allowed " + allowed};
}

template <class AnyJson, class T>
void from_json(const AnyJson& json, const Path& path, T& value);

template <class AnyJson, class T>
void read_number(const AnyJson& json, const Path& path, T& value) {
    if constexpr (std::is_floating_point_v<T>) {
        if (!json.is_number()) reject(path, json.type_name(), "a number");
        value = json.template get<T>();
    } else {
        if (!json.is_number_integer()) reject(path, json.dump().substr(0, 40), "a whole number");
        const bool fits = json.is_number_unsigned() || json.template get<std::int64_t>() >= 0
                              ? json.template get<std::uint64_t>() <=
                                    static_cast<std::uint64_t>(std::numeric_limits<T>::max())
                              : std::is_signed_v<T> &&
                                    json.template get<std::int64_t>() >=
                                        static_cast<std::int64_t>(std::numeric_limits<T>::min());
        if (!fits) reject(path, json.dump(), "a whole number of the field's size");
        value = json.template get<T>();
    }
}

template <class T>
std::string names_of(T& value) {
    std::string names;
    fields(value, [&](const char* name, auto&, bool) {
        names += (names.empty() ? "" : ", ") + std::string(name);
    });
    return names;
}

template <class AnyJson, class T>
void read_struct(const AnyJson& json, const Path& path, T& value) {
    if (!json.is_object()) reject(path, json.type_name(), "an object");
    fields(value, [&](const char* name, auto& member, bool required) {
        const auto found = json.find(name);
        if (found != json.end()) return from_json(*found, Path{&path, name}, member);
        if (required) reject(Path{&path, name}, "nothing", "this field is required");
    });
    for (const auto& item : json.items()) {
        const std::string& key = item.key();
        bool known = path.above == nullptr && key == "type";
        fields(value, [&](const char* name, auto&, bool) { known = known || key == name; });
        if (!known) reject(Path{&path, key}, "an unknown field", "only " + names_of(value));
    }
}

template <class AnyJson, class T>
void from_json(const AnyJson& json, const Path& path, T& value) {
    if constexpr (std::is_same_v<T, bool>) {
        if (!json.is_boolean()) reject(path, json.type_name(), "true or false");
        value = json.template get<bool>();
    } else if constexpr (std::is_arithmetic_v<T>) {
        read_number(json, path, value);
    } else if constexpr (std::is_same_v<T, std::string>) {
        if (!json.is_string()) reject(path, json.type_name(), "a string");
        value = json.template get<std::string>();
    } else if constexpr (requires { value.begin()->second; }) {
        if (!json.is_object()) reject(path, json.type_name(), "an object");
        value.clear();
        for (const auto& [key, each] : json.items()) {
            from_json(each, Path{&path, key}, value[key]);
        }
    } else if constexpr (requires { value.begin(); }) {
        if (!json.is_array()) reject(path, json.type_name(), "an array");
        value.clear();
        for (const AnyJson& each : json) {
            const std::string step = std::to_string(value.size());
            from_json(each, Path{&path, step}, value.emplace_back());
        }
    } else {
        read_struct(json, path, value);
    }
}

// ---- lines
constexpr const char* kRequestTypes[] = {"open", "correctness", "duet", "profile", "quit"};
constexpr const char* kReplyTypes[] = {"open", "correctness", "duet", "profile", "quit", "error"};

// A message as it is sent: a request without what reading would put back by itself, so that an
// engine from before a field answers whoever does not use it.
template <class T>
Json to_sent(const T& message) {
    Json json = to_json(message);
    if constexpr (is_one_of<T, Request>) {
        const Json usual = to_json(T{});
        fields(message, [&](const char* name, const auto&, bool required) {
            if (!required && json[name] == usual[name]) json.erase(name);
        });
    }
    return json;
}

template <class Variant, std::size_t n>
std::string line_of(const Variant& message, const char* const (&types)[n]) {
    static_assert(std::variant_size_v<Variant> == n);
    Json line = {{"type", types[message.index()]}};
    std::visit([&](const auto& each) { line.update(to_sent(each)); }, message);
    return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// How deep arrays and objects may nest; the protocol needs five. Hostile nesting costs no stack.
constexpr int kMaxDepth = 16;

Json parse_line(const std::string& line) {
    const auto depth_limit = [](int depth, Json::parse_event_t, Json&) {
        if (depth > kMaxDepth) throw Error{"session line: nested deeper than 16 levels"};
        return true;
    };
    try {
        return Json::parse(line, depth_limit);
    } catch (const Json::exception& error) {
        throw Error{"session line: not JSON: " + std::string(error.what())};
    }
}

template <class Variant, std::size_t at = 0, std::size_t n>
Variant message_of(const Json& json, const std::string& type, const char* const (&types)[n]) {
    if constexpr (at == n) {
        std::string all;
        for (const char* each : types) all += (all.empty() ? "" : ", ") + std::string(each);
        reject(Path{&kWholeLine, "type"}, "\"" + type.substr(0, 40) + "\"", all);
    } else {
        if (type != types[at]) return message_of<Variant, at + 1>(json, type, types);
        std::variant_alternative_t<at, Variant> message;
        from_json(json, kWholeLine, message);
        return message;
    }
}

template <class Variant, std::size_t n>
Variant message_from_line(const std::string& line, const char* const (&types)[n]) {
    const Json json = parse_line(line);
    if (!json.is_object()) reject(kWholeLine, json.type_name(), "an object");
    const auto type = json.find("type");
    if (type == json.end() || !type->is_string()) {
        reject(Path{&kWholeLine, "type"}, "no text", "a request's name");
    }
    return message_of<Variant>(json, type->template get<std::string>(), types);
}

}  // namespace

std::string to_line(const Request& request) { return line_of(request, kRequestTypes); }
std::string to_line(const Reply& reply) { return line_of(reply, kReplyTypes); }

Request request_from_line(const std::string& line) {
    return message_from_line<Request>(line, kRequestTypes);
}
Reply reply_from_line(const std::string& line) {
    return message_from_line<Reply>(line, kReplyTypes);
}

std::string nonce_of(const std::string& line) {
    try {
        const Json json = parse_line(line);
        const auto nonce = json.is_object() ? json.find("nonce") : json.end();
        return nonce != json.end() && nonce->is_string() ? nonce->get<std::string>() : "";
    } catch (const std::exception&) {
        return "";
    }
}

template <Message T>
void to_json(nlohmann::json& out, const T& value) {
    out = nlohmann::json::parse(to_sent(value).dump());
}

template <Message T>
T strict_from_json(const nlohmann::json& json, const std::string& what) {
    try {
        T value;
        from_json(json, kWholeLine, value);
        return value;
    } catch (const Error& error) {
        throw Error(what + ": " + error.what());
    }
}

#define STEADY_MESSAGE(T)                             \
    template void to_json(nlohmann::json&, const T&); \
    template T strict_from_json(const nlohmann::json&, const std::string&)
STEADY_MESSAGE(OpenRequest);
STEADY_MESSAGE(CorrectnessRequest);
STEADY_MESSAGE(DuetRequest);
STEADY_MESSAGE(ProfileRequest);
STEADY_MESSAGE(QuitRequest);
STEADY_MESSAGE(OpenReply);
STEADY_MESSAGE(CorrectnessReply);
STEADY_MESSAGE(DuetReply);
STEADY_MESSAGE(ProfileReply);
STEADY_MESSAGE(QuitReply);
STEADY_MESSAGE(ErrorReply);
#undef STEADY_MESSAGE

}  // namespace steady::protocol
