// Conversions between rows and the pipeline's structs. Numbers travel as shortest round-trip text,
// so a stored double is the same bits when it comes back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runner/plan/sample.h"
#include "runner/storage/pqxx.h"
#include "runner/storage/store.h"

namespace steady::rows {

// PostgreSQL array literals.
std::string array_of(const std::vector<std::string>& values);
std::string array_of(const std::vector<double>& values);
std::string array_of(const std::vector<int>& values);

std::vector<std::string> texts(const pqxx::field& field);
// One array literal of numbers, taken off the front of "{1,2}{3}"; empty at the end.
std::vector<double> take_numbers(std::string_view& literals);

std::string text(const pqxx::field& field);  // "" for null

const char* kind_name(PairKind kind);
PairKind kind_from(const std::string& name);

// One experiment_row with the analysis' headline numbers.
ExperimentRow experiment(const pqxx::row& row);

}  // namespace steady::rows
