// Adapters for this project's own programs.
#include <string>

#include "runner/adapters/parse.h"

namespace steady::adapters_detail {
namespace {

void add_series(Rows& rows, const Json& document, const char* key, const std::string& metric,
                const std::map<std::string, std::string>& labels) {
    const AdapterRow row{.metric = metric, .labels = labels};
    rows.add_all(row, rows.numbers(document, key, ""), std::string("/") + key);
}

std::vector<AdapterRow> read_steady_engine(const AdapterInput& input) {
    Rows rows("steady-engine");
    const Json document = rows.parse(input.text);
    const bool blocks = document.is_object() && document.contains("block");
    if (blocks) {  // bench block: one layer, and its feed-forward alone
        add_series(rows, document.at("block"), "token_ns", "block_ns", {});
        add_series(rows, rows.at(document, "ffn", ""), "token_ns", "ffn_ns", {});
        return std::move(rows).finish();
    }
    add_series(rows, document, "token_ns", "token_ns", {});
    for (const auto& [key, metric] :
         {std::pair("tokens_per_s", "decode_tps"), std::pair("weight_gb_per_s", "weight_gb_per_s"),
          std::pair("peak_rss_bytes", "rss_bytes"),
          std::pair("launches_per_token", "launches_per_token")}) {
        if (document.is_object() && document.contains(key)) {
            rows.add({.metric = metric, .value = rows.number(document, key, "")},
                     std::string("/") + key);
        }
    }
    return std::move(rows).finish();
}

std::vector<AdapterRow> read_duet(Rows&& rows, const Json& document) {
    for (const auto& [arm, name] : {std::pair("a", "a_ns"), std::pair("b", "b_ns")}) {
        add_series(rows, document, name, "op_ns",
                   {{"op", rows.text(document, "op", "")},
                    {"variant", rows.text(document, arm, "")},
                    {"shape", rows.text(document, "shape", "")},
                    {"arm", arm == std::string("a") ? "A" : "B"}});
    }
    return std::move(rows).finish();
}

std::vector<AdapterRow> read_steady_kernels(const AdapterInput& input) {
    Rows rows("steady-kernels");
    const Json document = rows.parse(input.text);
    if (document.is_object() && document.contains("a_ns")) {  // two variants, alternating
        return read_duet(std::move(rows), document);
    }
    const Json& results = rows.list(document, "results", "");
    for (std::size_t i = 0; i < results.size(); ++i) {
        const Json& result = results[i];
        const std::string where = "/results/" + std::to_string(i);
        if (result.is_object() && result.contains("refused")) {
            continue;  // what fails its check is never timed
        }
        AdapterRow row{.labels = {{"op", rows.text(result, "op", where)},
                                  {"variant", rows.text(result, "variant", where)},
                                  {"shape", rows.text(result, "shape", where)}}};
        for (const auto& [key, metric] :
             {std::pair("latency_ns_median", "op_ns"), std::pair("gb_per_s", "gb_per_s")}) {
            row.metric = metric;
            row.value = rows.number(result, key, where);
            rows.add(row, where);
        }
    }
    return std::move(rows).finish();
}

}  // namespace

Adapter steady_engine() {
    return {.name = "steady-engine",
            .reads = "steady-engine bench model|block --json",
            .parse = read_steady_engine};
}

Adapter steady_kernels() {
    return {.name = "steady-kernels",
            .reads = "steady-kernels bench|duet --json",
            .parse = read_steady_kernels};
}

}  // namespace steady::adapters_detail
