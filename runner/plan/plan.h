// What would run: which measurements the gates need and share, how the arms differ, how many pairs,
// and the smallest effect that this host can detect with them. Pure, so that `plan`, `run` and the
// record show the same.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runner/plan/host_history.h"
#include "runner/spec/spec.h"

namespace steady {

// One series of pairs. Gates that need the same numbers share it; it is owned by the deciding gate
// if that is among them, otherwise by the first.
struct Measurement {
    int owner = 0;  // index in Spec::gates; Pair::gate of its pairs
    Level level = Level::model;
    std::string scope;       // model, block, ffn or micro
    std::string op;          // micro only
    std::vector<int> gates;  // indices, the owner among them, in file order
    int aa_pairs = 0, pairs_max = 0;
    int control_pairs = 0;  // A against the layout control B0; of the deciding measurement only
    bool advice_only = false;
};

struct Plan {
    std::vector<std::string> difference;    // dotted paths where the arms differ, sorted
    std::vector<std::string> undeclared;    // in difference, not covered by expect_diff
    std::vector<std::string> missing;       // in expect_diff, not different
    std::vector<Measurement> measurements;  // in the order in which they run
    int coins_per_pair = 1;
    double guard_beta_sum = 0;  // chance that some micro or block guard falsely stops a good B

    // What the host's A/A history allows for the deciding gate.
    std::size_t n_history = 0;      // A/A pairs known
    std::optional<double> sigma_d;  // log ratio
    std::optional<double> mde95;    // log effect
    bool refuse = false;            // mde95 > worth: the machine is too noisy
    double pairs_needed = 0;        // for an effect of the size of worth
    std::string detectable;         // the above in one sentence
    std::string attempts;           // what earlier attempts mean for this one
};

// earlier_attempts: runs of the same question (baseline, candidate, machine, metric) before.
Plan make_plan(const Spec& spec, const HostHistory& history, int earlier_attempts = 0);

// True when `declared` names `path` or a parent of it ("kernels", "kernels.*").
bool path_covers(const std::string& declared, const std::string& path);

std::vector<Measurement> plan_measurements(const Spec& spec);
// Blocks of a duet's pair, one coin each; process pairs have one.
int coins_per_pair(const Spec& spec);
const Measurement* measurement_of(const std::vector<Measurement>& all, int gate);

// The spread of A/A pair values, log ratio; absent below five values.
std::optional<double> aa_sigma(const std::vector<double>& aa_pairs);

// True when n A/A pairs with spread sigma_d say that `worth` cannot be seen in n_max pairs. Below
// 20 A/A pairs the spread itself is uncertain, so it must be twice too large.
bool too_noisy(double sigma_d, std::size_t n_history, double worth, int n_max);

}  // namespace steady
