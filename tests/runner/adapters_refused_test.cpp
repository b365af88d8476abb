// Output that no adapter may turn into rows, and what the errors show; picking a series; the
// command lines that adapters make.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/base/error.h"
#include "runner/adapters/adapter.h"
#include "tests/runner/spec_files.h"

namespace steady {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class Action>
std::string error_of(const Action& action) {
    try {
        action();
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

std::string refusal(const char* adapter, const std::string& text) {
    return error_of([&] { find_adapter(adapter)->read(text); });
}

void expect_refused(const char* adapter, const std::string& text, const std::string& says) {
    EXPECT_THAT(refusal(adapter, text), AllOf(HasSubstr(says), HasSubstr(adapter)));
}

TEST(AdaptersRefused, FailuresAreNotResults) {
    expect_refused("google-benchmark", read_data("adapters/google-benchmark-failed.json"),
                   "no such device");
    expect_refused("hyperfine", read_data("adapters/hyperfine-failed.json"), "exit code 1");
    expect_refused("hyperfine", R"({"results":[{"command":"x","times":[1],"exit_codes":[null]}]})",
                   "a signal");
    expect_refused("go", "BenchmarkA-2 10 5 ns/op\n--- FAIL: BenchmarkB\n", "--- FAIL: BenchmarkB");
    expect_refused("go", "panic: out of range\n", "panic: out of range");
    expect_refused("steady-kernels", R"({"results": [{"refused": "wrong"}]})",
                   "nothing was measured");
}

// A ratio of two units, or a number whose name says another unit, would be a wrong verdict.
TEST(AdaptersRefused, OneSeriesHasOneUnitAndOneDirection) {
    expect_refused("lines", R"({"metric": "wall_seconds", "value": 500, "unit": "ms"})",
                   "wall_seconds is in s by its name");
    EXPECT_EQ(find_adapter("lines")
                  ->read(R"({"metric": "page_faults", "value": 5, "unit": "count"})")
                  .size(),
              1U);
    const auto of = [](const std::string& text) {
        return error_of(
            [&] { select_series(find_adapter("lines")->read(text), {.metric = "speed"}); });
    };
    EXPECT_THAT(of("{\"metric\": \"speed\", \"value\": 900, \"unit\": \"ms\"}\n"
                   "{\"metric\": \"speed\", \"value\": 1.1, \"unit\": \"s\"}\n"),
                HasSubstr("in ms and in s in one run"));
    EXPECT_THAT(of("{\"metric\": \"speed\", \"value\": 9, \"direction\": \"lower\"}\n"
                   "{\"metric\": \"speed\", \"value\": 8, \"direction\": \"higher\"}\n"),
                HasSubstr("both that lower and that higher"));
}

TEST(AdaptersRefused, NothingMeasured) {
    for (const char* adapter : {"llama-bench", "hyperfine", "google-benchmark", "go", "perf",
                                "lines", "steady-engine", "criterion", "asv"}) {
        EXPECT_THAT(refusal(adapter, ""),
                    testing::AnyOf(HasSubstr("nothing was measured"), HasSubstr("it is empty")))
            << adapter;
    }
    expect_refused("llama-bench", "[]", "nothing was measured");
    expect_refused("hyperfine", R"({"results": []})", "nothing was measured");
    expect_refused("steady-engine", "{}", "nothing was measured");
    expect_refused("google-benchmark",
                   R"({"benchmarks":[{"name":"BM_x","run_type":"iteration","skipped":true,)"
                   R"("skip_message":"no AVX-512"}]})",
                   "no AVX-512");
    expect_refused("perf", "<not supported>,,instructions,0,100.00,,\n",
                   "instructions <not supported>");
    expect_refused("go", "PASS\nok\n", "was -bench given?");
}

// A changed format is an error that shows what was found.
TEST(AdaptersRefused, ErrorsShowTheText) {
    expect_refused("llama-bench", "| model | size |", "| model | size |");
    expect_refused("hyperfine", "[1, 2", "[1, 2");
    expect_refused("llama-bench", R"([{"n_prompt": 1}])", "no \"n_gen\" in {\"n_prompt\":1}");
    expect_refused("llama-bench", R"([{"n_gen": 64, "samples_ts": [null]}])", "null");
    expect_refused("llama-bench", R"([{"n_gen": 64, "samples_ts": "1"}])", "not a list: \"1\"");
    expect_refused("llama-bench", R"([{"n_gen": 1e300, "avg_ts": 1}])", "1e+300");
    expect_refused("llama-bench", "[7]", "no \"n_gen\" in 7");
    expect_refused("hyperfine", R"({"results": [{"cmd": "x"}]})", R"({"cmd":"x"})");
    expect_refused("google-benchmark", "{}", "no \"benchmarks\"");
    expect_refused("google-benchmark", R"({"benchmarks": [1]})", "no \"run_type\"");
    expect_refused("google-benchmark", R"({"benchmarks": 7})", "not a list: 7");
    expect_refused("perf", "12;;instructions\n", "12;;instructions");
    expect_refused("perf", "1.2.3,,cycles,1,100.00,,\n", "\"1.2.3\" is no number");
    expect_refused("go", "BenchmarkA-2 10 5 ns/op 7\n", "BenchmarkA-2 10 5 ns/op 7");
    expect_refused("go", "BenchmarkA-2 10 five ns/op\n", "\"five\" is no number");
    expect_refused("lines", "{\"metric\": \"a_ns\", \"value\": 1\n", "no JSON object");
    expect_refused("lines", R"({"metric": "a_ns", "value": 1, "units": "ns"})",
                   "unknown key \"units\"");
    expect_refused("lines", R"({"metric": "A b", "value": 1})", "a metric's name");
    expect_refused("lines", R"({"metric": "a", "value": 1, "direction": "up"})", "lower or higher");
    expect_refused("lines", "took 5 s\n", "took 5 s");
    expect_refused("pytest-benchmark", R"({"benchmarks": [{"stats": {}}]})", "no \"fullname\"");
}

TEST(AdaptersRefused, OnlyFiniteValuesThatAreNotNegative) {
    expect_refused("llama-bench", R"([{"n_gen": 64, "samples_ts": [-1]}])", "not negative");
    expect_refused("steady-engine", R"({"token_ns": [1, -2]})", "not negative");
    expect_refused("perf", "nan,,cycles,1,100.00,,\n", "finite");
    const auto rows = find_adapter("lines")->read(R"({"metric": "retries", "value": 0})");
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].value, 0);
    EXPECT_FALSE(rows[0].direction.has_value());
}

TEST(AdaptersRefused, PatternsAreChecked) {
    const auto read = [](const std::string& pattern, const std::string& text) {
        return error_of([&] {
            find_adapter("regex")->parse({.text = text, .pattern = pattern, .metric = "m"});
        });
    };
    EXPECT_THAT(read("", "x"), HasSubstr("no pattern"));
    EXPECT_THAT(read("(", "x"), HasSubstr("no regular expression"));
    EXPECT_THAT(read("took ([0-9]+)", "took 5"), HasSubstr("no group (?<value>"));
    EXPECT_THAT(read("took (?<value>[0-9]+)", "needed 5"), HasSubstr("needed 5"));
    EXPECT_THAT(read("took (?<value>.*)", "took long"), HasSubstr("\"long\" is no number"));
    EXPECT_THAT(read("(?<value>(a+)+)$", std::string(40, 'a') + "b"), HasSubstr("cannot be"));
    EXPECT_THAT(read("(?<value>[0-9]*)", "7 8"), HasSubstr("\"\" is no number"));  // empty match
}

// Counters of a machine that has them, in the layout of perf 6.1 (this one is written by hand: the
// machines at hand have none).
TEST(AdaptersRefused, PerfNamesAreMetrics) {
    const auto rows = find_adapter("perf")->read(
        "# started on Tue\n\n12.5,msec,task-clock:u,12500000,100.00,0.98,CPUs utilized\n"
        "123456,,instructions:u,12500000,100.00,1.2,insn per cycle\n"
        "99,,cpu_core/cache-misses/,12500000,50.00,,\n<not counted>,,cycles,0,0.00,,\n");
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[0].metric, "task_clock_seconds");
    EXPECT_EQ(rows[0].value, 0.0125);
    EXPECT_EQ(rows[1].metric, "instructions");
    EXPECT_EQ(rows[1].direction, Direction::lower_is_better);
    EXPECT_EQ(rows[2].metric, "cache_misses");
}

