// The first two steps of the ladder, which need no statistics: did what the file asked for really
// run, and nothing else; and are B's outputs right.
#pragma once

#include <optional>
#include <string>

#include "engine/protocol/session.h"
#include "runner/pipeline/analysis.h"
#include "runner/pipeline/spec.h"

namespace steady {

struct Objection {
    std::string reason;  // applied_evidence_missing, undeclared_difference, wrong_output
    std::string detail;  // one sentence
};

// What really runs, as dotted paths: kernels.OP, steps.STEP, threads, engine_flags.FLAG.
std::map<std::string, std::string> applied_settings(const protocol::AppliedArm& arm);

// Compares the file's arms, expect_diff and what the program says it runs.
std::optional<Objection> check_provenance(const Spec& spec, const protocol::OpenReply& applied);

// Difference of the arms as written in the file; needs no program.
std::optional<Objection> check_declared(const Spec& spec);

// One result per correctness gate. reply and failure: as in JudgeInput.
std::vector<GateResult> check_correctness(const Spec& spec, const protocol::CorrectnessReply* reply,
                                          const std::string& failure);

}  // namespace steady
