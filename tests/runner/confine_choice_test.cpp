// Which means limits all processes of a confined run together: the choice on machines that are not
// this one, as folders of files, and the group that is made here, where one can be made.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "runner/platform/files.h"
#include "runner/platform/process_tree.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

const char* const kV1Mounts =
    "30 24 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
    "31 24 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "32 24 0:28 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n";
const char* const kV2Mounts = "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";

class TreeChoice : public ::testing::Test {
protected:
    void SetUp() override { fs::create_directories(root); }
    void TearDown() override { fs::remove_all(root); }
    void write(const std::string& path, const std::string& text) const {
        const fs::path file = root + path;
        fs::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }
    void v1() const {
        write("/proc/self/cgroup", "8:pids:/\n4:memory:/jobs/1\n0::/\n");
        write("/proc/self/mountinfo", kV1Mounts);
        write("/sys/fs/cgroup/unified/cgroup.controllers", "hugetlb\n");
        write("/sys/fs/cgroup/memory/jobs/1/cgroup.procs", "");
        write("/sys/fs/cgroup/pids/cgroup.procs", "");
    }
    void v2(const std::string& group, const std::string& handed_down) const {
        write("/proc/self/cgroup", "0::" + group + "\n");
        write("/proc/self/mountinfo", kV2Mounts);
        const std::string folder = "/sys/fs/cgroup" + group;
        write(folder + "/cgroup.controllers", "cpu memory pids\n");
        write(folder + "/cgroup.subtree_control", handed_down);
        write(folder + "/cgroup.procs", "");
    }
    void systemd() const {
        fs::create_directories(root + "/run/systemd/system");
        write("/usr/bin/systemd-run", "");
        for (const char* file : {"/bus", "/systemd/private"}) {
            write(fmt::format("/run/user/{}{}", ::geteuid(), file), "");
        }
    }
    TreeMeans found() {
        return find_tree_means(root, [&](const Words& argv) {
            tried.push_back(argv);
            return scope(argv);
        });
    }
    // The scope lands in that slice; older systemd does not know OOMPolicy= there.
    ChildEnd scope_in(const std::string& slice, const Words& argv, bool knows_oom = true) const {
        ChildEnd end;
        std::string unit;
        for (const std::string& word : argv) {
            if (word.starts_with("--unit=")) unit = word.substr(7);
            if (word.starts_with("OOMPolicy") && !knows_oom) end.code = 1;
        }
        end.out = "0::" + slice + "/" + unit + "\n";
        return end;
    }

    const std::string root = "/tmp/steady-choice-" + random_hex(6);
    std::vector<Words> tried;
    std::function<ChildEnd(const Words&)> scope = [](const Words&) {
        ChildEnd end;
        end.code = 1;
        end.err = "Failed to connect to bus";
        return end;
    };
};

TEST_F(TreeChoice, AGroupOfV1WithoutSystemd) {
    v1();
    const TreeMeans means = found();
    EXPECT_EQ(means.kind, TreeKind::cgroup_v1);
    EXPECT_TRUE(means.whole());
    EXPECT_EQ(means.folders,
              (Words{root + "/sys/fs/cgroup/memory/jobs/1", root + "/sys/fs/cgroup/pids"}));
    EXPECT_TRUE(tried.empty()) << "systemd does not run, so it is not asked";
    EXPECT_EQ(describe(means),
              "memory and processes of the whole tree, by a control group (cgroup v1)");
}

TEST_F(TreeChoice, AGroupOfV2ThatHandsItsControllersDown) {
    v2("/unit/job", "memory pids\n");
    const TreeMeans means = found();
    EXPECT_EQ(means.kind, TreeKind::cgroup_v2);
    EXPECT_EQ(means.folders, Words{root + "/sys/fs/cgroup/unit/job"});
}

