// The reply is parsed strictly: what is no JSON object, or answers another question, ends the child
// as a protocol error.
#include "runner/programs/steady_engine/engine_session.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "runner/base/text.h"

namespace steady {
namespace {

constexpr double kQuitTimeout_s = 20;  // unmapping a large model takes a moment

}  // namespace

EngineSession::EngineSession(ChildOptions options) : child_(std::move(options)) {}

void EngineSession::fail() {
    const ChildEnd end = child_.finish(1);
    // an exit with code 0 in the middle of a conversation is no success
    throw SessionFailure(end.ok() ? "protocol" : end.outcome(), end.describe());
}

nlohmann::json EngineSession::ask(const std::string& verb, const nlohmann::json& request,
                                  double timeout_s) {
    nlohmann::json message = request;
    const std::string nonce = random_hex(8);
    message["type"] = verb;
    message["nonce"] = nonce;
    if (!child_.write_line(
            message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace))) {
        fail();
    }
    const auto line = child_.read_line(timeout_s);
    if (!line) fail();
    auto reply = nlohmann::json::parse(*line, nullptr, false);
    const bool answers = reply.is_object() && reply.contains("nonce") &&
                         reply["nonce"].is_string() && reply["nonce"] == nonce;
    if (!answers) {
        child_.end_as(Ending::protocol);
        throw SessionFailure("protocol", fmt::format("{} was answered by {}", verb,
                                                     escape_line(shorten(redact(*line), 200))));
    }
    if (reply.contains("error")) {
        throw EngineRefused(reply["error"].is_string() ? reply["error"].get<std::string>()
                                                       : reply["error"].dump());
    }
    return reply;
}

void EngineSession::quit() {
    child_.write_line(nlohmann::json{{"type", "quit"}, {"nonce", "quit"}}.dump());
    const ChildEnd end = child_.finish(kQuitTimeout_s);
    if (!end.ok()) throw SessionFailure(end.outcome(), end.describe());
}

}  // namespace steady
