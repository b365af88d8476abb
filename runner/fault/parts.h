// Shared by the processes of a fault run: what they keep on disk, and the worker that they run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runner/fault/drill.h"
#include "runner/plan/sample.h"
#include "runner/queue/worker.h"

namespace steady::drill {

struct Place {  // one directory per drill
    std::string folder, url;

    std::string stamps(int host) const;  // children write when they begin and end
    std::string acks(int host) const;    // workers write what they were told is stored
    std::string fenced() const;          // one line per refused stale write
};

constexpr int kValuesPerArm = 5;
constexpr LeaseTimes times_of(double lease_s) {
    return {.lease_s = lease_s, .renew_s = 0.15 * lease_s, .fence_s = 0.65 * lease_s};
}
constexpr LeaseTimes kTimes = times_of(2);

// The pair with the only values that are right for it.
Pair filled(Pair pair, std::int64_t job);

// Appends one line; whole, because writes below a page to O_APPEND files are not interleaved.
void append_line(const std::string& path, const std::string& line);

// A worker's life, until somebody kills it.
[[noreturn]] void live_as_worker(const Place& place, int host, const FaultOptions& options);

std::string spec_text(int number, int pairs);

// Reads what the drill left and fills the report's findings.
void check(const Place& place, const FaultOptions& options, FaultReport& report);

}  // namespace steady::drill
