// libpqxx 6.4 parses arrays but does not write them; the literals made here are PostgreSQL's own
// text form, every text element quoted.
#include "runner/storage/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

namespace steady::rows {
namespace {

struct KindName {
    PairKind kind;
    const char* text;
};
constexpr std::array<KindName, 4> kKinds{{{PairKind::measure, "measure"},
                                          {PairKind::aa, "aa"},
                                          {PairKind::control, "control"},
                                          {PairKind::warmup, "warmup"}}};

template <typename Value>
std::string joined(const std::vector<Value>& values) {
    return fmt::format("{{{}}}", fmt::join(values, ","));
}

std::optional<double> number_at(const nlohmann::json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_number()) return std::nullopt;
    return found->get<double>();
}

}  // namespace

std::string array_of(const std::vector<std::string>& values) {
    std::string out = "{";
    for (const auto& value : values) {
        if (out.size() > 1) out += ',';
        out += '"';
        for (const char c : value) {
            if (c == '"' || c == '\\') out += '\\';
            out += c;
        }
        out += '"';
    }
    return out + "}";
}

std::string array_of(const std::vector<double>& values) { return joined(values); }
std::string array_of(const std::vector<int>& values) { return joined(values); }

std::vector<std::string> texts(const pqxx::field& field) {
    std::vector<std::string> values;
    if (field.is_null()) return values;
    using Item = pqxx::array_parser::juncture;
    auto parser = field.as_array();
    for (auto item = parser.get_next(); item.first != Item::done; item = parser.get_next()) {
        if (item.first == Item::string_value) values.push_back(item.second);
    }
    return values;
}

std::vector<double> take_numbers(std::string_view& literals) {
    std::vector<double> values;
    const char* at = literals.data();
    const char* const end = at + literals.size();
    while (at < end && *at != '}') {
        ++at;  // '{' or ','
        double value = 0;
        const auto [after, error] = std::from_chars(at, end, value);
        if (error != std::errc{}) break;
        values.push_back(value);
        at = after;
    }
    const char* const close = std::find(at, end, '}');
    literals.remove_prefix(static_cast<std::size_t>(std::min(close + 1, end) - literals.data()));
    return values;
}

std::string text(const pqxx::field& field) { return field.is_null() ? "" : field.c_str(); }

const char* kind_name(PairKind kind) {
    for (const auto& entry : kKinds) {
        if (entry.kind == kind) return entry.text;
    }
    return "measure";
}

PairKind kind_from(const std::string& name) {
    for (const auto& entry : kKinds) {
        if (name == entry.text) return entry.kind;
    }
    throw Error{"unknown kind of pair: " + name, kExitInternal};
}

ExperimentRow experiment(const pqxx::row& row) {
    ExperimentRow out;
    out.id = text(row["name"]);
    out.spec_id = text(row["spec_id"]);
    out.owner = text(row["owner"]);
    out.claim = text(row["claim"]);
    out.model = text(row["model"]);
    out.state = text(row["state"]);
    out.note = text(row["note"]);
    out.host = text(row["host"]);
    out.verdict = text(row["outcome"]);
    out.reason = text(row["reason"]);
    out.submitted_at = text(row["sub"]);
    out.decided_at = text(row["dec"]);
    out.priority = row["priority"].as<int>();
    out.pairs = row["sealed"].as<int>();
    out.planned = row["planned"].as<int>();
    out.cursor = row["exp_id"].as<std::int64_t>();
    if (row["analysis"].is_null()) return out;
    const auto analysis = nlohmann::json::parse(row["analysis"].c_str(), nullptr, false);
    if (!analysis.is_object()) return out;
    out.effect = number_at(analysis, "effect");
    if (const auto found = analysis.find("metric"); found != analysis.end() && found->is_string()) {
        out.metric = found->get<std::string>();
    }
    if (const auto pairs = number_at(analysis, "pairs")) out.pairs = static_cast<int>(*pairs);
    const auto interval = analysis.find("interval");
    if (interval == analysis.end()) return out;
    if (interval->is_array() && interval->size() == 2) {
        if ((*interval)[0].is_number()) out.interval.low = (*interval)[0].get<double>();
        if ((*interval)[1].is_number()) out.interval.high = (*interval)[1].get<double>();
    } else if (interval->is_object()) {
        out.interval = {number_at(*interval, "low"), number_at(*interval, "high")};
    }
    return out;
}

}  // namespace steady::rows
