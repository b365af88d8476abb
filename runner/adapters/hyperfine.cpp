// hyperfine --export-json: wall times of whole commands, one process per time. User and system time
// are means over the runs; memory is there since hyperfine 1.20.
#include <string>

#include "runner/adapters/parse.h"

namespace steady::adapters_detail {
namespace {

void add_command(Rows& rows, const Json& result, const std::string& where) {
    AdapterRow row{.labels = {{"command", rows.text(result, "command", where)}}};
    if (!rows.is_absent(result, "parameters")) {
        for (const auto& [name, value] : result.at("parameters").items()) {
            row.labels[name] = value.is_string() ? value.get<std::string>() : value.dump();
        }
    }
    for (const Json& code :
         rows.is_absent(result, "exit_codes") ? Json::array() : result.at("exit_codes")) {
        if (code != 0) {
            rows.refuse(where, "\"" + row.labels.at("command") + "\" ended with " +
                                   (code.is_null() ? "a signal" : "exit code " + code.dump()));
        }
    }
    std::vector<double> times = rows.numbers(result, "times", where);
    if (times.empty()) {  // older versions can leave them out
        times = {rows.number(result, "mean", where)};
    }
    row.metric = "wall_seconds";
    rows.add_all(row, times, where);
    for (const auto& [key, metric] :
         {std::pair("user", "user_seconds"), std::pair("system", "system_seconds")}) {
        if (rows.is_absent(result, key)) continue;
        row.metric = metric;
        rows.add_all(row, {rows.number(result, key, where)}, where);
    }
    row.metric = "peak_memory_bytes";
    rows.add_all(row, rows.numbers(result, "memory_usage_byte", where), where);
}

std::vector<AdapterRow> read_hyperfine(const AdapterInput& input) {
    Rows rows("hyperfine");
    const Json document = rows.parse(input.text);
    const Json& results = rows.list(document, "results", "");
    for (std::size_t i = 0; i < results.size(); ++i) {
        const std::string where = "/results/" + std::to_string(i);
        add_command(rows, results[i], where);
    }
    return std::move(rows).finish();
}

std::vector<std::string> hyperfine_command(std::vector<std::string> argv, const std::string& file) {
    return with_options(std::move(argv), 1, {"--export-json", file}, "--export-json");
}

}  // namespace

Adapter hyperfine() {
    return {.name = "hyperfine",
            .reads = "hyperfine",
            .parse = read_hyperfine,
            .from = ResultFrom::file,
            .command = hyperfine_command};
}

}  // namespace steady::adapters_detail
