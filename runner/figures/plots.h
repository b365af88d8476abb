// The figures of an experiment, from plain data to panels. The same picture stands in the journal
// and on the page: intervals of the gates, values of the pairs, evidence over the pairs, time per
// op; and of the history, the series of regression tracking.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runner/figures/svg.h"

namespace steady::figures {

struct Bounds {
    std::optional<double> low, high;  // fractions, + is better; absent = unbounded
};

struct IntervalRow {
    std::string label, detail;     // "decode", "model · decides"
    std::string outcome;           // pass, fail, open, advice, skipped, pending
    std::optional<double> effect;  // fraction
    Bounds interval;
    int pairs = 0;
    std::optional<double> limit;  // fraction that must be exceeded: worth, or −margin
    std::optional<double> predicted_low, predicted_high;
    bool sets_scale = true;  // rows far outside must not squeeze the others
};

struct IntervalPlot {
    std::vector<IntervalRow> rows;
    Bounds aa_band;  // of the baseline against itself; absent: not drawn
};
Panel interval_plot(const IntervalPlot& plot);

struct PairPoint {
    double value = 0;     // fraction, + is better
    bool a_first = true;  // A began more of the blocks
    bool discarded = false;
};

struct PairPlot {
    std::vector<PairPoint> points;  // in order of measurement
    std::vector<Bounds> narrowing;  // after each pair that was not discarded
    std::optional<double> worth;
    std::string metric;
};
Panel pair_plot(const PairPlot& plot);

struct EvidencePlot {
    std::vector<double> log_e;  // natural log, after each valid pair
    // Where each value stands among all measured pairs, so that both plots share their axis; empty:
    // one after the other.
    std::vector<std::size_t> slots;
    std::size_t n_slots = 0;
    double threshold = 0;  // natural log: accept from here on
    std::string question;  // what the evidence is against
    // Where not this line decided: what did, and after which pair (counted as log_e).
    std::string decided;
    std::optional<std::size_t> decided_at;
};
Panel evidence_plot(const EvidencePlot& plot);

struct StatePoint {
    double speed = 0;   // of both arms together, a fraction beside the median pair
    double effect = 0;  // fraction, + is better
};

struct StatePlot {
    std::vector<StatePoint> points;
};
Panel state_plot(const StatePlot& plot);

struct DistributionPlot {
    std::vector<double> a, b;  // one value per pair that counts, in the metric's unit
    std::string metric, unit;
};
Panel distribution_plot(const DistributionPlot& plot);

struct ProfileBar {
    std::string op;
    double a_ns = 0, b_ns = 0;                // per token
    std::optional<double> change, low, high;  // of the time, fractions; below zero is less
};

struct ProfilePlot {
    std::vector<ProfileBar> bars;  // any order; drawn by size
};
Panel profile_plot(const ProfilePlot& plot);

struct SeriesPoint {
    double value = 0, level = 0;  // multiples of the reference, above zero
    std::string label;            // short commit
};

struct SeriesChange {
    std::size_t index = 0;  // of the first point at the new level
    double shift = 0;       // log units, below zero is slower
};

struct SeriesPlot {
    std::string title;
    double noise = 0;  // of one point, log units
    std::vector<SeriesPoint> points;
    std::vector<SeriesChange> changes;
};
Panel series_plot(const SeriesPlot& plot);

}  // namespace steady::figures
