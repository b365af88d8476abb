// hyperfine --export-json: wall times of whole commands, one process per time, so each is a unit.
#include <string>

#include "runner/pipeline/adapters/parse.h"

namespace steady {

std::vector<AdapterRow> read_hyperfine(std::string_view text) {
    using adapters_detail::Json;
    adapters_detail::Rows rows("hyperfine");
    const Json document = rows.parse(text);
    const Json& results = rows.list(document, "results", "");
    for (std::size_t i = 0; i < results.size(); ++i) {
        const Json& result = results[i];
        const std::string where = "/results/" + std::to_string(i);
        const std::string command = rows.text(result, "command", where);
        const Json codes = result.value("exit_codes", Json::array());
        for (const Json& code : codes) {
            if (code != 0) {
                rows.refuse(where, "\"" + command + "\" ended with exit code " + code.dump());
            }
        }
        std::vector<double> times_s = rows.numbers(result, "times", where);
        if (times_s.empty()) {  // older versions can leave them out
            times_s = {rows.number(result, "mean", where)};
        }
        for (std::size_t rep = 0; rep < times_s.size(); ++rep) {
            rows.add({"wall_ns",
                      "ns",
                      Direction::lower_is_better,
                      1e9 * times_s[rep],
                      static_cast<int>(rep),
                      {{"command", command}}},
                     where);
        }
    }
    return std::move(rows).finish();
}

}  // namespace steady
