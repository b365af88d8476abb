// Records as tables for other programs: one row per number, or per record.
#pragma once

#include <vector>

#include "runner/record/record.h"
#include "runner/record/table.h"

namespace steady {

// experiment, gate, kind, pair, try, discarded, arm, metric, repetition, value
Table samples_table(const std::vector<Record>& records);
// experiment, question, owner, claim, metric, verdict, reason, effect, low, high, pairs, discarded,
// seconds, host, cpu, decided_at
Table verdicts_table(const std::vector<Record>& records);

}  // namespace steady