// As hyperfine 1.20 writes it (src/benchmark/benchmark_result.rs); the version at hand has no
// memory.
TEST(AdaptersRefused, HyperfineTellsMemory) {
    const auto rows =
        find_adapter("hyperfine")
            ->read(
                R"({"results":[{"command":"x","mean":1,"stddev":null,"median":1,"user":0.5,"system":0,)"
                R"("min":1,"max":1,"times":[1,1.5],"memory_usage_byte":[4096,8192],"exit_codes":[0,0]}]})");
    const Series memory = select_series(rows, {.metric = "peak_memory_bytes"});
    EXPECT_EQ(memory.values, (std::vector<double>{4096, 8192}));
    EXPECT_EQ(memory.unit, "bytes");
}

TEST(AdaptersRefused, SelectionSaysWhatThereIs) {
    const auto rows = find_adapter("lines")->read(
        "{\"metric\": \"parse_ns\", \"value\": 5, \"labels\": {\"file\": \"small\"}}\n"
        "{\"metric\": \"parse_ns\", \"value\": 9, \"labels\": {\"file\": \"large\"}}\n"
        "{\"metric\": \"total_ns\", \"value\": 20}\n");
    EXPECT_EQ(select_series(rows, {.metric = "parse_ns", .any = "large"}).values,
              std::vector<double>{9});
    EXPECT_EQ(select_series(rows, {.metric = "parse_ns", .labels = {{"file", "small"}}}).values,
              std::vector<double>{5});
    // A row of the whole process fits every selection.
    EXPECT_EQ(select_series(rows, {.metric = "total_ns", .any = "large"}).values,
              std::vector<double>{20});
    const auto refused = [&](const RowSelection& selection) {
        return error_of([&] { select_series(rows, selection); });
    };
    EXPECT_THAT(refused({.metric = "parse_ns"}),
                AllOf(HasSubstr("2 series of parse_ns"), HasSubstr("file=large")));
    EXPECT_THAT(refused({.metric = "parse_ns", .any = "lagre"}),
                AllOf(HasSubstr("did you mean large?"), HasSubstr("file=small")));
    EXPECT_THAT(refused({.metric = "wall_seconds"}),
                AllOf(HasSubstr("measured no wall_seconds"), HasSubstr("parse_ns, total_ns")));
}

