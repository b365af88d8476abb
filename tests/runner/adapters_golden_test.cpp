// Each adapter against real output of its program, row by row, and against output that must be
// refused. Goldens are the files *.rows beside the inputs; STEADY_WRITE_GOLDEN=1 writes them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "engine/protocol/error.h"
#include "runner/pipeline/adapters/adapter.h"
#include "tests/runner/spec_files.h"

namespace steady {
namespace {

std::string rows_text(const std::vector<AdapterRow>& rows) {
    std::string out;
    for (const AdapterRow& row : rows) {
        out += fmt::format("{} {} {} {:.12g} rep {}", row.metric, row.unit,
                           row.direction == Direction::higher_is_better ? "up" : "down", row.value,
                           row.rep);
        for (const auto& [key, value] : row.labels) {
            out += fmt::format(" {}=\"{}\"", key, value);
        }
        out += "\n";
    }
    return out;
}

struct Golden {
    const char* adapter;
    const char* file;
};

const Golden kGoldens[] = {
    {"google-benchmark", "google-benchmark.json"},
    {"google-benchmark", "google-benchmark-aggregates.json"},
    {"hyperfine", "hyperfine.json"},
    {"llama-bench", "llama-bench.json"},
    {"llama-bench", "llama-bench.jsonl"},
    {"llama-bench", "llama-bench-old.json"},
    {"steady-engine", "steady-engine-model.json"},
    {"steady-engine", "steady-engine-block.json"},
    {"steady-kernels", "steady-kernels-bench.json"},
    {"steady-kernels", "steady-kernels-duet.json"},
};

TEST(AdaptersGolden, RowsAreAsRecorded) {
    for (const Golden& golden : kGoldens) {
        const Adapter* adapter = find_adapter(golden.adapter);
        ASSERT_NE(adapter, nullptr) << golden.adapter;
        const std::string rows =
            rows_text(adapter->read(read_data(std::string("adapters/") + golden.file)));
        const std::string path = data_path(std::string("adapters/") + golden.file + ".rows");
        if (std::getenv("STEADY_WRITE_GOLDEN") != nullptr) {
            std::ofstream(path) << rows;
        }
        EXPECT_EQ(rows, read_file(path)) << golden.file;
    }
}

TEST(AdaptersGolden, BothFormsOfLlamaBenchAgree) {
    EXPECT_EQ(rows_text(read_llama_bench(read_data("adapters/llama-bench.json"))),
              rows_text(read_llama_bench(read_data("adapters/llama-bench.jsonl"))));
}

TEST(AdaptersGolden, DepthTellsTestsApart) {
    const auto rows = read_llama_bench(read_data("adapters/llama-bench.json"));
    ASSERT_EQ(rows.size(), 9U);
    EXPECT_EQ(rows[0].metric, "prefill_tps");
    EXPECT_EQ(rows[3].metric, "decode_tps");
    EXPECT_EQ(rows[3].value, 19.31);
    EXPECT_EQ(rows[3].labels.at("n_depth"), "0");
    EXPECT_EQ(rows[8].labels.at("n_depth"), "8192");
    EXPECT_EQ(rows[8].rep, 2);
}

TEST(AdaptersGolden, TimesAreInNanoseconds) {
    const auto rows = read_hyperfine(read_data("adapters/hyperfine.json"));
    ASSERT_EQ(rows.size(), 10U);
    EXPECT_GT(rows[0].value, 10e6);  // sleep 0.01
    EXPECT_LT(rows[0].value, 1e9);
    const auto google = read_google_benchmark(read_data("adapters/google-benchmark.json"));
    EXPECT_GT(google[0].value, 100);  // printed in µs
    EXPECT_EQ(google[0].unit, "ns");
}

void expect_refused(const char* adapter, const std::string& text, const std::string& says) {
    try {
        find_adapter(adapter)->read(text);
        ADD_FAILURE() << adapter << " accepted " << text.substr(0, 80);
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
        EXPECT_NE(std::string(error.what()).find(adapter), std::string::npos) << error.what();
    }
}

TEST(AdaptersGolden, FailuresAreNotResults) {
    expect_refused("google-benchmark", read_data("adapters/google-benchmark-failed.json"),
                   "no such device");
    expect_refused("hyperfine", read_data("adapters/hyperfine-failed.json"), "exit code 1");
    expect_refused("llama-bench", "[]", "nothing was measured");
    expect_refused("llama-bench", "", "nothing was measured");
    expect_refused("llama-bench", "| model | size |", "not JSON");
    expect_refused("llama-bench", "[{\"n_prompt\": 1}]", "no \"n_gen\"");
    expect_refused("llama-bench", "[{\"n_gen\": 64, \"samples_ts\": [0]}]", "positive and finite");
    expect_refused("llama-bench", "[{\"n_gen\": 64, \"samples_ts\": [-1]}]", "positive and finite");
    expect_refused("llama-bench", "[{\"n_gen\": 64, \"samples_ts\": [null]}]", "no number");
    expect_refused("llama-bench", "[{\"n_gen\": 64, \"samples_ts\": \"1\"}]", "not a list");
    expect_refused("hyperfine", "{\"results\": []}", "nothing was measured");
    expect_refused("hyperfine", "{\"results\": [{}]}", "no \"command\"");
    expect_refused("hyperfine", "[1, 2", "not JSON");
    expect_refused("google-benchmark", "{}", "no \"benchmarks\"");
    expect_refused("google-benchmark", "{\"benchmarks\": [1]}", "no \"run_type\"");
    expect_refused("google-benchmark", "{\"benchmarks\": 7}", "not a list");
    expect_refused("hyperfine", "{\"results\": 7}", "not a list");
    expect_refused("steady-kernels", "{\"results\": \"x\"}", "not a list");
    expect_refused("llama-bench", "[{\"n_gen\": 1e300, \"avg_ts\": 1}]", "a whole number");
    expect_refused("llama-bench", "[7]", "no \"n_gen\"");
    expect_refused("steady-engine", "{}", "nothing was measured");
    expect_refused("steady-engine", "[]", "nothing was measured");
    expect_refused("steady-engine", "{\"token_ns\": [1, 0]}", "positive and finite");
    expect_refused("steady-kernels", "{\"results\": [{\"refused\": \"wrong\"}]}",
                   "nothing was measured");
}

// Cut and damaged outputs end in an Error, never in a crash or in made-up rows.
TEST(AdaptersGolden, DamagedOutputsAreRefusedOrRead) {
    int n_refused = 0;
    for (const Golden& golden : kGoldens) {
        const std::string text = read_data(std::string("adapters/") + golden.file);
        for (std::size_t cut = 0; cut < text.size(); cut += 1 + text.size() / 60) {
            for (const std::string& damaged :
                 {text.substr(0, cut), text.substr(0, cut) + "null" + text.substr(cut)}) {
                try {
                    for (const AdapterRow& row : find_adapter(golden.adapter)->read(damaged)) {
                        EXPECT_GT(row.value, 0);
                    }
                } catch (const Error&) {
                    ++n_refused;
                }
            }
        }
    }
    EXPECT_GT(n_refused, 500);
}

TEST(AdaptersGolden, UnknownNameIsNull) { EXPECT_EQ(find_adapter("nvbench"), nullptr); }

}  // namespace
}  // namespace steady
