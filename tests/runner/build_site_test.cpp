// Builds of a real git repository by real commands: what comes from the cache, what a failing,
// hanging or cancelled build leaves behind, and that both arms lie at one path.
#include "runner/programs/build/build_site.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <thread>

#include "runner/programs/build/cache.h"
#include "tests/support/git_fixture.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

class BuildSiteTest : public ::testing::Test {
protected:
    void SetUp() override {
        ::setenv("STEADY_STATE_DIR", repository_.beside("state").c_str(), 1);
        repository_.write("program.sh", "#!/bin/sh\necho one\n");
        first_ = repository_.commit("first");
        repository_.write("program.sh", "#!/bin/sh\necho two\n");
        second_ = repository_.commit("second");
        recipe_ = shell("cp program.sh program && chmod +x program && echo built >> " + mark());
    }
    void TearDown() override { ::unsetenv("STEADY_STATE_DIR"); }

    static BuildRecipe shell(const std::string& script) {
        BuildRecipe recipe;
        recipe.commands = {{"sh", "-c", script}};
        return recipe;
    }
    std::string mark() const { return repository_.beside("mark"); }
    // How often the recipe ran.
    int runs() const {
        std::ifstream in(mark());
        int n = 0;
        for (std::string line; std::getline(in, line);) ++n;
        return n;
    }
    BuildOptions options() const {
        BuildOptions options;
        options.program = "example";
        options.cache = repository_.beside("builds");
        return options;
    }
    BuildCache cache() const { return BuildCache(repository_.beside("builds")); }
    Build built(const std::string& revision, const BuildRecipe& recipe) const {
        const Source source(repository_.path());
        return BuildSite(source, options()).build(source.resolve(revision), recipe);
    }
    static std::string output(const std::string& program) {
        ChildOptions options;
        options.argv = {program};
        return run_child(options, 10).out;
    }

    GitFixture repository_;
    std::string first_, second_;
    BuildRecipe recipe_;
};

TEST_F(BuildSiteTest, ABuildIsMadeOnce) {
    const Build once = built("main", recipe_);
    EXPECT_FALSE(once.from_cache);
    EXPECT_EQ(once.revision.commit, second_);
    const Build twice = built(second_, recipe_);
    EXPECT_TRUE(twice.from_cache);
    EXPECT_EQ(once.key, twice.key);
    EXPECT_EQ(runs(), 1);
}

TEST_F(BuildSiteTest, TreeRecipeEnvironmentAndToolsDecideTheKey) {
    const std::string key = built("main", recipe_).key;
    EXPECT_NE(built("main~1", recipe_).key, key);
    BuildRecipe other = recipe_;
    other.commands.push_back({"true"});
    EXPECT_NE(built("main", other).key, key);
    other = recipe_;
    other.env["LEVEL"] = "3";
    EXPECT_NE(built("main", other).key, key);
    other = recipe_;
    other.env["CC"] = "g++";
    EXPECT_NE(built("main", other).key, key);
    ::setenv("CFLAGS", "-O1", 1);
    EXPECT_NE(built("main", recipe_).key, key);
    ::unsetenv("CFLAGS");
    EXPECT_EQ(built("main", recipe_).key, key);
    EXPECT_EQ(built("main", recipe_).tools.contains("cc"), true);
}

TEST_F(BuildSiteTest, EqualContentIsOneBuildHoweverItCameAbout) {
    const std::string key = built("main", recipe_).key;
    const Build clean = built(".", recipe_);
    EXPECT_EQ(clean.key, key);
    EXPECT_EQ(clean.revision.commit, second_);
    repository_.write("program.sh", "#!/bin/sh\necho one\n");
    const Build changed = built(".", recipe_);
    EXPECT_EQ(changed.revision.commit, "");
    EXPECT_EQ(changed.key, built("main~1", recipe_).key);
    EXPECT_EQ(runs(), 2);
}

TEST_F(BuildSiteTest, BothArmsLieAtOnePath) {
    const Source source(repository_.path());
    BuildSite site(source, options());
    const BuildRecipe recipe = shell("cp program.sh program; chmod +x program; pwd > where");
    const Build a = site.build(source.resolve("main~1"), recipe);
    const Build b = site.build(source.resolve("main"), recipe);
    site.place(a);
    EXPECT_EQ(output(site.directory() + "/program"), "one\n");
    EXPECT_EQ(read_line_or_empty(site.directory() + "/where"), site.directory());
    site.place(b);
    EXPECT_EQ(output(site.directory() + "/program"), "two\n");
    EXPECT_EQ(read_line_or_empty(site.directory() + "/where"), site.directory());
    EXPECT_FALSE(fs::exists(site.directory() + "/.git"));
    site.place(a);
    EXPECT_EQ(output(site.directory() + "/program"), "one\n");
}

