// This machine's read bandwidth, measured in the same run as the kernels that are compared with it.
#pragma once

#include <string>
#include <vector>

#include "kernels/registry/read_loops.h"
#include "kernels/tool/team.h"

namespace steady::tool {

struct Bandwidth {
    int threads = 1;
    double gb_per_s = 0;            // best pass of the fastest loop: the limit
    double gb_per_s_low = 0;        // that loop's slowest pass
    double gb_per_s_median = 0;     // and its median
    std::vector<ReadRate> loops{};  // all of them, fastest first
    std::string loop() const { return loops.empty() ? "" : std::string(loops.front().loop); }
};

// Reads 512 MB on huge pages several times with each loop and the team's threads.
Bandwidth measure_read_bandwidth(Team& team);

double median(std::vector<double> values);

}  // namespace steady::tool
