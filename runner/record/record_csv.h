// Records as tables for other programs, RFC 4180: a header, one row per number or per record.
#pragma once

#include <string>
#include <vector>

#include "runner/record/record.h"

namespace steady {

// A field, quoted where it must be; a text that a spreadsheet would take for a formula begins with
// an apostrophe.
std::string csv_field(const std::string& text);
std::string csv_number(double value);  // shortest text that reads back as the same bits

// experiment,gate,kind,pair,try,discarded,arm,metric,repetition,value
std::string samples_csv(const std::vector<Record>& records);
// experiment,question,owner,claim,metric,verdict,reason,effect,low,high,pairs,discarded,seconds,
// host,cpu,decided_at
std::string verdicts_csv(const std::vector<Record>& records);

}  // namespace steady
