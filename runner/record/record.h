// The record of one experiment: everything that is stored about it. Entry, page, export and
// `decide` work from it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/protocol/session.h"
#include "runner/judge/analysis.h"
#include "runner/plan/sample.h"
#include "runner/record/runs.h"
#include "runner/spec/spec.h"

namespace steady {

// The machine and the software under test, as flat text: cpu_model, cpus, kernel, memory_bytes,
// governor, thp, engine_sha256, model_sha256, model_bytes, steady_revision, os …
using Fingerprint = std::map<std::string, std::string>;

struct Attempt {
    std::int64_t epoch = 0;
    std::string worker, host;
    Fingerprint fingerprint;
    std::string began, ended;  // ISO 8601, UTC
    std::string how;           // done, crashed, lease lost, cancelled …; empty while running
};

// One setting that a sweep tried with a few pairs. They chose; they decide nothing.
struct SweepPoint {
    std::map<std::string, std::string> values;  // axis → value
    std::string id;                             // its record; empty: it equals arm A
    std::string verdict, reason;                // inconclusive when it was measured
    std::optional<double> effect;               // fraction, + is better
    Interval interval;
    int pairs = 0;
};

// Where the arm B of a confirmation comes from.
struct SweepReport {
    std::string sweep;  // id of the file that asked
    std::string metric;
    std::vector<SweepPoint> points;  // in the order in which they were measured
    std::optional<std::map<std::string, std::string>> chosen;  // the best; absent: none was usable
};

// Evidence gathered beside the timed pairs; absent until measured.
struct Evidence {
    std::optional<Prior> prior;
    std::optional<ProgramReport> applied;
    std::optional<OutputsReport> correctness;
    std::string correctness_failure;  // compile, crash, oom, timeout: why there is no reply
    std::optional<protocol::ProfileReply> profile;  // steady-engine only
    std::optional<SweepReport> sweep;               // of a confirmation only
};

struct Record {
    std::string id;         // <spec id>-<8 hex of spec hash>[-<rerun>][-r<8 hex of run_id>]
    std::string run_id;     // 16 hex, the same in every database
    std::string published;  // the id that its entry and its archive carry: `id`, unless that was
                            // taken here by another run
    std::int64_t job = 0;
    int rerun = 0;
    std::string state;  // queued, running, done, failed, cancelled
    std::string note;   // crash text, cancel reason
    Spec spec;
    std::string spec_text;  // canonical JSON
    std::string question_sha;
    std::uint64_t seed = 0;
    std::vector<Pair> pairs;  // official ones, in order of measurement
    Evidence evidence;
    std::vector<Attempt> attempts;
    std::vector<std::string> earlier;  // attempts at the same question: all until the first pair is
                                       // measured, then those that count (Prior::attempts)
    std::vector<std::string> submitted_before;  // all attempts at the question, counting or not
    std::optional<Analysis> analysis;           // as stored with the verdict
    std::string submitted_at, decided_at;       // ISO 8601, UTC
    double seconds = 0;                         // wall time spent measuring
    std::string journal_path;                   // relative to the project root, empty until written
    bool checked = false;                       // a check of the verdict is stored
    bool sampled = false;                       // call stacks of both arms are stored
    std::vector<Run> runs;  // of its question, for the entry; empty: not asked for, or only this
};

}  // namespace steady
