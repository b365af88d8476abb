// What steady-launch tells the runner when the command has ended: one record through a pipe.
#pragma once

#include <cstdint>

namespace steady {

struct LaunchReport {
    enum Kind : std::uint32_t { ended = 0x5374'4501, not_started = 0x5374'4502 };
    std::uint32_t kind = ended;
    std::int32_t start_error = 0;  // errno of exec
    std::int32_t wait_status = 0;  // as waitpid gives it
    std::int32_t timed_out = 0;
    std::int32_t n_left = 0;   // processes that outlived the command and were killed
    std::int64_t wall_ns = 0;  // from before fork to the end of the command itself
    std::int64_t user_us = 0;  // with all descendants that were waited for
    std::int64_t system_us = 0;
    std::int64_t peak_memory_kib = 0;  // of the largest process
    std::int64_t minor_faults = 0, major_faults = 0;
    std::int64_t context_switches = 0;
};

}  // namespace steady
