// Reads the output of other benchmark programs: text in, rows out, nothing else. Repetitions inside
// one process are marked by `rep`; the independent unit stays the process that printed them. How to
// add an adapter: README.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runner/base/metrics.h"

namespace steady {

struct AdapterRow {
    std::string metric;                         // wall_seconds, decode_tps, real_time_ns …
    std::string unit;                           // ns, tok/s, bytes, bytes/s …; empty: a number
    std::optional<Direction> direction;         // absent: the experiment must say it
    double value = 0;                           // finite and not negative; zero is a value
    int rep = 0;                                // 0-based, within metric and labels
    std::map<std::string, std::string> labels;  // what tells rows of one metric apart
    bool direction_said = false;                // by the program itself, not by its unit or name
};

struct AdapterFile {
    std::string path;  // below the folder that was read
    std::string text;
};

struct AdapterInput {
    std::string_view text{};           // of Adapter::from; empty for a folder
    std::vector<AdapterFile> files{};  // of a folder, by path
    std::string pattern{};             // only for `regex`: the experiment's expression,
    std::string metric{};              // and the metric that it reads
    std::int64_t since_ms = 0;         // of a folder: what began earlier (Unix time) is left out
};

// Where the result stands when the program has ended.
enum class ResultFrom {
    output,  // on its stdout
    file,    // in the file that Adapter::command names to it
    folder,  // in files below Adapter::folders
    usage,   // in what the kernel knows of the process: nothing is asked of the program
};

struct Adapter {
    const char* name;
    const char* reads;  // for help: which output of which program
    std::vector<AdapterRow> (*parse)(const AdapterInput& input);
    ResultFrom from = ResultFrom::output;
    // The command line that makes the program write its machine format, to `file` where `from` says
    // so. nullptr: the command runs as it is. Throws Error when the arguments already choose one.
    std::vector<std::string> (*command)(std::vector<std::string> argv,
                                        const std::string& file) = nullptr;
    // ResultFrom::folder: the environment variable that makes the program write to a folder of our
    // choice; without one, the folders below the working directory that it writes to.
    const char* folder_variable = nullptr;
    std::vector<std::string> folders{};
    bool (*takes_file)(std::string_view path) = nullptr;  // which files below it

    // All `parse` throw Error when the text is not that output, when the program reported a
    // failure, when a value is not finite or negative, or when nothing was measured; the message
    // shows the text that did not fit.
    std::vector<AdapterRow> read(std::string_view text) const {
        return parse(AdapterInput{.text = text});
    }
};

// The one table: the spec, its schema and the help read the names from here.
const std::vector<Adapter>& adapters();
// nullptr when there is none of that name.
const Adapter* find_adapter(std::string_view name);

// What an experiment picks from the rows: a metric, and labels where several rows share it. A value
// without a key (`--select BM_parse/1024`) may be the value of any label.
struct RowSelection {
    std::string metric;
    std::map<std::string, std::string> labels{};
    std::string any{};
};

struct Series {
    std::string metric, unit;
    std::optional<Direction> direction;
    std::vector<double> values;  // by repetition
    std::map<std::string, std::string> labels;
    bool direction_said = false;
};

// For messages: "ms", "no unit".
std::string unit_text(const std::string& unit);

// The values of one series, in order of repetition. Throws Error when no row fits or when rows of
// several series do, with what there is, and when one series has two units.
Series select_series(const std::vector<AdapterRow>& rows, const RowSelection& selection);

}  // namespace steady
