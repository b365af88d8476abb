// steady-kernels, run within the test.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "kernels/registry/cpu.h"
#include "kernels/tool/verbs.h"

namespace steady::tool {

struct Ran {
    int code = 0;
    std::string out, err;
};

inline Ran run(const std::vector<std::string>& arguments) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Ran ran;
    ran.code = run_tool(arguments);
    std::fflush(nullptr);
    ran.out = testing::internal::GetCapturedStdout();
    ran.err = testing::internal::GetCapturedStderr();
    cpu::mask(cpu::none);
    return ran;
}

}  // namespace steady::tool
