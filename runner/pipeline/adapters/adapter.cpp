// The table of adapters and the checks that all of them make.
#include "runner/pipeline/adapters/adapter.h"

#include <fmt/format.h>

#include <cmath>

#include "engine/protocol/error.h"
#include "runner/pipeline/adapters/parse.h"
#include "runner/pipeline/text.h"

namespace steady {

const std::vector<Adapter>& adapters() {
    static const std::vector<Adapter> all = {
        {"llama-bench", "llama-bench -o json or -o jsonl", read_llama_bench},
        {"google-benchmark", "--benchmark_format=json", read_google_benchmark},
        {"hyperfine", "hyperfine --export-json", read_hyperfine},
        {"steady-engine", "steady-engine bench model|block --json", read_steady_engine},
        {"steady-kernels", "steady-kernels bench|duet --json", read_steady_kernels},
    };
    return all;
}

const Adapter* find_adapter(std::string_view name) {
    for (const Adapter& adapter : adapters()) {
        if (name == adapter.name) {
            return &adapter;
        }
    }
    return nullptr;
}

namespace adapters_detail {

void Rows::refuse(const std::string& where, const std::string& problem) const {
    throw Error{fmt::format("{} output{}{}: {}", adapter_, where.empty() ? "" : " at ",
                            escape_line(where), problem)};
}

Json Rows::parse(std::string_view text) const {
    Json document = Json::parse(text.begin(), text.end(), nullptr, false);
    if (document.is_discarded()) {
        refuse("", "it is not JSON; give the program's machine format");
    }
    return document;
}

const Json& Rows::at(const Json& object, const char* key, const std::string& where) const {
    if (!object.is_object() || !object.contains(key)) {
        refuse(where, fmt::format("no \"{}\"", key));
    }
    return object.at(key);
}

const Json& Rows::list(const Json& object, const char* key, const std::string& where) const {
    const Json& value = at(object, key, where);
    if (!value.is_array()) {
        refuse(where + "/" + key, "not a list");
    }
    return value;
}

int Rows::count(const Json& object, const char* key, const std::string& where) const {
    if (!object.is_object() || !object.contains(key)) {
        return 0;
    }
    constexpr double kMost = 1e6;
    const double value = number(object, key, where);
    if (!(value >= 0 && value <= kMost) || value != std::floor(value)) {
        refuse(where + "/" + key, "allowed: a whole number from 0 to 1000000");
    }
    return static_cast<int>(value);
}

double Rows::number(const Json& object, const char* key, const std::string& where) const {
    const Json& value = at(object, key, where);
    if (!value.is_number()) {
        refuse(where + "/" + key,
               "found " + escape_line(shorten(value.dump(), 40)) + ", allowed: a number");
    }
    return value.get<double>();
}

std::string Rows::text(const Json& object, const char* key, const std::string& where) const {
    const Json& value = at(object, key, where);
    if (!value.is_string()) {
        refuse(where + "/" + key,
               "found " + escape_line(shorten(value.dump(), 40)) + ", allowed: text");
    }
    return value.get<std::string>();
}

std::vector<double> Rows::numbers(const Json& object, const char* key,
                                  const std::string& where) const {
    std::vector<double> out;
    if (!object.is_object() || !object.contains(key)) {
        return out;
    }
    if (!object.at(key).is_array()) {
        refuse(where + "/" + key, "not a list");
    }
    for (const Json& value : object.at(key)) {
        if (!value.is_number()) {
            refuse(where + "/" + key, "a value that is no number");
        }
        out.push_back(value.get<double>());
    }
    return out;
}

void Rows::add(AdapterRow row, const std::string& where) {
    if (!std::isfinite(row.value) || !(row.value > 0)) {
        refuse(where, fmt::format("{} is {}, allowed: positive and finite", row.metric, row.value));
    }
    rows_.push_back(std::move(row));
}

std::vector<AdapterRow> Rows::finish() && {
    if (rows_.empty()) {
        refuse("", "nothing was measured");
    }
    return std::move(rows_);
}

}  // namespace adapters_detail
}  // namespace steady
