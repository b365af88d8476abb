// The first two steps of the judge, without statistics: did exactly what the file declares run, and
// are B's outputs correct.
#pragma once

#include <optional>
#include <string>

#include "runner/judge/analysis.h"
#include "runner/judge/program_report.h"
#include "runner/spec/spec.h"

namespace steady {

struct Objection {
    std::string reason;  // applied_evidence_missing, undeclared_difference, build_failed
    std::string detail;  // one sentence
};

// Compares the file's arms, expect_diff and what the program says it runs.
std::optional<Objection> check_provenance(const Spec& spec, const ProgramReport& applied);

// Difference of the arms as written in the file; needs no program.
std::optional<Objection> check_declared(const Spec& spec);

// The file's own proofs ("applied") that did not hold.
std::optional<Objection> check_proofs(const OutputsReport& outputs);

// One result per correctness gate. outputs and failure: as in JudgeInput.
std::vector<GateResult> check_correctness(const Spec& spec, const OutputsReport* outputs,
                                          const std::string& failure);

}  // namespace steady
