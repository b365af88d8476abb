// The adapter says how its program is asked for numbers and where they then stand.
#include "runner/programs/command/readings.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "kernels/base/error.h"
#include "runner/base/json_reader.h"
#include "runner/base/text.h"
#include "runner/programs/command/scratch_folder.h"
#include "runner/spec/spec_command.h"

namespace steady {
namespace {

// "BM_parse/1024": any label's value; "name=BM_parse/1024": that label's; "file=a;mode=fast": both.
// A semicolon separates only where a label follows, so that values may hold one.
RowSelection selection_of(const Gate& gate, const std::string& metric) {
    RowSelection selection{.metric = metric};
    if (gate.select.find('=') == std::string::npos) {
        selection.any = gate.select;
        return selection;
    }
    std::string label;
    std::istringstream pieces(gate.select);
    for (std::string piece; std::getline(pieces, piece, ';');) {
        const std::size_t equals = piece.find('=');
        if (equals == std::string::npos) {
            selection.labels[label] += ";" + piece;
            continue;
        }
        const std::size_t begin = piece.find_first_not_of(' ');
        label = piece.substr(begin, equals - begin);
        selection.labels[label] = piece.substr(equals + 1);
    }
    return selection;
}

// What the program says of its own number and what the experiment says of it must agree.
void check_direction(const Gate& gate, const Series& series) {
    if (!series.direction_said || !series.direction) return;
    const Direction asked =
        higher_is_better(gate) ? Direction::higher_is_better : Direction::lower_is_better;
    if (*series.direction == asked) return;
    throw Error(fmt::format(
        "the program says that {} is better when {}, the experiment when {}: correct one of them "
        "(\"direction\" of the gate, with ab --direction)",
        series.metric, name(*series.direction), name(asked)));
}

void put(Readings& readings, const Series& series) {
    readings.values[series.metric] = series.values;
    readings.units[series.metric] = series.unit;
}

// What the kernel counted has no labels and passes every selection.
void take_usage(const std::vector<AdapterRow>& rows, Readings& readings) {
    for (const AdapterRow& row : rows) {
        if (!row.labels.empty()) continue;
        readings.values[row.metric].push_back(row.value);
        readings.units[row.metric] = row.unit;
    }
}

// Some programs print their results on standard error.
std::string of_the_other_stream(const Adapter& adapter, const ChildEnd& end) {
    const bool silent = end.out.find_first_not_of(" \r\n\t") == std::string::npos;
    if (adapter.from != ResultFrom::output || !silent || end.err.empty()) return "";
    return fmt::format(
        "; standard error has {}: where that is the result, let the command write to standard "
        "output, as in sh -c 'COMMAND 2>&1'",
        shown_text(redact(end.err)));
}

}  // namespace

// The gate's own metric must be there and be one series; the others are taken where they are.
Readings readings_of(const Gate& gate, const std::vector<AdapterRow>& rows) {
    Readings readings;
    take_usage(rows, readings);
    for (const AdapterRow& row : rows) {
        if (row.metric == gate.metric || row.labels.empty()) continue;
        try {
            put(readings, select_series(rows, selection_of(gate, row.metric)));
        } catch (const Error&) {
            readings.values.erase(row.metric);  // several series, none of them asked for
        }
    }
    const Series decides = select_series(rows, selection_of(gate, gate.metric));
    check_direction(gate, decides);
    put(readings, decides);
    return readings;
}

AdapterRun run_adapter(const Adapter& adapter, CommandLine line, AdapterOptions options) {
    if (!line.confinement) return run_with_adapter(adapter, measured_command(line), options);
    const ScratchFolder results;
    give_to_confined(results.path());
    line.confinement->writable.push_back(results.path());
    options.scratch = results.path();
    return run_with_adapter(adapter, measured_command(line), options);
}

ReadRun run_and_read(const Gate& gate, const CommandLine& line, int good_exit) {
    const Adapter& adapter = *find_adapter(gate.adapter.empty() ? "process" : gate.adapter);
    AdapterOptions options;
    options.pattern = gate.pattern;
    options.metric = gate.metric;
    options.exit = good_exit;
    std::string error;
    std::vector<AdapterRow> rows;
    ReadRun out;
    out.run = watched_run([&] {
        AdapterRun read = run_adapter(adapter, line, options);
        error = std::move(read.error);
        rows = std::move(read.rows);
        return std::move(read.run);
    });
    if (!out.run.end.exited_with(good_exit)) return out;
    if (!error.empty()) throw Error(error + of_the_other_stream(adapter, out.run.end));
    out.readings = readings_of(gate, rows);
    return out;
}

}  // namespace steady
