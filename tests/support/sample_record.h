// Complete records with invented but consistent numbers, for tests of everything that is made from
// a record: JSON, entry, report, figures, page.
#pragma once

#include <string>

#include "runner/record/record.h"

namespace steady {

// The spec of tests/data/specs/good/experts-fused-vnni.json, decided after 17 pairs: accept, +3.1
// %.
Record accepted_record();

// The same question with the sign turned: reject / regression, 10 pairs.
Record rejected_record();

// Stopped by the correctness gate: no pair was timed.
Record wrong_output_record();

// Running, three pairs sealed, no analysis.
Record running_record();

// accepted_record() whose every free text is hostile: Markdown, HTML, SVG, control characters,
// secrets. `canary` is the secret that must appear nowhere.
Record hostile_record(const std::string& canary);

}  // namespace steady
