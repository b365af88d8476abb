// Pairs as rows: what each arm took in the deciding metric, who went first, what was discarded. The
// steady part of each pair is the one that the analysis used.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runner/pipeline/analysis_pairs.h"
#include "runner/pipeline/entry_data.h"
#include "runner/pipeline/plan.h"

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
                                const std::string& metric, std::size_t start) {
    const auto direct = arm.find(metric);
    const auto found = direct != arm.end() ? direct : arm.find(raw_metric(metric));
    if (found == arm.end() || found->second.empty()) {
        return std::nullopt;
    }
    const Values steady = Values(found->second).subspan(std::min(start, found->second.size() - 1));
    const bool p90 = metric.size() > 4 && metric.compare(metric.size() - 4, 4, "_p90") == 0;
    const double value = p90 && direct == arm.end() ? quantile(steady, 0.90) : median(steady);
    return metric == "decode_tps" && direct == arm.end() ? 1e9 / value : value;
}

std::string order_words(const std::string& coins, std::size_t n_a_first) {
    if (coins.size() == 1) {
        return coins == "0" ? "A first" : "B first";
    }
    return fmt::format("A first in {} of {}", n_a_first, coins.size());
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

std::vector<PairRow> pair_rows(const Record& record) {
    std::vector<PairRow> out;
    const std::vector<Measurement> all = plan_measurements(record.spec);
    const Measurement* shown = shown_measurement(record, all);
    if (shown == nullptr) {
        return out;
    }
    const std::string& metric = record.spec.gates[static_cast<std::size_t>(shown->owner)].metric;
    const MeasuredPairs pairs = collect_pairs(record.spec, record.pairs, *shown, PairKind::measure);
    for (const MeasuredPairs::One& one : pairs.all) {
        PairRow row;
        row.pair = one.pair;
        row.a = middle_of(one.pair->a, metric, one.quality.start_a);
        row.b = middle_of(one.pair->b, metric, one.quality.start_b);
        row.d = pair_value(*one.pair, metric, one.quality);
        row.discarded = one.quality.valid ? "" : one.quality.reason;
        const std::string& coins = one.pair->coins;
        const auto n_a = static_cast<std::size_t>(std::count(coins.begin(), coins.end(), '0'));
        row.order = order_words(coins, n_a);
        row.a_first = 2 * n_a >= coins.size();
        out.push_back(std::move(row));
    }
    return out;
}

}  // namespace steady
