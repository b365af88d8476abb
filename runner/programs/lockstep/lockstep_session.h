// One process that takes turns with another: it is asked to do its work N times, answers with
// results and waits. The protocol is in README.md; any other behaviour is a failure with a name.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "runner/adapters/adapter.h"
#include "runner/platform/process.h"

namespace steady {

constexpr int kLockstepVersion = 1;

// outcome: timeout, crash, signal, oom, output_cap, protocol, error (the program said so),
// cancelled.
struct LockstepFailure : std::runtime_error {
    LockstepFailure(std::string how, const std::string& text)
        : std::runtime_error(text), outcome(std::move(how)) {}
    std::string outcome;
    std::string arm;  // "A" or "B", where it is known
};

class LockstepSession {
public:
    // Starts the program and waits until it is ready. Throws Error when it cannot be started,
    // LockstepFailure when it does not become ready in time.
    LockstepSession(ChildOptions options, double ready_timeout_s);

    // One turn of n repetitions; the other process must be waiting. The rows are the program's own
    // and `wall_seconds` of one repetition, unless it reports that itself.
    std::vector<AdapterRow> run(int n, double timeout_s);

    // Says goodbye; a program that does not end well fails here.
    void quit();

    // CPU seconds that the program has used so far, all threads; 0 when it has ended.
    double cpu_seconds() const;

private:
    void say(const std::string& line);
    std::string hear(double timeout_s, const std::string& wanted);
    [[noreturn]] void fail(const std::string& doing);
    [[noreturn]] void refuse(const std::string& line, const std::string& wanted);

    Child child_;
};

}  // namespace steady
