// perf stat -x,: one line per event, `value,unit,event,run time,share of it,…`, in a file of its
// own. Events that the machine does not count are left out; who asks for one gets the list of those
// that it does count.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "runner/adapters/parse.h"

namespace steady::adapters_detail {
namespace {

constexpr char kEvents[] =
    "task-clock,context-switches,cpu-migrations,page-faults,instructions,cycles,branches,"
    "branch-misses,cache-references,cache-misses";

std::vector<std::string_view> fields_of(std::string_view line) {
    std::vector<std::string_view> out;
    for (;;) {
        const std::size_t comma = line.find(',');
        out.push_back(line.substr(0, comma));
        if (comma == line.npos) return out;
        line.remove_prefix(comma + 1);
    }
}

// "instructions:u" and "cpu_core/instructions/" count what "instructions" counts.
std::string event_metric(std::string_view event) {
    const std::size_t slash = event.find('/');
    if (slash != event.npos) event.remove_prefix(slash + 1);
    while (event.ends_with('/')) event.remove_suffix(1);
    return metric_name(event.substr(0, event.find(':')));
}

void add_event(Rows& rows, std::string_view line, std::vector<std::string>& uncounted) {
    const auto fields = fields_of(line);
    if (fields.size() < 5 || fields[2].empty()) {
        rows.refuse_line(line, "allowed: value,unit,event,run time,share (perf stat -x,)");
    }
    std::string metric = event_metric(fields[2]);
    if (fields[0].starts_with('<')) {  // <not supported>, <not counted>
        uncounted.push_back(fmt::format("{} {}", fields[2], fields[0]));
        return;
    }
    double value = rows.number_in(fields[0], line);
    std::string unit(fields[1]);
    if (unit == "msec") {
        metric += "_seconds";
        value /= 1e3;
        unit = "s";
    }
    const std::map<std::string, std::string> labels = {{"event", std::string(fields[2])}};
    rows.add({.metric = metric, .unit = unit, .value = value, .labels = labels}, metric);
}

std::vector<AdapterRow> read_perf(const AdapterInput& input) {
    Rows rows("perf");
    std::vector<std::string> uncounted;
    for (std::string_view rest = input.text; !rest.empty();) {
        const std::string_view line = trimmed(next_line(rest));
        if (!line.empty() && !line.starts_with('#')) add_event(rows, line, uncounted);
    }
    if (rows.empty() && !uncounted.empty()) {
        rows.refuse("", fmt::format("nothing was measured: {}", fmt::join(uncounted, ", ")));
    }
    return std::move(rows).finish();
}

// A command that is `perf stat …` keeps its events; any other is measured with the usual ones.
std::vector<std::string> perf_command(std::vector<std::string> argv, const std::string& file) {
    const bool own =
        argv.size() > 1 && argv[1] == "stat" && (argv[0] == "perf" || argv[0].ends_with("/perf"));
    if (own) {
        const std::vector<std::string> before_command(
            argv.begin(), std::find(argv.begin(), argv.end(), std::string("--")));
        for (const char* taken : {"-x", "-o", "-j"}) with_options(before_command, 0, {}, taken);
        return with_options(std::move(argv), 2, {"-x,", "-o", file}, "--field-separator");
    }
    std::vector<std::string> out = {"perf", "stat", "-x,", "-o", file, "-e", kEvents, "--"};
    out.insert(out.end(), argv.begin(), argv.end());
    return out;
}

}  // namespace

Adapter perf_stat() {
    return {.name = "perf",
            .reads = "the counters of perf stat around any command",
            .parse = read_perf,
            .from = ResultFrom::file,
            .command = perf_command};
}

}  // namespace steady::adapters_detail