TEST_F(BuildSiteTest, AFailingBuildSaysHowItEnded) {
    const BuildRecipe recipe = shell(
        "echo first line; echo 'password=hunter2'; printf 'no rule to make it\\n\\n\\n' >&2;"
        "printf 'Stop\\n\\nGiving up\\n\\n'; exit 3");
    try {
        built("main", recipe);
        FAIL() << "it should fail";
    } catch (const BuildFailed& failed) {
        EXPECT_THAT(failed.what(), HasSubstr("exit code 3"));
        EXPECT_THAT(failed.what(), HasSubstr("no rule to make it"));
        EXPECT_THAT(failed.what(), HasSubstr(second_.substr(0, 12)));
        EXPECT_THAT(failed.log_end, HasSubstr("no rule to make it"));
        const std::string log = read_file(failed.log);
        EXPECT_THAT(log, HasSubstr("first line"));
        EXPECT_THAT(log, Not(HasSubstr("hunter2")));
    }
    EXPECT_EQ(cache().bytes(), 0u);
    EXPECT_EQ(built("main", recipe_).from_cache, false);  // the path is free again
}

TEST_F(BuildSiteTest, ALogKeepsItsBeginningAndEndAndHasALimit) {
    const Build build =
        built("main", shell("echo the beginning; yes flood | head -c 20000000; echo the end"));
    EXPECT_LT(fs::file_size(build.log), 3u << 20U);
    const std::string log = read_file(build.log);
    EXPECT_THAT(log.substr(0, 200), HasSubstr("the beginning"));
    EXPECT_THAT(log.substr(log.size() - 200), HasSubstr("the end"));
}

TEST_F(BuildSiteTest, ABuildHasATimeLimit) {
    BuildRecipe recipe = shell("sleep 60");
    recipe.timeout_s = 0.3;
    try {
        built("main", recipe);
        FAIL() << "it should be ended";
    } catch (const BuildFailed& failed) {
        EXPECT_THAT(failed.what(), HasSubstr("longer than"));
    }
}

