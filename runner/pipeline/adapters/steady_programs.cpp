// This project's own programs, so that their benches can be imported like anybody else's.
#include <string>

#include "runner/pipeline/adapters/parse.h"

namespace steady {
namespace {

using adapters_detail::Json;
using adapters_detail::Rows;

void add_all(Rows& rows, const Json& document, const char* key, const std::string& metric,
             const std::map<std::string, std::string>& labels) {
    const std::vector<double> values = rows.numbers(document, key, "");
    for (std::size_t rep = 0; rep < values.size(); ++rep) {
        rows.add(
            {metric, "ns", Direction::lower_is_better, values[rep], static_cast<int>(rep), labels},
            std::string("/") + key);
    }
}

}  // namespace

std::vector<AdapterRow> read_steady_engine(std::string_view text) {
    Rows rows("steady-engine");
    const Json document = rows.parse(text);
    const bool blocks = document.is_object() && document.contains("block");
    if (blocks) {  // bench block: one layer, and its feed-forward alone
        add_all(rows, document.at("block"), "token_ns", "block_ns", {});
        add_all(rows, rows.at(document, "ffn", ""), "token_ns", "ffn_ns", {});
        return std::move(rows).finish();
    }
    add_all(rows, document, "token_ns", "token_ns", {});
    struct Single {
        const char* key;
        const char* metric;
        const char* unit;
        Direction direction;
    };
    const Single kSingles[] = {
        {"tokens_per_s", "decode_tps", "tok/s", Direction::higher_is_better},
        {"weight_gb_per_s", "weight_gb_per_s", "GB/s", Direction::higher_is_better},
        {"peak_rss_bytes", "rss_bytes", "bytes", Direction::lower_is_better},
        {"launches_per_token", "launches_per_token", "launches", Direction::lower_is_better},
    };
    for (const Single& single : kSingles) {
        if (document.is_object() && document.contains(single.key)) {
            rows.add({single.metric,
                      single.unit,
                      single.direction,
                      rows.number(document, single.key, ""),
                      0,
                      {}},
                     std::string("/") + single.key);
        }
    }
    return std::move(rows).finish();
}

std::vector<AdapterRow> read_steady_kernels(std::string_view text) {
    Rows rows("steady-kernels");
    const Json document = rows.parse(text);
    if (document.is_object() && document.contains("a_ns")) {  // duet: two variants, alternating
        for (const auto& [arm, name] : {std::pair("a", "a_ns"), std::pair("b", "b_ns")}) {
            add_all(rows, document, name, "op_ns",
                    {{"op", rows.text(document, "op", "")},
                     {"variant", rows.text(document, arm, "")},
                     {"shape", rows.text(document, "shape", "")},
                     {"arm", arm == std::string("a") ? "A" : "B"}});
        }
        return std::move(rows).finish();
    }
    const Json& results = rows.list(document, "results", "");
    for (std::size_t i = 0; i < results.size(); ++i) {
        const Json& result = results[i];
        const std::string where = "/results/" + std::to_string(i);
        if (result.is_object() && result.contains("refused")) {
            continue;  // what fails its check is never timed
        }
        const std::map<std::string, std::string> labels = {
            {"op", rows.text(result, "op", where)},
            {"variant", rows.text(result, "variant", where)},
            {"shape", rows.text(result, "shape", where)}};
        rows.add({"op_ns", "ns", Direction::lower_is_better,
                  rows.number(result, "latency_ns_median", where), 0, labels},
                 where);
        rows.add({"gb_per_s", "GB/s", Direction::higher_is_better,
                  rows.number(result, "gb_per_s", where), 0, labels},
                 where);
    }
    return std::move(rows).finish();
}

}  // namespace steady
