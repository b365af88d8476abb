// Facts of GPUs where there is no driver, or another library in its place.
#include <gtest/gtest.h>

#include "runner/platform/gpu_facts.h"

namespace steady {
namespace {

TEST(GpuFacts, WithoutADriverThereIsNone) {
    EXPECT_TRUE(gpu_facts("libsteady-has-no-such-file.so").empty());
    EXPECT_TRUE(gpu_facts("libc.so.6").empty()) << "a library without NVML's functions";
}

}  // namespace
}  // namespace steady
