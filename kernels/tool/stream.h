// This machine's read bandwidth, measured in the same run as the kernels that are compared with it.
#pragma once

#include <vector>

#include "kernels/tool/team.h"

namespace steady::tool {

struct Bandwidth {
    int threads = 1;
    double gb_per_s = 0;      // median over passes
    double gb_per_s_low = 0;  // slowest and fastest pass
    double gb_per_s_high = 0;
};

// Reads 512 MB on huge pages several times with the team's threads.
Bandwidth measure_read_bandwidth(Team& team);

double median(std::vector<double> values);

}  // namespace steady::tool
