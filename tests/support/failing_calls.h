// System calls and allocations that fail when a test says so. A program that is linked with
// failing_calls.cpp has its own read, write, pread, fsync, fdatasync, open and operator new; each
// does what the system's does until one is told to fail.
#pragma once

#include <cstdint>

namespace steady::test {

enum class How { error, interrupted, too_short };

// While it lives, the n-th call (counted from 1) of this thread fails with that errno; too_short:
// a read or write ends after half of its bytes.
class FailingCall {
public:
    FailingCall(int n, How how, int error = 0);
    ~FailingCall();
    FailingCall(const FailingCall&) = delete;
    FailingCall& operator=(const FailingCall&) = delete;
    bool happened() const;  // false: there were fewer calls
};

// While it lives, the n-th allocation of this thread throws std::bad_alloc.
class FailingAllocation {
public:
    explicit FailingAllocation(std::int64_t n);
    ~FailingAllocation();
    FailingAllocation(const FailingAllocation&) = delete;
    FailingAllocation& operator=(const FailingAllocation&) = delete;
    bool happened() const;
};

// Allocations of this thread that were not given back.
std::int64_t live_allocations();

}  // namespace steady::test
