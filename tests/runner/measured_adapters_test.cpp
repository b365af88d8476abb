// Adapters around real programs, where this machine has them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "kernels/base/error.h"
#include "runner/platform/adapter_run.h"
#include "runner/platform/files.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

bool is_installed(const std::string& program) {
    return ::access(("/usr/bin/" + program).c_str(), X_OK) == 0;
}

AdapterRun run(const char* adapter, std::vector<std::string> argv,
               const std::string& directory = "", const AdapterOptions& options = {}) {
    MeasuredCommand command;
    command.argv = std::move(argv);
    command.env = {{"PATH", "/usr/bin:/bin"}, {"HOME", "/nonexistent"}};
    command.directory = directory;
    command.time_limit_s = 120;
    return run_with_adapter(*find_adapter(adapter), command, options);
}

class Folder {
public:
    Folder() : path_(scratch_dir() + "/steady-test-" + random_hex(6)) { make_directories(path_); }
    ~Folder() { fs::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    const std::string& path() const { return path_; }
    void write(const std::string& name, const std::string& text) const {
        make_directories(fs::path(path_ + "/" + name).parent_path().string());
        std::ofstream(path_ + "/" + name) << text;
    }

private:
    std::string path_;
};

TEST(MeasuredAdapters, AnyCommandHasTheProcessRows) {
    const AdapterRun sleep = run("process", {"sleep", "0.1"});
    EXPECT_EQ(sleep.error, "");
    EXPECT_GE(select_series(sleep.rows, {.metric = "wall_seconds"}).values.at(0), 0.1);
    EXPECT_EQ(select_series(sleep.rows, {.metric = "peak_memory_bytes"}).unit, "bytes");
    EXPECT_THAT(run("process", {"/bin/sh", "-c", "echo no >&2; exit 3"}).error,
                HasSubstr("exit code 3: no"));
}

TEST(MeasuredAdapters, LinesComeWithThem) {
    const AdapterRun lines =
        run("lines", {"echo", R"({"metric": "wall_seconds", "value": 5, "unit": "s"})"});
    // The program's own number counts, not ours of the same name.
    EXPECT_EQ(select_series(lines.rows, {.metric = "wall_seconds"}).values, std::vector<double>{5});
    EXPECT_GT(select_series(lines.rows, {.metric = "peak_memory_bytes"}).values.at(0), 0);
    EXPECT_THAT(run("lines", {"echo", "hello"}).error, HasSubstr("hello"));
}

TEST(MeasuredAdapters, APatternReadsAnyText) {
    const AdapterRun text = run("regex", {"echo", "took 12.5 ms"}, "",
                                {.pattern = "took (?<value>[0-9.]+) (?<unit>ms)", .metric = "t"});
    const Series series = select_series(text.rows, {.metric = "t"});
    EXPECT_EQ(series.values, std::vector<double>{12.5});
    EXPECT_EQ(series.direction, Direction::lower_is_better);
}

TEST(MeasuredAdapters, Hyperfine) {
    if (!is_installed("hyperfine")) GTEST_SKIP() << "no hyperfine";
    const AdapterRun timed = run("hyperfine", {"hyperfine", "-N", "--runs", "3", "true"});
    EXPECT_EQ(timed.error, "");
    EXPECT_EQ(select_series(timed.rows, {.metric = "wall_seconds"}).values.size(), 3U);
}

TEST(MeasuredAdapters, Perf) {
    if (!is_installed("perf")) GTEST_SKIP() << "no perf";
    const AdapterRun counted = run("perf", {"true"});
    if (counted.error.find("permi") != std::string::npos) GTEST_SKIP() << counted.error;
    EXPECT_EQ(counted.error, "");
    EXPECT_GT(select_series(counted.rows, {.metric = "task_clock_seconds"}).values.at(0), 0);
}

TEST(MeasuredAdapters, GoTesting) {
    if (!is_installed("go")) GTEST_SKIP() << "no go";
    const Folder folder;
    folder.write("go.mod", "module timed\ngo 1.19\n");
    folder.write("timed_test.go",
                 "package timed\nimport \"testing\"\nvar n int\n"
                 "func BenchmarkAdd(b *testing.B) { for i := 0; i < b.N; i++ { n += i } }\n");
    MeasuredCommand command;
    command.argv = {"go", "test", "-bench", ".", "-benchtime", "100x", "-count", "2"};
    command.env = {{"PATH", "/usr/bin:/bin"}, {"HOME", folder.path()}, {"GOFLAGS", "-mod=mod"}};
    command.directory = folder.path();
    const AdapterRun bench = run_with_adapter(*find_adapter("go"), command, {});
    EXPECT_EQ(bench.error, "");
    EXPECT_EQ(select_series(bench.rows, {.metric = "ns_per_op"}).values.size(), 2U);
}

// A folder of results: only what this run wrote counts.
TEST(MeasuredAdapters, OldResultsAreNotRead) {
    const Folder folder;
    const std::string estimates = R"({"mean":{"point_estimate":5},"median":{"point_estimate":4}})";
    folder.write("estimates.json", estimates);
    const AdapterRun fresh =
        run("criterion",
            {"/bin/sh", "-c",
             "mkdir -p $CRITERION_HOME/a/new && cp estimates.json $CRITERION_HOME/a/new/"},
            folder.path());
    EXPECT_EQ(fresh.error, "");
    EXPECT_EQ(select_series(fresh.rows, {.metric = "time_ns"}).values, std::vector<double>{4});
    EXPECT_THAT(run("criterion", {"true"}, folder.path()).error, HasSubstr("nothing was measured"));

    const std::string described = R"({"time_x":{"unit":"seconds","type":"time","param_names":[]}})";
    const std::string results =
        R"({"result_columns":["result","params"],"results":{"time_x":[[0.5],[]]}})";
    folder.write("results/benchmarks.json", described);
    folder.write("results/host/abc-env.json", results);
    EXPECT_THAT(run("asv", {"true"}, folder.path()).error, HasSubstr("nothing was measured"));
    const AdapterRun again = run(
        "asv", {"touch", "results/benchmarks.json", "results/host/abc-env.json"}, folder.path());
    EXPECT_EQ(again.error, "");
    EXPECT_EQ(select_series(again.rows, {.metric = "time_seconds"}).values,
              std::vector<double>{0.5});
}

TEST(MeasuredAdapters, AProgramThatWritesNoFile) {
    EXPECT_THAT(run("google-benchmark", {"true"}).error,
                HasSubstr("wrote no result; the adapter google-benchmark reads a program built"));
}

TEST(MeasuredAdapters, NothingIsLeftInTheScratchFolder) {
    const Folder scratch;
    run("google-benchmark", {"true"}, "", {.scratch = scratch.path()});
    run("criterion", {"true"}, "", {.scratch = scratch.path()});
    EXPECT_TRUE(fs::is_empty(scratch.path()));
}

}  // namespace
}  // namespace steady
