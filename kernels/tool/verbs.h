// The verbs of steady-kernels. Each prints to stdout and returns the exit code.
#pragma once

#include "kernels/tool/options.h"

namespace steady::tool {

int run_list(const Options& options);
int run_check(const Options& options);
int run_bench(const Options& options);
int run_gpu_bench(const Options& options);  // bench --device cuda
int run_duet(const Options& options);
int run_tune(const Options& options);
int run_ladder(const Options& options);
int run_disasm(const Options& options);
int run_read(const Options& options);
int run_bound(const Options& options);

// Parses, runs and reports errors: the whole program but for main itself, so that tests can link it
// with variants of their own.
int run_tool(const std::vector<std::string>& arguments);

}  // namespace steady::tool
