// Shared by the two files that bind the statistics to JSON.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runner/statistics/check/stats_check.h"
#include "runner/statistics/evidence.h"

namespace steady {

// An array of numbers; a null in it is NaN. Throws when the key is missing or of another type.
inline std::vector<double> numbers(const nlohmann::json& input, const char* key) {
    std::vector<double> values;
    for (const nlohmann::json& value : input.at(key))
        values.push_back(value.is_null() ? kUndefined : value.get<double>());
    return values;
}

// NaN and infinities have no JSON form: null.
inline nlohmann::json number(double value) {
    return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr);
}

template <typename T>
nlohmann::json optional_json(const std::optional<T>& value) {
    return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

inline nlohmann::json numbers_json(const std::vector<double>& values) {
    nlohmann::json list = nlohmann::json::array();
    for (double value : values) list.push_back(number(value));
    return list;
}

Betting betting_from(const nlohmann::json& input);

// Registered by the two files.
void add_test_methods(std::map<std::string, Method>& methods);
void add_series_methods(std::map<std::string, Method>& methods);
void add_planning_methods(std::map<std::string, Method>& methods);

}  // namespace steady
