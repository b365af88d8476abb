// Records as JSON: what storage keeps, export archives, `show --json` and the dashboard print. Each
// type's fields stand once in record_json.cpp and serve both directions, so what is written can be
// read back exactly. Reading is strict: a missing, unknown or wrongly typed key is an Error that
// names it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "runner/record/record.h"

namespace steady {

constexpr const char* kRecordFormat = "steady record v1";

// Found by nlohmann-json: `nlohmann::json(pair)`, `json.get<Pair>()`.
void to_json(nlohmann::json& out, const Pair& value);
void from_json(const nlohmann::json& in, Pair& value);
void to_json(nlohmann::json& out, const ProgramReport& value);
void from_json(const nlohmann::json& in, ProgramReport& value);
void to_json(nlohmann::json& out, const OutputsReport& value);
void from_json(const nlohmann::json& in, OutputsReport& value);
void to_json(nlohmann::json& out, const Analysis& value);
void from_json(const nlohmann::json& in, Analysis& value);
void to_json(nlohmann::json& out, const Prior& value);
void from_json(const nlohmann::json& in, Prior& value);
void to_json(nlohmann::json& out, const SweepReport& value);
void from_json(const nlohmann::json& in, SweepReport& value);
void to_json(nlohmann::json& out, const Evidence& value);
void from_json(const nlohmann::json& in, Evidence& value);
void to_json(nlohmann::json& out, const Attempt& value);
void from_json(const nlohmann::json& in, Attempt& value);
// The spec travels as its canonical object and is decoded again when read.
void to_json(nlohmann::json& out, const Record& value);
void from_json(const nlohmann::json& in, Record& value);

// The same as text, without nlohmann in the caller: complete record, one document.
std::string record_text(const Record& record);
Record record_from_text(const std::string& text);

// What `run --json` and `show --json` print: id, state, verdict, reason, sentence, metric, effect
// (fraction, + is faster), interval [low, high] (null = unbounded), pairs, discarded, seconds,
// prediction, gates, checks, aa_band, sigma_d, journal (path), repeat (command) and where it came
// from. Before a verdict, verdict and effect are null and the gates' outcome is "pending".
nlohmann::json show_json(const Record& record);

// What a sweep tried, as people's programs read it: intervals as [low, high].
nlohmann::json sweep_json(const SweepReport& report);

// Clocks of the GPU as people's programs read them, the reasons in words; null for none.
nlohmann::json clocks_json(const std::optional<ClockReport>& clocks);

// "[low, high]" with null for what is unbounded.
nlohmann::json interval_json(const Interval& interval);

}  // namespace steady