// Bytes that a process writes: whether it still does, within `tries` times 100 ms.
bool grows(const std::string& file, int tries) {
    const auto before = fs::file_size(file);
    for (int i = 0; i < tries && fs::file_size(file) == before; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return fs::file_size(file) > before;
}

void wait_for_file(const std::string& file) {
    for (int i = 0; i < 1000 && !fs::exists(file); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ASSERT_TRUE(fs::exists(file));
}

TEST_F(BuildSiteTest, CancellingEndsTheBuildsGrandchildren) {
    const std::string beat = repository_.beside("beat");
    const BuildRecipe recipe = shell(fmt::format(
        "setsid sh -c 'for i in $(seq 3000); do echo x >> {}; sleep 0.01; done' & sleep 60", beat));
    StopSignal stop;
    BuildOptions with_stop = options();
    with_stop.stop = &stop;
    std::thread canceller([&] {
        wait_for_file(beat);
        EXPECT_TRUE(grows(beat, 300));
        stop.raise();
    });
    const Source source(repository_.path());
    BuildSite site(source, with_stop);
    try {
        site.build(source.resolve("main"), recipe);
        ADD_FAILURE() << "it should be stopped";
    } catch (const BuildFailed&) {
        ADD_FAILURE() << "stopped is not failed";
    } catch (const Error& error) {
        EXPECT_EQ(error.exit_code, kExitInterrupted);
    }
    canceller.join();
    EXPECT_FALSE(grows(beat, 3)) << "a grandchild is left";
    EXPECT_FALSE(fs::exists(site.directory()));
}

TEST_F(BuildSiteTest, TheLeastRecentlyUsedTreesGo) {
    BuildOptions small = options();
    small.limit = 5U << 20U;
    const Source source(repository_.path());
    const auto make = [&](int n) {
        return BuildSite(source, small)
            .build(source.resolve("main"),
                   shell(fmt::format("head -c 2000000 /dev/urandom > data; : {}", n)))
            .key;
    };
    const std::string one = make(1), two = make(2);
    EXPECT_EQ(make(1), one);  // used again: now `two` is the oldest
    const std::string three = make(3);
    EXPECT_TRUE(cache().finished(one));
    EXPECT_FALSE(cache().finished(two));
    EXPECT_TRUE(cache().finished(three));
    EXPECT_LE(cache().bytes(), small.limit);
}

TEST_F(BuildSiteTest, ATreeInUseStays) {
    BuildOptions small = options();
    small.limit = 1;
    const Source source(repository_.path());
    BuildSite site(source, small);
    const Build a = site.build(source.resolve("main~1"), recipe_);
    const Build b = site.build(source.resolve("main"), recipe_);
    site.place(a);
    EXPECT_EQ(output(site.directory() + "/program"), "one\n");
    EXPECT_TRUE(cache().finished(b.key));
}

// A child process that works with the cache and ends as told.
template <class Work>
pid_t in_another_process(const Work& work) {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    int code = 0;
    try {
        work();
    } catch (const std::exception&) {
        code = 1;
    }
    ::_exit(code);
}

int end_of(pid_t pid) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

TEST_F(BuildSiteTest, SeveralBuildersMakeItOnce) {
    const BuildRecipe slow = shell("sleep 0.3; echo built >> " + mark());
    std::vector<pid_t> builders;
    for (int i = 0; i < 4; ++i) {
        builders.push_back(in_another_process([&] { built("main", slow); }));
    }
    for (const pid_t pid : builders) EXPECT_EQ(end_of(pid), 0);
    EXPECT_EQ(runs(), 1);
}

TEST_F(BuildSiteTest, WhatAKilledProcessLeftAtThePathIsPutBack) {
    built("main", recipe_);
    const pid_t runner = in_another_process([&] {
        const Source source(repository_.path());
        BuildSite site(source, options());
        site.place(site.build(source.resolve("main"), recipe_));
        ::kill(::getpid(), SIGKILL);
    });
    end_of(runner);
    const Source source(repository_.path());
    BuildSite site(source, options());
    EXPECT_FALSE(fs::exists(site.directory()));
    const Build build = site.build(source.resolve("main"), recipe_);
    EXPECT_TRUE(build.from_cache);
    site.place(build);
    EXPECT_EQ(output(site.directory() + "/program"), "two\n");
    EXPECT_EQ(runs(), 1);
}

TEST_F(BuildSiteTest, AnUnfinishedBuildOfAKilledProcessCountsForNothing) {
    const std::string begun = repository_.beside("begun");
    const BuildRecipe recipe =
        shell(fmt::format("echo half > half; [ -e {0} ] || {{ touch {0}; sleep 60; }}", begun));
    const pid_t builder = in_another_process([&] { built("main", recipe); });
    wait_for_file(begun);
    ::kill(builder, SIGKILL);
    end_of(builder);
    const Source source(repository_.path());
    BuildSite site(source, options());
    EXPECT_FALSE(fs::exists(site.directory() + "/half"));
    EXPECT_FALSE(site.build(source.resolve("main"), recipe).from_cache);
}

TEST_F(BuildSiteTest, ConfinedBuildsSeeTheirTreeOnly) {
    if (const auto trouble = confinement_trouble(); !trouble.empty()) GTEST_SKIP() << trouble;
    BuildOptions confined = options();
    confined.confinement = Confinement{};
    const Source source(repository_.path());
    BuildSite site(source, confined);
    const BuildRecipe peek =
        shell(fmt::format("cp program.sh program && ! ls {} && ! ls {} && ! touch /usr/x",
                          repository_.path(), repository_.beside("builds/trees")));
    const Build build = site.build(source.resolve("main"), peek);
    site.place(build);
    EXPECT_TRUE(fs::exists(site.directory() + "/program"));
    // Its mark is outside: the write fails, or is into memory that ends with the build, where the
    // folders above the tree are an ordinary user's own.
    try {
        site.build(source.resolve("main"), recipe_);
    } catch (const BuildFailed&) {
    }
    EXPECT_EQ(runs(), 0);
}

TEST(BuildSettings, TheLimitIsANumberOfGigabytes) {
    ::setenv("STEADY_BUILDS_GB", "0.5", 1);
    EXPECT_EQ(build_cache_limit(), std::uint64_t{1} << 29U);
    ::setenv("STEADY_BUILDS_GB", "much", 1);
    EXPECT_THROW(build_cache_limit(), Error);
    ::unsetenv("STEADY_BUILDS_GB");
    EXPECT_EQ(build_cache_limit(), std::uint64_t{20} << 30U);
}

}  // namespace
}  // namespace steady
