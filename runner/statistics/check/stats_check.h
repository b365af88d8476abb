// Runs the statistics against a file of test vectors ("stat-vectors v1"), so that anybody with
// another implementation can compare the two number by number. A vector that cannot be run is a
// failed vector, never a crash.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace steady {

struct CheckResult {
    std::string id;
    bool pass = false;
    std::string message;  // what differed, or why it could not run; empty when passed
};

// vectors: the whole document. Throws Error (exit 2) when it has no array "vectors".
std::vector<CheckResult> stats_check(const nlohmann::json& vectors);

// "N passed, M failed" and one line per failure.
std::string stats_check_text(const std::vector<CheckResult>& results);
nlohmann::json stats_check_json(const std::vector<CheckResult>& results);

// One vector: {id, method, input, expect, abs_tol}.
CheckResult check_vector(const nlohmann::json& vector);

// A method reads `input` and may look at the keys (never the values) of `expect` to see which
// results are asked for; it returns at least those.
using Method =
    std::function<nlohmann::json(const nlohmann::json& input, const nlohmann::json& expect)>;
const std::map<std::string, Method>& stats_methods();

// Empty when `got` holds everything in `expect` within abs_tol, else the first difference, with
// its JSON Pointer. The keys truth and otava_for_information are comments.
std::string first_difference(const nlohmann::json& expect, const nlohmann::json& got,
                             double abs_tol, const std::string& where = "");

}  // namespace steady
