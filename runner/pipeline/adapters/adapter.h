// Reads the machine output of other benchmark programs: text in, rows out, nothing else.
// Repetitions inside one process are marked by `rep`; the independent unit stays the process that
// printed them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace steady {

enum class Direction { higher_is_better, lower_is_better };

struct AdapterRow {
    std::string metric;  // decode_tps, real_time_ns, wall_ns, op_ns …
    std::string unit;    // ns, tok/s, bytes, bytes/s …
    Direction direction = Direction::lower_is_better;
    double value = 0;                           // positive and finite
    int rep = 0;                                // 0-based, within metric and labels
    std::map<std::string, std::string> labels;  // what tells rows of one metric apart
};

struct Adapter {
    const char* name;
    const char* reads;  // for help: what output it takes
    // Throws Error when the text is not that output, when the program reported a failure, when a
    // value is not positive and finite, or when nothing was measured.
    std::vector<AdapterRow> (*read)(std::string_view text);
};

const std::vector<Adapter>& adapters();
// nullptr when there is none of that name.
const Adapter* find_adapter(std::string_view name);

std::vector<AdapterRow> read_google_benchmark(std::string_view text);
std::vector<AdapterRow> read_hyperfine(std::string_view text);
std::vector<AdapterRow> read_llama_bench(std::string_view text);
std::vector<AdapterRow> read_steady_engine(std::string_view text);
std::vector<AdapterRow> read_steady_kernels(std::string_view text);

}  // namespace steady
