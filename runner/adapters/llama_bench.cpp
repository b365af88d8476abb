// llama-bench, -o json (one list) or -o jsonl (one object per line). A test that only generates
// gives decode_tps, one that only reads a prompt gives prefill_tps; both together are kept apart.
#include <algorithm>
#include <string>

#include "runner/adapters/parse.h"

namespace steady::adapters_detail {
namespace {

std::vector<Json> tests_of(const Rows& rows, std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first != std::string_view::npos && text[first] == '[') {
        const Json document = rows.parse(text);
        return {document.begin(), document.end()};
    }
    std::vector<Json> out;
    while (!text.empty()) {
        const std::string_view line = next_line(text);
        if (!trimmed(line).empty()) out.push_back(rows.parse(line));
    }
    return out;
}

const char* metric_of(int n_prompt, int n_gen) {
    if (n_prompt == 0) return "decode_tps";
    return n_gen == 0 ? "prefill_tps" : "prompt_and_decode_tps";
}

void add_test(Rows& rows, const Json& test, const std::string& where) {
    rows.at(test, "n_gen", where);
    const int n_prompt = rows.count(test, "n_prompt", where);
    const int n_gen = rows.count(test, "n_gen", where);
    const AdapterRow row{
        .metric = metric_of(n_prompt, n_gen),
        .labels = {{"n_prompt", std::to_string(n_prompt)},
                   {"n_gen", std::to_string(n_gen)},
                   {"n_depth", std::to_string(rows.count(test, "n_depth", where))}}};
    std::vector<double> rates = rows.numbers(test, "samples_ts", where);
    if (rates.empty()) {
        for (const double ns : rows.numbers(test, "samples_ns", where)) {
            rates.push_back(ns > 0 ? 1e9 * (n_prompt + n_gen) / ns : 0);
        }
    }
    if (rates.empty()) {
        rates = {rows.number(test, "avg_ts", where)};
    }
    rows.add_all(row, rates, where);
}

std::vector<AdapterRow> read_llama_bench(const AdapterInput& input) {
    Rows rows("llama-bench");
    const std::vector<Json> tests = tests_of(rows, input.text);
    for (std::size_t i = 0; i < tests.size(); ++i) {
        add_test(rows, tests[i], "/" + std::to_string(i));
    }
    return std::move(rows).finish();
}

std::vector<std::string> llama_bench_command(std::vector<std::string> argv, const std::string&) {
    const std::size_t end = argv.size();
    for (const std::string& argument : argv) {
        if (argument == "-o" || argument == "--output") return argv;  // json or jsonl, or refused
    }
    return with_options(std::move(argv), end, {"-o", "jsonl"}, "-o");
}

}  // namespace

Adapter llama_bench() {
    return {.name = "llama-bench",
            .reads = "llama.cpp's llama-bench",
            .parse = read_llama_bench,
            .command = llama_bench_command};
}

}  // namespace steady::adapters_detail
