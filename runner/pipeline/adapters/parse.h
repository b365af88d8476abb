// What the adapters share: strict access to a parsed document with errors that name the adapter and
// the field. Not for other folders.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "runner/pipeline/adapters/adapter.h"

namespace steady::adapters_detail {

using Json = nlohmann::json;

// Collects the rows of one output and refuses what no analysis may see.
class Rows {
public:
    explicit Rows(std::string adapter) : adapter_(std::move(adapter)) {}

    [[noreturn]] void refuse(const std::string& where, const std::string& problem) const;

    Json parse(std::string_view text) const;
    const Json& at(const Json& object, const char* key, const std::string& where) const;
    const Json& list(const Json& object, const char* key, const std::string& where) const;
    // A whole number from 0 to a million; 0 when absent.
    int count(const Json& object, const char* key, const std::string& where) const;
    double number(const Json& object, const char* key, const std::string& where) const;
    std::string text(const Json& object, const char* key, const std::string& where) const;
    // Absent: empty.
    std::vector<double> numbers(const Json& object, const char* key,
                                const std::string& where) const;

    void add(AdapterRow row, const std::string& where);
    // Refuses an output without rows: "measured nothing" is never a result.
    std::vector<AdapterRow> finish() &&;

private:
    std::string adapter_;
    std::vector<AdapterRow> rows_;
};

}  // namespace steady::adapters_detail
