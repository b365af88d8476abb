// What the adapters share: strict access to a parsed document with errors that name the adapter,
// the field and the text that did not fit. Not for other folders.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "runner/adapters/adapter.h"

namespace steady::adapters_detail {

using Json = nlohmann::json;

// Collects the rows of one output and refuses what no analysis may see.
class Rows {
public:
    explicit Rows(std::string adapter) : adapter_(std::move(adapter)) {}

    [[noreturn]] void refuse(const std::string& where, const std::string& problem) const;
    // The same with a line of the output.
    [[noreturn]] void refuse_line(std::string_view line, const std::string& problem) const;

    Json parse(std::string_view text) const;
    // As Python writes it: NaN and Infinity are read as null.
    Json parse_python(std::string_view text) const;
    const Json& at(const Json& object, const char* key, const std::string& where) const;
    const Json& list(const Json& object, const char* key, const std::string& where) const;
    // A whole number from 0 to a million; 0 when absent.
    int count(const Json& object, const char* key, const std::string& where) const;
    double number(const Json& object, const char* key, const std::string& where) const;
    std::string text(const Json& object, const char* key, const std::string& where) const;
    // True when the key is missing or null.
    bool is_absent(const Json& object, const char* key) const;
    // Absent: empty.
    std::vector<double> numbers(const Json& object, const char* key,
                                const std::string& where) const;
    // A whole text as a number.
    double number_in(std::string_view text, std::string_view line) const;

    // Refuses a unit that the metric's name contradicts: wall_seconds in ms.
    void check_unit(const AdapterRow& row, const std::string& where) const;
    // Fills an absent unit and direction from the metric's definition, then from the unit.
    void add(AdapterRow row, const std::string& where);
    // One row for each value.
    void add_all(const AdapterRow& row, const std::vector<double>& values,
                 const std::string& where);
    bool empty() const { return rows_.empty(); }
    // Refuses an output without rows: "measured nothing" is never a result.
    std::vector<AdapterRow> finish() &&;

private:
    std::string adapter_;
    std::vector<AdapterRow> rows_;
};

// The next line of text without its end, and text moved past it.
std::string_view next_line(std::string_view& text);
std::string_view trimmed(std::string_view text);

// argv with `options` placed after argv[0] … argv[place - 1]. Throws Error when an argument already
// begins with `taken`, the option that we must set.
std::vector<std::string> with_options(std::vector<std::string> argv, std::size_t place,
                                      const std::vector<std::string>& options,
                                      const std::string& taken);

}  // namespace steady::adapters_detail
