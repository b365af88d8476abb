// Symbols of the program come before those of the C library, for its shared libraries too.
#include "tests/support/failing_calls.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <new>

namespace {

thread_local int calls_left = 0, failing_error = 0;  // 0 left: none fails
thread_local steady::test::How failing_how = steady::test::How::error;
thread_local bool call_failed = false;
thread_local std::int64_t allocations_left = 0, n_live = 0;
thread_local bool allocation_failed = false;

bool is_due() {
    if (calls_left == 0 || --calls_left > 0) return false;
    call_failed = true;
    return true;
}

// True: the call is over, with errno set. n: how many bytes it may move, halved when too short.
bool fails(size_t* n) {
    if (!is_due()) return false;
    if (failing_how == steady::test::How::too_short) {
        if (n != nullptr && *n > 1) *n /= 2;  // other calls move no bytes, and pass
        return false;
    }
    errno = failing_how == steady::test::How::interrupted ? EINTR : failing_error;
    return true;
}

void* allocate(std::size_t n) {
    if (allocations_left > 0 && --allocations_left == 0) {
        allocation_failed = true;
        throw std::bad_alloc();
    }
    void* const memory = std::malloc(std::max<std::size_t>(n, 1));
    if (memory == nullptr) throw std::bad_alloc();
    ++n_live;
    return memory;
}

void release(void* memory) noexcept {
    if (memory == nullptr) return;
    --n_live;
    std::free(memory);
}

}  // namespace

extern "C" {

ssize_t read(int fd, void* into, size_t n) {
    return fails(&n) ? -1 : ::syscall(SYS_read, fd, into, n);
}
ssize_t write(int fd, const void* from, size_t n) {
    return fails(&n) ? -1 : ::syscall(SYS_write, fd, from, n);
}
ssize_t pread(int fd, void* into, size_t n, off_t at) {
    return fails(&n) ? -1 : ::syscall(SYS_pread64, fd, into, n, at);
}
int fsync(int fd) { return fails(nullptr) ? -1 : static_cast<int>(::syscall(SYS_fsync, fd)); }
int fdatasync(int fd) {
    return fails(nullptr) ? -1 : static_cast<int>(::syscall(SYS_fdatasync, fd));
}
int open(const char* path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const unsigned mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, unsigned) : 0;
    va_end(more);
    return fails(nullptr) ? -1
                          : static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
}

void* operator new(std::size_t n) { return allocate(n); }
void* operator new[](std::size_t n) { return allocate(n); }
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }

namespace steady::test {

FailingCall::FailingCall(int n, How how, int error) {
    failing_how = how;
    failing_error = error;
    call_failed = false;
    calls_left = n;
}
FailingCall::~FailingCall() { calls_left = 0; }
bool FailingCall::happened() const { return call_failed; }

FailingAllocation::FailingAllocation(std::int64_t n) {
    allocation_failed = false;
    allocations_left = n;
}
FailingAllocation::~FailingAllocation() { allocations_left = 0; }
bool FailingAllocation::happened() const { return allocation_failed; }

std::int64_t live_allocations() { return n_live; }

}  // namespace steady::test
