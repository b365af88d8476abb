// What entry, report and figures read out of a record: pairs of the deciding measurement as rows,
// the arms' difference with its values, texts of numbers. Not for other folders.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runner/judge/machine_state.h"
#include "runner/judge/placement.h"
#include "runner/record/record.h"

namespace steady {

struct PairRow {
    const Pair* pair = nullptr;
    std::optional<double> a, b;  // the arms' values in the metric's unit
    std::optional<double> d;     // log ratio, + is better
    std::string discarded;       // empty: counted
    std::string order;           // "A first" or, in a duet, "A first in 11 of 20"
    bool a_first = true;         // in at least half of the blocks
};

// Measured pairs of the gate that decides (or of the first gate with pairs), in order.
std::vector<PairRow> pair_rows(const Record& record);
std::string pairs_metric(const Record& record);

// While it lives, this thread works out the rows of this record once: several sections of an entry
// ask for them, and they take most of the time. The record must not change meanwhile.
class SharedRows {
public:
    explicit SharedRows(const Record& record);
    ~SharedRows();
    SharedRows(const SharedRows&) = delete;
    SharedRows& operator=(const SharedRows&) = delete;
    static const std::vector<PairRow>* of(const Record& record);  // null: nobody shares them

private:
    const Record& record_;
    const std::vector<PairRow> rows_;
    const SharedRows* const before_;
};

// Whether the effect depends on the machine's speed, for metrics of speed; nothing for others and
// for few pairs.
std::optional<MachineState> machine_state_of(const Record& record,
                                             const std::vector<PairRow>& rows);
// Of each counted pair: ln of the geometric mean of both arms' times; empty where a metric is no
// speed.
std::vector<double> pair_slowness(const Record& record, const std::vector<PairRow>& rows);

// How the effect differs between placements of the weights, of the counted pairs; nothing where
// records hold no placement.
std::optional<PlacementSpread> placement_spread_of(const Record& record,
                                                   const std::vector<PairRow>& rows);
// Seconds that moving the weights took, in all.
double placement_seconds(const Record& record);

// What outcome_sentence() says, and whether the effect depends on machine state or on
// placement. rows: those of pair_rows(), which take most of the time.
std::string outcome_sentence(const Record& record, const std::vector<PairRow>& rows);
std::string outcome_sentence(const Record& record);

// One metric of the shown measurement over its counted pairs.
struct MetricRow {
    std::string metric;
    double a = 0, b = 0;  // medians of the arms
    std::optional<double> effect;
    Interval interval;
    int pairs = 0;
};
// Of an outside program: every metric that was stored, by name.
std::vector<MetricRow> metric_rows(const Record& record);

// "model", and for outside programs, which have no model, "whole" and "part".
const char* level_words(const Spec& spec, Level level);

// What the weights were that a run read: "random" and "realistic" are made (engine/synth), "of the
// model file" is a file of the user's. Nothing before it ran, or for a program that has none.
std::string weights_words(const Record& record);

struct Difference {
    std::string path, a, b;
};
// Every path of arms_difference with both arms' values; "default" where an arm says nothing,
// "unset" for a variable of the environment.
std::vector<Difference> differences(const Spec& spec);

// "+3.1 % [+2.6, +3.6]" with an arrow in front; "—" without a number.
std::string effect_words(const std::optional<double>& effect, const Interval& interval);

// "3m 12s", "2.9 s".
std::string seconds_words(double seconds);

// "decode_tps" value with its unit: "26.7 tok/s", "37.4 ms", "2.31 GB".
std::string value_words(const std::string& metric, double value);

// "Predicted +2 % to +5 % in decode_tps; measured +3.1 %: inside." Empty without a prediction.
std::string prediction_words(const Record& record);

// What the verdict allows to conclude and what it leaves open, as sentences.
std::vector<std::string> conclusions(const Record& record);

}  // namespace steady
