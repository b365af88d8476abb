// Preloaded into a process, this moves its wall clock by STEADY_CLOCK_SKEW_S seconds. Clocks that
// only measure intervals stay as they are: a host with a wrong date still counts seconds rightly.
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>

namespace {

time_t skew_s() {
    static const char* set = ::getenv("STEADY_CLOCK_SKEW_S");
    static const time_t seconds = set == nullptr ? 0 : std::atol(set);
    return seconds;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* at) noexcept {
    const auto failed = static_cast<int>(::syscall(SYS_clock_gettime, clock, at));
    if (failed == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        at->tv_sec += skew_s();
    }
    return failed;
}

int gettimeofday(timeval* at, void*) noexcept {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t* at) noexcept {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    if (at != nullptr) *at = now.tv_sec;
    return now.tv_sec;
}
}
