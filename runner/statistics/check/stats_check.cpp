// Comparison and report of test vectors; the methods themselves are bound to JSON in
// stats_check_methods.cpp and stats_check_series.cpp.
#include "runner/statistics/check/stats_check.h"

#include <fmt/core.h>

#include <cmath>

#include "kernels/base/error.h"

namespace steady {

using nlohmann::json;

namespace {

std::string difference(const std::string& where, const json& expect, const json& got) {
    return fmt::format("{}: expected {}, got {}", where.empty() ? "/" : where, expect.dump(),
                       got.dump());
}

bool numbers_agree(const json& expect, const json& got, double abs_tol) {
    const double a = expect.get<double>(), b = got.get<double>();
    return a == b || std::abs(a - b) <= abs_tol;
}

// null and "not a number" both mean "not defined".
bool is_undefined(const json& value) {
    return value.is_null() || (value.is_number_float() && !std::isfinite(value.get<double>()));
}

}  // namespace

std::string first_difference(const json& expect, const json& got, double abs_tol,
                             const std::string& where) {
    if (is_undefined(expect) || is_undefined(got))
        return is_undefined(expect) == is_undefined(got) ? "" : difference(where, expect, got);
    if (expect.is_object() && got.is_object()) {
        for (const auto& [key, value] : expect.items()) {
            if (key == "truth" || key == "otava_for_information") continue;
            if (!got.contains(key)) return fmt::format("{}/{}: not computed", where, key);
            const std::string inner =
                first_difference(value, got[key], abs_tol, fmt::format("{}/{}", where, key));
            if (!inner.empty()) return inner;
        }
        return "";
    }
    if (expect.is_array() && got.is_array()) {
        if (expect.size() != got.size()) return difference(where, expect, got);
        for (std::size_t i = 0; i < expect.size(); ++i) {
            const std::string inner =
                first_difference(expect[i], got[i], abs_tol, fmt::format("{}/{}", where, i));
            if (!inner.empty()) return inner;
        }
        return "";
    }
    const bool same =
        expect.is_number() && got.is_number() ? numbers_agree(expect, got, abs_tol) : expect == got;
    return same ? "" : difference(where, expect, got);
}

CheckResult check_vector(const json& vector) {
    CheckResult result;
    try {
        result.id = vector.at("id").get<std::string>();
        const auto method = vector.at("method").get<std::string>();
        const auto& methods = stats_methods();
        const auto found = methods.find(method);
        if (found == methods.end()) {
            result.message = fmt::format("unknown method {:?}", method);
            return result;
        }
        const json& expect = vector.at("expect");
        const json got = found->second(vector.at("input"), expect);
        result.message = first_difference(expect, got, vector.value("abs_tol", 0.0));
        result.pass = result.message.empty();
    } catch (const std::exception& error) {
        result.message = error.what();
    }
    return result;
}

std::vector<CheckResult> stats_check(const json& vectors) {
    if (!vectors.is_object() || !vectors.contains("vectors") || !vectors["vectors"].is_array())
        throw Error(
            "stats check: the file is not a list of test vectors; expected an object "
            "{\"format\": \"stat-vectors v1\", \"vectors\": [...]}");
    std::vector<CheckResult> results;
    std::size_t index = 0;
    for (const json& vector : vectors["vectors"]) {
        results.push_back(check_vector(vector));
        if (results.back().id.empty()) results.back().id = fmt::format("vectors/{}", index);
        ++index;
    }
    return results;
}

std::string stats_check_text(const std::vector<CheckResult>& results) {
    std::size_t n_passed = 0;
    std::string failures;
    for (const CheckResult& result : results) {
        n_passed += result.pass;
        if (!result.pass) failures += fmt::format("FAILED {}: {}\n", result.id, result.message);
    }
    return fmt::format("{}{} passed, {} failed\n", failures, n_passed, results.size() - n_passed);
}

json stats_check_json(const std::vector<CheckResult>& results) {
    json list = json::array();
    std::size_t n_passed = 0;
    for (const CheckResult& result : results) {
        n_passed += result.pass;
        list.push_back({{"id", result.id}, {"pass", result.pass}, {"message", result.message}});
    }
    return {{"passed", n_passed}, {"failed", results.size() - n_passed}, {"vectors", list}};
}

}  // namespace steady
