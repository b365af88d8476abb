// What a program under test says of itself, in terms that hold for every program: which settings
// really ran in each arm, whether the outputs are right, what proved a setting. Judge, record,
// entry and page know these; a program that has more to say keeps its own words beside them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/protocol/session.h"

namespace steady {

struct RanSetting {
    std::string value;
    bool used = true;           // the measured steps reach it
    bool used_at_first = true;  // the first step does (a prompt's pass)
    bool follows = false;       // the program chose it to fit another setting
};

struct ArmReport {
    std::map<std::string, RanSetting> settings;  // by dotted path, as expect_diff names them
    std::map<std::string, std::string> facts;    // commit, program_sha256, libraries_sha256 …
    std::string log;                             // the end of what its build printed
};

// How OutputsReport::baseline_failed begins when it is the layout control that failed, or neither
// arm.
inline constexpr char kControlFailed[] = "the layout control B0 does not do what A does: ";
inline constexpr char kNotTheArms[] = "no output was judged: ";

struct ProgramReport {
    ProgramReport() = default;
    // Not explicit: the engine's reply is one form of a report.
    ProgramReport(const protocol::OpenReply& reply);

    std::map<std::string, ArmReport> arms;
    // Why nothing can be measured: a reason of verdict invalid (build_failed), and what happened.
    std::string refused, detail;
    std::optional<protocol::OpenReply> engine;  // steady-engine's own words
};

// One thing that a correctness gate needs, looked at.
struct OutputCheck {
    std::string gate, need;
    bool held = false;
    std::string detail;
};

// One rule of the file's "applied", looked at.
struct Proof {
    std::string arm, rule, text;
    bool held = false;
    std::string detail;
};

struct OutputsReport {
    OutputsReport() = default;
    OutputsReport(const protocol::CorrectnessReply& reply);

    std::map<std::string, double> distances;  // what a gate's bounds are held against
    int positions = 0;                        // over so many places of the output
    bool unusable = false;                    // B's output holds NaN or infinity
    std::vector<OutputCheck> checks;
    std::vector<Proof> proofs;
    std::string baseline_failed;               // A itself gave no usable output
    std::map<std::string, std::string> units;  // of the metrics that a first run reported
    std::optional<protocol::CorrectnessReply> engine;
};

}  // namespace steady
