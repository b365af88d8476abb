// What the kernel knows of a process when it has ended, as the runner writes it down
// (usage_json in runner/platform/measured_process.h). Every program can be judged by it.
#include <string>

#include "runner/adapters/parse.h"

namespace steady::adapters_detail {
namespace {

std::vector<AdapterRow> read_usage(const AdapterInput& input) {
    Rows rows("process");
    const Json usage = rows.parse(input.text);
    if (!usage.is_object()) {
        rows.refuse("", "not an object");
    }
    for (const auto& [metric, value] : usage.items()) {
        rows.add({.metric = metric, .value = rows.number(usage, metric.c_str(), "")}, "/" + metric);
    }
    return std::move(rows).finish();
}

}  // namespace

Adapter process_usage() {
    return {.name = "process",
            .reads = "wall, user and system time, peak memory and page faults of any command",
            .parse = read_usage,
            .from = ResultFrom::usage};
}

}  // namespace steady::adapters_detail
