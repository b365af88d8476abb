// pytest-benchmark, --benchmark-json: the time of each round in seconds.
#include <string>

#include "runner/adapters/parse.h"

namespace steady::adapters_detail {
namespace {

std::vector<AdapterRow> read_pytest(const AdapterInput& input) {
    Rows rows("pytest-benchmark");
    const Json document = rows.parse_python(input.text);
    const Json& all = rows.list(document, "benchmarks", "");
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::string where = "/benchmarks/" + std::to_string(i);
        const Json& stats = rows.at(all[i], "stats", where);
        const AdapterRow row{.metric = "time_seconds",
                             .labels = {{"benchmark", rows.text(all[i], "fullname", where)},
                                        {"name", rows.text(all[i], "name", where)}}};
        std::vector<double> times = rows.numbers(stats, "data", where + "/stats");
        if (times.empty()) {  // a file saved without its rounds
            times = {rows.number(stats, "median", where + "/stats")};
        }
        rows.add_all(row, times, where);
    }
    return std::move(rows).finish();
}

std::vector<std::string> pytest_command(std::vector<std::string> argv, const std::string& file) {
    const std::size_t end = argv.size();
    return with_options(std::move(argv), end, {"--benchmark-json=" + file}, "--benchmark-json");
}

}  // namespace

Adapter pytest_benchmark() {
    return {.name = "pytest-benchmark",
            .reads = "pytest with the plugin pytest-benchmark",
            .parse = read_pytest,
            .from = ResultFrom::file,
            .command = pytest_command};
}

}  // namespace steady::adapters_detail
