// llama-bench, -o json (one list) or -o jsonl (one object per line). A test that only generates
// gives decode_tps, one that only reads a prompt gives prefill_tps; both together are kept apart.
#include <algorithm>
#include <string>

#include "runner/pipeline/adapters/parse.h"

namespace steady {
namespace {

using adapters_detail::Json;
using adapters_detail::Rows;

std::vector<Json> tests_of(const Rows& rows, std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first != std::string_view::npos && text[first] == '[') {
        const Json document = rows.parse(text);
        return {document.begin(), document.end()};
    }
    std::vector<Json> out;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.find_first_not_of(" \t\r") != std::string_view::npos) {
            out.push_back(rows.parse(line));
        }
    }
    return out;
}

}  // namespace

std::vector<AdapterRow> read_llama_bench(std::string_view text) {
    Rows rows("llama-bench");
    const std::vector<Json> tests = tests_of(rows, text);
    for (std::size_t i = 0; i < tests.size(); ++i) {
        const Json& test = tests[i];
        const std::string where = "/" + std::to_string(i);
        rows.at(test, "n_gen", where);
        const int n_prompt = rows.count(test, "n_prompt", where);
        const int n_gen = rows.count(test, "n_gen", where);
        const char* const metric = n_prompt == 0 ? "decode_tps"
                                   : n_gen == 0  ? "prefill_tps"
                                                 : "prompt_and_decode_tps";
        const std::map<std::string, std::string> labels = {
            {"n_prompt", std::to_string(n_prompt)},
            {"n_gen", std::to_string(n_gen)},
            {"n_depth", std::to_string(rows.count(test, "n_depth", where))}};
        std::vector<double> rates = rows.numbers(test, "samples_ts", where);
        if (rates.empty()) {
            for (const double ns : rows.numbers(test, "samples_ns", where)) {
                rates.push_back(ns > 0 ? 1e9 * (n_prompt + n_gen) / ns : 0);
            }
        }
        if (rates.empty()) {
            rates = {rows.number(test, "avg_ts", where)};
        }
        for (std::size_t rep = 0; rep < rates.size(); ++rep) {
            rows.add({metric, "tok/s", Direction::higher_is_better, rates[rep],
                      static_cast<int>(rep), labels},
                     where);
        }
    }
    return std::move(rows).finish();
}

}  // namespace steady
