// A run's CPU class: the same name that the engine gives the CPU it runs on, and names of older
// records beside it.
#include <gtest/gtest.h>

#include "runner/platform/fingerprint.h"
#include "runner/record/cpu_class.h"

namespace steady {
namespace {

constexpr const char* kAvx2 = "fma f16c avx2";
constexpr const char* kAvx512 = " avx512f avx512bw avx512vl avx512dq";

TEST(CpuClass, ALevelNeedsAllOfItsFeatures) {
    const std::string avx2 = kAvx2;
    const std::string avx512 = avx2 + kAvx512;
    const std::string vnni = avx512 + " avx512_vnni";
    const auto of = [](const std::string& flags) {
        return cpu_class_of("GenuineIntel", "6", flags);
    };
    EXPECT_EQ(of("sse4_2"), "intel-6-x86-64-v2");
    EXPECT_EQ(of("avx2"), "intel-6-x86-64-v2");
    EXPECT_EQ(of(avx2), "intel-6-avx2");
    EXPECT_EQ(of(avx2 + " avx512f"), "intel-6-avx2");
    EXPECT_EQ(of(avx512), "intel-6-avx512");
    EXPECT_EQ(of(vnni), "intel-6-avx512_vnni");
    EXPECT_EQ(of(vnni + " amx_int8"), "intel-6-avx512_vnni");
    EXPECT_EQ(of(vnni + " avx512vbmi amx_tile amx_int8"), "intel-6-amx");
    EXPECT_EQ(cpu_class_of("AuthenticAMD", "26", vnni), "amd-26-avx512_vnni");
}

TEST(CpuClass, OlderRecordsThatKnowNoFamilyAreOfTheSameClass) {
    EXPECT_TRUE(same_cpu_class("intel-amx", "intel-6-amx"));
    EXPECT_TRUE(same_cpu_class("intel-6-amx", "intel-6-amx"));
    EXPECT_TRUE(same_cpu_class("amd-avx2", "amd-25-avx2"));
    EXPECT_FALSE(same_cpu_class("amd-25-avx512_vnni", "amd-26-avx512_vnni"));
    EXPECT_FALSE(same_cpu_class("intel-avx512_vnni", "intel-6-amx"));
    EXPECT_FALSE(same_cpu_class("amd-avx2", "intel-6-avx2"));
    EXPECT_TRUE(same_cpu_class("intel-6-x86-64-v2", "intel-x86-64-v2"));
    EXPECT_TRUE(same_cpu_class("unknown", "unknown"));
}

}  // namespace
}  // namespace steady
