// One run of a command with an adapter around it: the command line that makes the program write its
// machine format, the place it writes to, and the rows that come out. What the kernel counted for
// the process is always among the rows.
#pragma once

#include <string>
#include <vector>

#include "runner/adapters/adapter.h"
#include "runner/platform/measured_process.h"

namespace steady {

struct AdapterOptions {
    std::string pattern{};  // only for `regex`, with the metric that it reads
    std::string metric{};
    // An existing folder that the command may write to; empty: one is made and removed.
    std::string scratch{};
    int exit = 0;  // the exit code of a good run
};

struct AdapterRun {
    MeasuredRun run;
    std::vector<AdapterRow> rows;  // empty when `error` is not
    std::string error;             // how the command failed, or why its output cannot be read
};

// Throws Error when the command cannot be started or does not fit the adapter.
AdapterRun run_with_adapter(const Adapter& adapter, MeasuredCommand command,
                            const AdapterOptions& options);

}  // namespace steady
