// The documents that the page draws: what a reader needs of a record, without the raw samples
// (those are in /x/<id>/record.json). Numbers are copied from the stored analysis; pair values are
// medians for display.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "dashboard/server/source.h"
#include "runner/record/stacks.h"

namespace steady::web {

nlohmann::json optional_json(const std::optional<double>& value);  // a number or null
nlohmann::json bounds_json(const Interval& interval);              // [low|null, high|null]
nlohmann::json list_row_json(const page::ListRow& row);
nlohmann::json queue_row_json(const page::QueueRow& row);
nlohmann::json host_json(const page::HostDetail& row);
nlohmann::json journal_row_json(const page::ListRow& row);
// The entry's address: <day of the verdict>-<id>.
std::string slug_of(const std::string& decided_at, const std::string& id);

nlohmann::json analysis_json(const Record& record);
nlohmann::json experiment_json(const Record& record);
bool shows_pairs(const Record& record);  // experiment_json reads its pairs
nlohmann::json pairs_json(const Record& record);
nlohmann::json flame_json(const std::string& id, const StackProfile& profile);

// Rows {path, a, b}: where the arms differ as they were asked, and as they really ran.
nlohmann::json arms_difference(const Record& record);

// Rows {key, a, b} of two fingerprints; only keys that differ.
nlohmann::json fingerprint_difference(const Fingerprint& a, const Fingerprint& b);

}  // namespace steady::web