TEST_F(TreeChoice, AGroupOfV2WithProcessesOfOthers) {
    v2("/", "");
    write("/sys/fs/cgroup/cgroup.controllers", "cpu\n");
    const TreeMeans means = found();
    EXPECT_EQ(means.kind, TreeKind::none);
    EXPECT_FALSE(means.whole());
    EXPECT_THAT(describe(means), HasSubstr("per process only: systemd does not run here"));
    EXPECT_THAT(describe(means), HasSubstr("has no controller memory"));
}

TEST_F(TreeChoice, AScopeOfSystemdComesFirst) {
    v2("/system.slice", "memory pids\n");
    systemd();
    scope = [&](const Words& argv) { return scope_in("/system.slice", argv); };
    const TreeMeans means = found();
    ASSERT_EQ(means.kind, TreeKind::systemd_scope);
    EXPECT_TRUE(means.whole());
    EXPECT_THAT(means.start_words, Contains("OOMPolicy=continue"));
    EXPECT_EQ(means.folders, Words{root + "/sys/fs/cgroup/system.slice"});
    ASSERT_EQ(tried.size(), 1U);
    EXPECT_THAT(tried[0], Contains("MemoryMax=1073741824"));
    EXPECT_THAT(tried[0], Contains("TasksMax=64"));

    const ProcessTree tree(means, {.memory_bytes = 4096, .processes = 7});
    EXPECT_THAT(tree.words(), Contains("MemoryMax=4096"));
    EXPECT_THAT(tree.words(), Contains("TasksMax=7"));
    EXPECT_EQ(tree.words().back(), "--");
    EXPECT_TRUE(tree.join().empty());
    const ProcessTree unlimited(means, {.memory_bytes = 0, .processes = 7});
    EXPECT_THAT(unlimited.words(), Not(Contains(HasSubstr("MemoryMax"))));
}

TEST_F(TreeChoice, AnOlderSystemdIsAskedWithoutWhatItDoesNotKnow) {
    v2("/system.slice", "memory pids\n");
    systemd();
    scope = [&](const Words& argv) { return scope_in("/system.slice", argv, false); };
    const TreeMeans means = found();
    EXPECT_EQ(means.kind, TreeKind::systemd_scope);
    EXPECT_THAT(means.start_words, Not(Contains("OOMPolicy=continue")));
    EXPECT_EQ(tried.size(), 2U);
}

TEST_F(TreeChoice, AScopeWithoutControllersGivesWayToAGroup) {
    v1();
    systemd();
    scope = [&](const Words& argv) { return scope_in("/user.slice", argv); };
    EXPECT_EQ(found().kind, TreeKind::cgroup_v1);

    fs::remove_all(root + "/sys/fs/cgroup/memory");
    const TreeMeans means = found();
    EXPECT_EQ(means.kind, TreeKind::systemd_scope);
    EXPECT_FALSE(means.memory);
    EXPECT_THAT(describe(means), HasSubstr("per process only, ended by a systemd scope"));
}

TEST_F(TreeChoice, ARefusedScopeIsTold) {
    v2("/", "");
    write("/sys/fs/cgroup/cgroup.controllers", "\n");
    systemd();
    const TreeMeans means = found();
    EXPECT_EQ(means.kind, TreeKind::none);
    EXPECT_THAT(means.why, HasSubstr("systemd-run starts no scope"));
    EXPECT_THAT(means.why, HasSubstr("Failed to connect to bus"));
}

TEST_F(TreeChoice, AGroupThatCannotBeSeenIsNotUsed) {
    v2("/", "memory pids\n");
    write("/proc/self/cgroup", "0::/../elsewhere\n");
    EXPECT_EQ(found().kind, TreeKind::none);
    write("/proc/self/cgroup", "0::/docker/1\n");
    write("/proc/self/mountinfo", "30 24 0:26 /docker/2 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    EXPECT_EQ(found().kind, TreeKind::none);
}

}  // namespace
}  // namespace steady
