// Each adapter against real output of its program, row by row. Goldens are the files *.rows beside
// the inputs; STEADY_WRITE_GOLDEN=1 writes them. tests/data/adapters/README.md says which version
// of which program wrote what.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "kernels/base/error.h"
#include "runner/adapters/adapter.h"
#include "tests/runner/spec_files.h"

namespace steady {
namespace {

namespace fs = std::filesystem;

std::string rows_text(const std::vector<AdapterRow>& rows) {
    std::string out;
    for (const AdapterRow& row : rows) {
        out += fmt::format("{} {} {} {:.12g} rep {}", row.metric, row.unit,
                           row.direction ? name(*row.direction) : "-", row.value, row.rep);
        for (const auto& [key, value] : row.labels) {
            out += fmt::format(" {}=\"{}\"", key, value);
        }
        out += "\n";
    }
    return out;
}

std::vector<AdapterFile> files_below(const std::string& folder) {
    std::vector<AdapterFile> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (!entry.is_regular_file()) continue;
        files.push_back({fs::relative(entry.path(), folder).generic_string(),
                         read_file(entry.path().string())});
    }
    std::sort(files.begin(), files.end(),
              [](const AdapterFile& x, const AdapterFile& y) { return x.path < y.path; });
    return files;
}

struct Golden {
    const char* adapter;
    const char* input;  // a file, or a folder for adapters that read one
};

const Golden kGoldens[] = {
    {"asv", "asv"},
    {"criterion", "criterion"},
    {"go", "go.txt"},
    {"go", "go.json"},
    {"google-benchmark", "google-benchmark.json"},
    {"google-benchmark", "google-benchmark-aggregates.json"},
    {"hyperfine", "hyperfine.json"},
    {"lines", "lines.txt"},
    {"llama-bench", "llama-bench.json"},
    {"llama-bench", "llama-bench.jsonl"},
    {"llama-bench", "llama-bench-old.json"},
    {"perf", "perf.txt"},
    {"process", "process.json"},
    {"pytest-benchmark", "pytest-benchmark.json"},
    {"regex", "regex.txt"},
    {"steady-engine", "steady-engine-model.json"},
    {"steady-engine", "steady-engine-block.json"},
    {"steady-kernels", "steady-kernels-bench.json"},
    {"steady-kernels", "steady-kernels-duet.json"},
};

const char kPattern[] =
    "throughput: (?<value>[0-9.]+) (?<unit>[A-Za-z/]+) with (?<codec>[a-z0-9]+)";

std::vector<AdapterRow> read_golden(const Golden& golden, const std::string* text = nullptr) {
    const Adapter* adapter = find_adapter(golden.adapter);
    const std::string path = data_path(std::string("adapters/") + golden.input);
    AdapterInput input;
    input.pattern = kPattern;
    input.metric = "throughput";
    std::string whole;
    if (adapter->from == ResultFrom::folder) {
        input.files = files_below(path);
    } else {
        whole = text != nullptr ? *text : read_file(path);
        input.text = whole;
    }
    return adapter->parse(input);
}

TEST(AdaptersGolden, RowsAreAsRecorded) {
    for (const Golden& golden : kGoldens) {
        ASSERT_NE(find_adapter(golden.adapter), nullptr) << golden.adapter;
        const std::string rows = rows_text(read_golden(golden));
        const std::string path = data_path(std::string("adapters/") + golden.input + ".rows");
        if (std::getenv("STEADY_WRITE_GOLDEN") != nullptr) {
            std::ofstream(path) << rows;
        }
        EXPECT_EQ(rows, read_file(path)) << golden.input;
    }
}

TEST(AdaptersGolden, EveryAdapterHasOne) {
    for (const Adapter& adapter : adapters()) {
        const bool has =
            std::any_of(std::begin(kGoldens), std::end(kGoldens),
                        [&](const Golden& g) { return std::string(g.adapter) == adapter.name; });
        EXPECT_TRUE(has) << adapter.name;
        const std::string readme =
            read_file(std::string(STEADY_SOURCE_DIR) + "/runner/adapters/README.md");
        EXPECT_NE(readme.find(fmt::format("| `{}` |", adapter.name)), std::string::npos)
            << adapter.name << " is missing in runner/adapters/README.md";
    }
}

TEST(AdaptersGolden, BothFormsOfLlamaBenchAgree) {
    EXPECT_EQ(rows_text(read_golden({"llama-bench", "llama-bench.json"})),
              rows_text(read_golden({"llama-bench", "llama-bench.jsonl"})));
}

TEST(AdaptersGolden, DepthTellsTestsApart) {
    const auto rows = read_golden({"llama-bench", "llama-bench.json"});
    ASSERT_EQ(rows.size(), 12U);
    EXPECT_EQ(rows[0].metric, "prefill_tps");
    EXPECT_EQ(rows[3].metric, "decode_tps");
    EXPECT_EQ(rows[3].value, 415.559);
    EXPECT_EQ(rows[3].labels.at("n_depth"), "0");
    EXPECT_EQ(rows[11].labels.at("n_depth"), "256");
    EXPECT_EQ(rows[11].rep, 2);
}

// What a person would check by hand in the inputs.
TEST(AdaptersGolden, ValuesUnitsAndDirections) {
    const auto hyperfine = read_golden({"hyperfine", "hyperfine.json"});
    const Series wall = select_series(hyperfine, {.metric = "wall_seconds", .any = "sleep 0.01"});
    ASSERT_EQ(wall.values.size(), 5U);
    EXPECT_GT(wall.values[0], 0.01);
    EXPECT_LT(wall.values[0], 1);
    EXPECT_EQ(wall.direction, Direction::lower_is_better);
    const Series idle = select_series(hyperfine, {.metric = "system_seconds", .any = "sleep 0.01"});
    EXPECT_EQ(idle.values, std::vector<double>{0});  // zero is a value

    const auto google = read_golden({"google-benchmark", "google-benchmark.json"});
    const Series lines = select_series(google, {.metric = "cache_lines", .any = "BM_sum/1024"});
    EXPECT_EQ(lines.values, (std::vector<double>{64, 64, 64}));
    EXPECT_FALSE(lines.direction.has_value());  // a counter of its own: the experiment must say
    EXPECT_EQ(select_series(google, {.metric = "bytes_per_s", .any = "BM_sum/1024"}).direction,
              Direction::higher_is_better);

    const auto go = read_golden({"go", "go.txt"});
    EXPECT_EQ(select_series(go, {.metric = "bytes_per_op"}).values, (std::vector<double>{64, 64}));
    const Series p99 = select_series(go, {.metric = "p99_ns", .any = "BenchmarkSum/n=1-2"});
    EXPECT_EQ(p99.values, (std::vector<double>{1000, 1000}));

    const auto rust = read_golden({"criterion", "criterion"});
    EXPECT_EQ(select_series(rust, {.metric = "time_ns", .any = "sum 100"}).values.size(), 10U);

    const auto python = read_golden({"asv", "asv"});
    const Series sum = select_series(
        python, {.metric = "time_seconds",
                 .labels = {{"benchmark", "benchmarks.TimeSuite.time_sum"}, {"n", "1000"}}});
    EXPECT_EQ(sum.values.size(), 10U);
    EXPECT_GT(sum.values[0], 1e-6);
    EXPECT_EQ(select_series(python, {.metric = "value"}).unit, "answers");
}

// Cut and damaged outputs end in an Error, never in a crash or in made-up rows.
TEST(AdaptersGolden, DamagedOutputsAreRefusedOrRead) {
    int n_refused = 0;
    for (const Golden& golden : kGoldens) {
        if (find_adapter(golden.adapter)->from == ResultFrom::folder) continue;
        const std::string text = read_data(std::string("adapters/") + golden.input);
        for (std::size_t cut = 0; cut < text.size(); cut += 1 + text.size() / 60) {
            for (const std::string& damaged :
                 {text.substr(0, cut), text.substr(0, cut) + "null" + text.substr(cut)}) {
                try {
                    for (const AdapterRow& row : read_golden(golden, &damaged)) {
                        EXPECT_GE(row.value, 0);
                    }
                } catch (const Error&) {
                    ++n_refused;
                }
            }
        }
    }
    EXPECT_GT(n_refused, 700);
}

TEST(AdaptersGolden, UnknownNameIsNull) { EXPECT_EQ(find_adapter("nvbench"), nullptr); }

}  // namespace
}  // namespace steady
