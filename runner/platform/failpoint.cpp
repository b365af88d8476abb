// _exit and not abort: a destructor must not clean up what a real crash would leave.
#include "runner/platform/failpoint.h"

#ifdef STEADY_FAILPOINTS
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>

namespace steady {

void failpoint(const char* name) {
    static const std::string wanted = [] {
        const char* set = std::getenv("STEADY_FAIL");
        return std::string(set == nullptr ? "" : set);
    }();
    const auto colon = wanted.find(':');
    if (colon == std::string::npos || wanted.compare(0, colon, name) != 0) return;
    static std::atomic<int> passed{0};
    if (++passed == std::atoi(wanted.c_str() + colon + 1)) ::_exit(137);
}

}  // namespace steady
#endif
