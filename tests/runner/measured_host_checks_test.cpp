// What the doctor makes of a machine: settings of made-up machines, measures of this one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "runner/platform/files.h"
#include "runner/platform/host_checks.h"

namespace steady {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class MadeMachine : public ::testing::Test {
protected:
    MadeMachine() : root_(::testing::TempDir() + "machine-" + random_hex(4)) {}
    ~MadeMachine() override { std::filesystem::remove_all(root_); }

    void put(const std::string& path, const std::string& text) const {
        const std::filesystem::path file = root_ + path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text << '\n';
    }
    HostSettings settings() const { return host_settings(root_); }

    std::string root_;
    const std::string cpu_ = "/sys/devices/system/cpu";
};

Finding about(const std::vector<Finding>& all, const std::string& word) {
    for (const Finding& finding : all) {
        if (finding.what.find(word) != std::string::npos) return finding;
    }
    ADD_FAILURE() << "no finding about " << word;
    return {};
}

TEST_F(MadeMachine, ADesktopWithEverythingOnIsToldSo) {
    for (const char* name : {"cpu0", "cpu1", "cpu2", "cpu3"}) {
        put(cpu_ + "/" + name + "/topology/thread_siblings_list",
            std::string(name) == "cpu0" || std::string(name) == "cpu2" ? "0,2" : "1,3");
    }
    put(cpu_ + "/cpufreq/boost", "1");
    put(cpu_ + "/cpu0/cpufreq/scaling_governor", "powersave");
    put(cpu_ + "/smt/control", "on");
    put("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]");
    put("/sys/devices/system/node/node0/cpulist", "0-1");
    put("/sys/devices/system/node/node1/cpulist", "2-3");
    put("/proc/sys/kernel/perf_event_paranoid", "4");
    put("/proc/cpuinfo", "flags\t\t: fpu vme");
    const HostSettings found = settings();
    EXPECT_EQ(found.cpus, 4);
    EXPECT_EQ(found.shared_core, "0,2");
    EXPECT_EQ(found.smt_control, "on");
    EXPECT_EQ(found.turbo, "on");
    EXPECT_EQ(found.huge_pages, "never");
    EXPECT_EQ(found.numa_nodes, 2);
    EXPECT_EQ(found.perf_paranoid, 4);
    EXPECT_FALSE(found.hypervisor);

    HostMeasures measures;
    measures.together = 0.62;
    measures.after_pause = 0.4;
    const auto all = host_findings(found, measures);
    for (const char* word :
         {"SMT", "turbo", "governor", "huge pages", "memory nodes", "hardware counters"}) {
        const Finding finding = about(all, word);
        EXPECT_TRUE(finding.bad) << word;
        EXPECT_THAT(finding.fix, ::testing::Not(IsEmpty())) << word;
        EXPECT_THAT(finding.cost, ::testing::Not(IsEmpty())) << word;
    }
    EXPECT_THAT(about(all, "SMT").cost, HasSubstr("62 %"));
    EXPECT_THAT(about(all, "governor").cost, HasSubstr("40 %"));
}

TEST_F(MadeMachine, AVirtualMachineThatHidesItsSettingsIsNotBlamed) {
    put(cpu_ + "/cpu0/topology/thread_siblings_list", "0");
    put(cpu_ + "/cpu1/topology/thread_siblings_list", "1");
    put("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
    put("/proc/cpuinfo", "flags\t\t: fpu hypervisor lahf_lm");
    const HostSettings found = settings();
    EXPECT_TRUE(found.hypervisor);
    EXPECT_EQ(found.huge_pages, "madvise");
    for (const Finding& finding : host_findings(found, {})) {
        EXPECT_FALSE(finding.bad) << finding.what;
    }
    EXPECT_THAT(about(host_findings(found, {}), "governor").what, HasSubstr("virtual machine"));
}

TEST_F(MadeMachine, IntelsSwitchOfTurboMeansTheOpposite) {
    put(cpu_ + "/intel_pstate/no_turbo", "0");
    EXPECT_EQ(settings().turbo, "on");
    put(cpu_ + "/intel_pstate/no_turbo", "1");
    EXPECT_EQ(settings().turbo, "off");
}

TEST_F(MadeMachine, AnEmptyMachineHasOneCpuAndNoWords) {
    const HostSettings found = settings();
    EXPECT_EQ(found.cpus, 1);
    EXPECT_EQ(found.numa_nodes, 1);
    EXPECT_TRUE(about(host_findings(found, {}), "1 CPU").bad);
}

TEST(HostMeasures, ThisMachineComputesReadsAndWrites) {
    const HostMeasures here = measure_host(::testing::TempDir());
    EXPECT_GT(here.together, 0);
    EXPECT_GT(here.after_pause, 0);
    EXPECT_GT(here.read_gb_per_s, 0);
    EXPECT_GT(here.clock_reading_ns, 0);
    EXPECT_GE(here.sync_ms, 0);
    EXPECT_EQ(measure_host("/nowhere").sync_ms, 0) << "nothing can be written there";
}

TEST(HostLoad, ABusyProgramIsNamed) {
    const pid_t child = ::fork();
    if (child == 0) {
        volatile unsigned spins = 0;
        while (spins != 1) spins = spins + 2;  // odd is never met
    }
    const HostLoad load = host_load(1);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_THAT(load.busiest, ::testing::Contains(HasSubstr("runner_measured")));
}

TEST(LoadFindings, AQuietMachineHasNoneToBlame) {
    for (const Finding& finding : load_findings({}, 2)) EXPECT_FALSE(finding.bad) << finding.what;
    HostLoad load;
    load.busy_others_share = 0.3;
    load.load = 5;
    const auto all = load_findings(load, 4);
    EXPECT_TRUE(about(all, "other programs used 30 %").bad);
    EXPECT_TRUE(about(all, "load 5.00").bad);
}

}  // namespace
}  // namespace steady
