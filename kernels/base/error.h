// The one exception of the project: it says what went wrong, where, what is allowed and what to do
// next, and it carries the exit code. Thrown when a program cannot go on; caught in main.
#pragma once

#include <stdexcept>
#include <string>

namespace steady {

// Exit codes shared by the three binaries; a verdict's code is in
// runner/statistics/stopping_rule.h.
enum ExitCode { kExitOk = 0, kExitInternal = 1, kExitUsage = 2, kExitInterrupted = 130 };

struct Error : std::runtime_error {
    explicit Error(const std::string& message, ExitCode code = kExitUsage)
        : std::runtime_error(message), exit_code(code) {}
    ExitCode exit_code;
};

}  // namespace steady
