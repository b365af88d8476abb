// Clocks of a GPU through a library in the driver's place, and without one.
#include "engine/run/gpu_clocks.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace steady {
namespace {

const std::string kFake = std::string(STEADY_BIN_DIR) + "/libsteady-fake-nvml.so";

TEST(GpuClocks, AreReadByTheGpusPciAddress) {
    const GpuClocks clocks("0000:19:00.0", kFake);
    const auto first = clocks.read();
    ASSERT_TRUE(first);
    EXPECT_EQ(first->sm_mhz, 1980U);
    EXPECT_EQ(first->memory_mhz, 2619U);
    EXPECT_EQ(first->reasons, 4U);
    ::setenv("FAKE_SM_MHZ", "1755", 1);
    ::setenv("FAKE_OLD", "1", 1);
    EXPECT_EQ(clocks.read()->sm_mhz, 1755U) << "of the moment";
    EXPECT_EQ(clocks.read()->reasons, 0x20U) << "by the name that older drivers know";
    ::setenv("FAKE_SM_MHZ", "0", 1);
    EXPECT_FALSE(clocks.read()) << "not told";
    ::unsetenv("FAKE_SM_MHZ");
    ::unsetenv("FAKE_OLD");
}

TEST(GpuClocks, WithoutADriverOrTheGpuThereAreNone) {
    EXPECT_FALSE(GpuClocks("0000:19:00.0", "libsteady-has-no-such-file.so").read());
    EXPECT_FALSE(GpuClocks("0000:19:00.0", "libc.so.6").read());
    EXPECT_FALSE(GpuClocks("0000:aa:00.0", kFake).read()) << "another address";
    EXPECT_FALSE(GpuClocks("", kFake).read()) << "CUDA did not tell it";
}

}  // namespace
}  // namespace steady
