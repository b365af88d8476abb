// The JSON form of the session's structs. Reading is strict: an unknown or mistyped field is an
// error that names it. Requests leave out fields at their default, so that a runner can speak to an
// engine that is older than a field; replies must be whole, so that a missing number is never taken
// for 0.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <type_traits>
#include <variant>

#include "engine/protocol/session.h"

namespace steady::protocol {

using Request =
    std::variant<OpenRequest, CorrectnessRequest, DuetRequest, ProfileRequest, QuitRequest>;
using Reply =
    std::variant<OpenReply, CorrectnessReply, DuetReply, ProfileReply, QuitReply, ErrorReply>;

// Without the newline; strings that are not UTF-8 get U+FFFD in place of the bad bytes.
std::string to_line(const Request& request);
std::string to_line(const Reply& reply);

// Throws Error that names the path ("/arms/A/threads"), what was found and what is allowed.
Request request_from_line(const std::string& line);
Reply reply_from_line(const std::string& line);

// The nonce of a line that may not even be JSON, for its error reply; "" without one.
std::string nonce_of(const std::string& line);

// ---- single structs, for records and for callers that keep nlohmann::json values
template <class T, class Variant>
constexpr bool is_one_of = false;
template <class T, class... Ts>
constexpr bool is_one_of<T, std::variant<Ts...>> = (std::is_same_v<T, Ts> || ...);

template <class T>
concept Message = is_one_of<T, Request> || is_one_of<T, Reply>;

// Found by nlohmann-json: nlohmann::json(reply).
template <Message T>
void to_json(nlohmann::json& out, const T& value);

// A struct from its JSON form, strict; `what` opens the message of the Error.
template <Message T>
T strict_from_json(const nlohmann::json& json, const std::string& what);

// Found by nlohmann-json: json.get<Reply>().
template <Message T>
void from_json(const nlohmann::json& in, T& value) {
    value = strict_from_json<T>(in, "message");
}

}  // namespace steady::protocol