TEST(AdaptersRefused, CommandsAskForTheMachineFormat) {
    const auto command = [](const char* adapter, std::vector<std::string> argv) {
        return find_adapter(adapter)->command(std::move(argv), "/f");
    };
    EXPECT_THAT(command("hyperfine", {"hyperfine", "true"}),
                ElementsAre("hyperfine", "--export-json", "/f", "true"));
    EXPECT_THAT(command("google-benchmark", {"./b", "--benchmark_filter=x"}),
                ElementsAre("./b", "--benchmark_filter=x", "--benchmark_out=/f",
                            "--benchmark_out_format=json"));
    EXPECT_THAT(command("pytest-benchmark", {"pytest"}),
                ElementsAre("pytest", "--benchmark-json=/f"));
    EXPECT_THAT(command("llama-bench", {"llama-bench", "-o", "json"}),
                ElementsAre("llama-bench", "-o", "json"));
    EXPECT_THAT(command("llama-bench", {"llama-bench"}), ElementsAre("llama-bench", "-o", "jsonl"));
    EXPECT_THAT(command("perf", {"perf", "stat", "-e", "cycles", "--", "ls", "-x"}),
                ElementsAre("perf", "stat", "-x,", "-o", "/f", "-e", "cycles", "--", "ls", "-x"));
    EXPECT_EQ(command("perf", {"ls", "-o"}).back(), "-o");
    EXPECT_THAT(error_of([&] {
                    command("hyperfine", {"hyperfine", "--export-json", "x", "ls"});
                }),
                HasSubstr("leave it out"));
    EXPECT_THAT(error_of([&] {
                    command("google-benchmark", {"./b", "--benchmark_out=x"});
                }),
                HasSubstr("--benchmark_out=x"));
}

}  // namespace
}  // namespace steady
