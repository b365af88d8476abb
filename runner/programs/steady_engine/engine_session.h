// One `steady-engine session MODEL` process and its protocol: one JSON line per request and per
// reply, each reply with its request's nonce. Any other behaviour is a named failure.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string>

#include "runner/platform/process.h"

namespace steady {

// The program under test did not answer as it should.
struct SessionFailure : std::runtime_error {
    SessionFailure(std::string how, const std::string& detail)
        : std::runtime_error(how + ": " + detail), outcome(std::move(how)), text(detail) {}
    std::string outcome;  // as in Measured
    std::string text;
};

// The engine answered, and what it said is that it will not do this.
struct EngineRefused : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class EngineSession {
public:
    explicit EngineSession(ChildOptions options);

    // Sends {"do": verb, "nonce": …, …request} and returns the reply. The caller's thread sleeps
    // until then. Throws SessionFailure or EngineRefused.
    nlohmann::json ask(const std::string& verb, const nlohmann::json& request, double timeout_s);

    // Says quit and waits for the end; a session that does not end well fails here.
    void quit();

private:
    [[noreturn]] void fail();
    Child child_;
};

}  // namespace steady
