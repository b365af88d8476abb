// Pairs as rows: what each arm took in the deciding metric, who went first, what was discarded. The
// steady part of each pair is the one that the analysis used.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "runner/base/metrics.h"
#include "runner/entry/entry_data.h"
#include "runner/judge/analysis_gates.h"
#include "runner/judge/analysis_pairs.h"
#include "runner/judge/outcome_text.h"
#include "runner/plan/plan.h"
#include "runner/spec/spec_command.h"
#include "runner/statistics/statistics_ranks.h"

namespace steady {
namespace {

// The measurement whose pairs are shown: the deciding gate's, else the last one that has any.
const Measurement* shown_measurement(const Record& record, const std::vector<Measurement>& all) {
    const auto has_pairs = [&](const Measurement& one) {
        return std::any_of(record.pairs.begin(), record.pairs.end(), [&](const Pair& pair) {
            return pair.gate == one.owner && pair.kind == PairKind::measure && pair.sealed;
        });
    };
    const Measurement* shown = nullptr;
    for (const Measurement& one : all) {
        const bool decides = std::any_of(one.gates.begin(), one.gates.end(), [&](int gate) {
            return record.spec.gates[static_cast<std::size_t>(gate)].role == Role::decides;
        });
        if (has_pairs(one)) {
            shown = &one;
            if (decides) {
                return shown;
            }
        }
    }
    return shown;
}

std::optional<double> middle_of(const std::map<std::string, std::vector<double>>& arm,
                                const std::string& metric, std::size_t start, const Gate* command) {
    const auto direct = arm.find(metric);
    const auto found = direct != arm.end() ? direct : arm.find(raw_metric(metric));
    if (found == arm.end() || found->second.empty()) {
        return std::nullopt;
    }
    if (command != nullptr) {
        return run_statistic(
            Values(found->second).subspan(std::min(start, found->second.size() - 1)),
            command->stat);
    }
    const Values steady = Values(found->second).subspan(std::min(start, found->second.size() - 1));
    const Metric meaning = find_metric(metric);
    const bool p90 = meaning.aggregation == Aggregation::p90;
    const double value = p90 && direct == arm.end() ? quantile(steady, 0.90) : median(steady);
    return meaning.rate_of_raw && direct == arm.end() ? 1e9 / value : value;
}

std::string order_words(const std::string& coins, std::size_t n_a_first) {
    if (coins.size() == 1) {
        return coins == "0" ? "A first" : "B first";
    }
    return fmt::format("A first in {} of {}", n_a_first, coins.size());
}

std::vector<double> changes(const MeasuredPairs& pairs, const Gate& gate) {
    std::vector<double> d;
    for (const MeasuredPairs::One* one : pairs.valid) {
        if (const auto value = command_value(*one->pair, gate, one->quality)) d.push_back(*value);
    }
    return d;
}

MetricRow metric_row(const MeasuredPairs& pairs, const MeasuredPairs& aa, const Gate& gate) {
    MetricRow row;
    row.metric = gate.metric;
    const std::vector<double> d = changes(pairs, gate);
    row.pairs = static_cast<int>(d.size());
    if (d.empty()) {
        return row;
    }
    std::vector<double> a, b;
    for (const MeasuredPairs::One* one : pairs.valid) {
        if (const auto value = middle_of(one->pair->a, gate.metric, 0, &gate)) a.push_back(*value);
        if (const auto value = middle_of(one->pair->b, gate.metric, 0, &gate)) b.push_back(*value);
    }
    row.a = median(a);
    row.b = median(b);
    row.effect = std::expm1(hodges_lehmann_estimate(d));
    const auto sigma = aa_sigma(changes(aa, gate));
    row.interval = as_fractions(bounds_of(d, sigma && *sigma > 0 ? *sigma : gate.worth));
    return row;
}

}  // namespace

std::string pairs_metric(const Record& record) {
    const std::vector<Measurement> all = plan_measurements(record.spec);
    if (const Measurement* shown = shown_measurement(record, all)) {
        return record.spec.gates[static_cast<std::size_t>(shown->owner)].metric;
    }
    const Gate* decides = deciding_gate(record.spec);
    return decides == nullptr ? "" : decides->metric;
}

namespace {
thread_local const SharedRows* shared_rows = nullptr;
}

SharedRows::SharedRows(const Record& record)
    : record_(record), rows_(pair_rows(record)), before_(shared_rows) {
    shared_rows = this;
}
SharedRows::~SharedRows() { shared_rows = before_; }

const std::vector<PairRow>* SharedRows::of(const Record& record) {
    const bool same = shared_rows != nullptr && &shared_rows->record_ == &record;
    return same ? &shared_rows->rows_ : nullptr;
}

std::vector<PairRow> pair_rows(const Record& record) {
    if (const std::vector<PairRow>* known = SharedRows::of(record)) return *known;
    std::vector<PairRow> out;
    const std::vector<Measurement> all = plan_measurements(record.spec);
    const Measurement* shown = shown_measurement(record, all);
    if (shown == nullptr) {
        return out;
    }
    const Gate& owner = record.spec.gates[static_cast<std::size_t>(shown->owner)];
    const std::string& metric = owner.metric;
    const Gate* command = is_outside(record.spec) ? &owner : nullptr;
    const MeasuredPairs pairs = collect_pairs(record.spec, record.pairs, *shown, PairKind::measure);
    for (const MeasuredPairs::One& one : pairs.all) {
        PairRow row;
        row.pair = one.pair;
        row.a = middle_of(one.pair->a, metric, one.quality.start_a, command);
        row.b = middle_of(one.pair->b, metric, one.quality.start_b, command);
        row.d = pairs.value_of(one, metric);
        row.discarded = one.quality.valid ? "" : one.quality.reason;
        const std::string& coins = one.pair->coins;
        const auto n_a = static_cast<std::size_t>(std::count(coins.begin(), coins.end(), '0'));
        row.order = order_words(coins, n_a);
        row.a_first = 2 * n_a >= coins.size();
        out.push_back(std::move(row));
    }
    return out;
}

std::vector<double> pair_slowness(const Record& record, const std::vector<PairRow>& rows) {
    const std::string unit = find_metric(pairs_metric(record)).unit;
    const bool rate = unit.ends_with("/s");
    if (!rate && unit != "ns" && unit != "s") return {};
    std::vector<double> out;
    for (const PairRow& row : rows) {
        if (!row.d || !row.discarded.empty()) continue;
        if (!row.a || !row.b || !(*row.a > 0) || !(*row.b > 0)) return {};
        out.push_back((rate ? -0.5 : 0.5) * (std::log(*row.a) + std::log(*row.b)));
    }
    return out;
}

std::optional<MachineState> machine_state_of(const Record& record,
                                             const std::vector<PairRow>& rows) {
    const Gate* gate = deciding_gate(record.spec);
    if (gate == nullptr || !record.analysis) return std::nullopt;
    if (record.analysis->dependence) return record.analysis->dependence->machine_state;
    std::vector<double> d;
    for (const PairRow& row : rows) {
        if (row.d && row.discarded.empty()) d.push_back(*row.d);
    }
    return machine_state(d, pair_slowness(record, rows), matters(*gate));
}

std::optional<PlacementSpread> placement_spread_of(const Record& record,
                                                   const std::vector<PairRow>& rows) {
    const Gate* gate = deciding_gate(record.spec);
    if (gate == nullptr || !record.analysis) return std::nullopt;
    if (record.analysis->dependence) return record.analysis->dependence->placements;
    std::vector<double> d, placement;
    for (const PairRow& row : rows) {
        const auto where = placement_of(*row.pair);
        if (!row.d || !row.discarded.empty() || !where) continue;
        d.push_back(*row.d);
        placement.push_back(*where);
    }
    return placement_spread(d, placement, matters(*gate));
}

double placement_seconds(const Record& record) {
    double sum = 0;
    for (const Pair& pair : record.pairs) {
        const auto found = pair.a.find(kPlacementSeconds);
        if (found != pair.a.end() && !found->second.empty()) sum += found->second.front();
    }
    return sum;
}

std::string outcome_sentence(const Record& record) {
    const bool known = record.analysis->dependence.has_value();
    return outcome_sentence(record, known ? std::vector<PairRow>{} : pair_rows(record));
}

std::string outcome_sentence(const Record& record, const std::vector<PairRow>& rows) {
    std::string out = outcome_sentence(record.spec, *record.analysis);
    for (const std::string& words : {state_words(machine_state_of(record, rows)),
                                     placement_words(placement_spread_of(record, rows))}) {
        if (words.empty()) continue;
        if (out.ends_with('.')) out.pop_back();
        out += "; " + words + ".";
    }
    return out;
}

std::vector<MetricRow> metric_rows(const Record& record) {
    std::vector<MetricRow> out;
    const std::vector<Measurement> all = plan_measurements(record.spec);
    const Measurement* shown = shown_measurement(record, all);
    if (shown == nullptr) {
        return out;
    }
    const MeasuredPairs aa = collect_pairs(record.spec, record.pairs, *shown, PairKind::aa);
    const MeasuredPairs pairs = collect_pairs(record.spec, record.pairs, *shown, PairKind::measure);
    std::set<std::string> metrics;
    for (const MeasuredPairs::One* one : pairs.valid) {
        for (const auto& [metric, values] : one->pair->a) {
            metrics.insert(metric);
        }
    }
    for (const std::string& metric : metrics) {
        Gate gate = record.spec.gates[static_cast<std::size_t>(shown->owner)];
        for (const Gate* known : pairs.command_gates) {
            if (known->metric == metric) gate = *known;
        }
        if (gate.metric != metric) {
            gate.metric = metric;
            gate.direction = find_metric(metric).direction;
            if (!gate.direction) continue;  // which values are better is not known
        }
        MetricRow row = metric_row(pairs, aa, gate);
        if (row.pairs > 0) out.push_back(std::move(row));
    }
    return out;
}

}  // namespace steady
