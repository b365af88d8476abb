// How long it takes to read, check and hash an experiment file: a Google Benchmark program, and a
// subject for `steady ab --adapter google-benchmark`. By hand:
// experiments/README.md#asked-of-other-programs.
#include <benchmark/benchmark.h>

#include <fstream>
#include <sstream>
#include <string>

#include "runner/spec/spec.h"

namespace {

std::string file_text() {
    std::ifstream in(STEADY_SOURCE_DIR "/experiments/quickstart.json", std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

void parse_spec(benchmark::State& state) {
    const std::string text = file_text();
    for (auto _ : state) {
        steady::SpecResult result = steady::parse_spec(text, "quickstart");
        if (!result.spec) state.SkipWithError("experiments/quickstart.json is refused");
        benchmark::DoNotOptimize(result);
    }
}
BENCHMARK(parse_spec);

}  // namespace

BENCHMARK_MAIN();
