// Figures as SVG, by the same functions as in journal entries, from the numbers of the stored
// analysis. A figure of a decided experiment never changes.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "dashboard/server/handlers.h"
#include "dashboard/server/view_json.h"
#include "runner/figures/plots.h"
#include "runner/pipeline/record_json.h"

namespace steady::web {
namespace {

figures::Bounds bounds(const Interval& interval) { return {interval.low, interval.high}; }

const Gate* spec_gate(const Record& record, const std::string& id) {
    for (const Gate& gate : record.spec.gates) {
        if (gate.id == id) return &gate;
    }
    return nullptr;
}

figures::Panel intervals(const Record& record) {
    const Analysis& analysis = *record.analysis;
    figures::IntervalPlot plot;
    plot.aa_band = bounds(analysis.aa_band);
    for (const GateResult& gate : analysis.gates) {
        if (gate.level == Level::correctness) continue;
        figures::IntervalRow row;
        row.label = gate.id;
        row.detail = std::string(name(gate.level)) + " · " + name(gate.role);
        row.outcome = gate.outcome;
        row.effect = gate.effect;
        row.interval = bounds(gate.interval);
        row.pairs = gate.pairs;
        row.sets_scale = gate.level == Level::model;
        const Gate* asked = spec_gate(record, gate.id);
        if (asked != nullptr && gate.role == Role::decides) {
            row.limit = asked->worth;
            const auto& predict = record.spec.hypothesis.predict;
            if (predict) {
                row.predicted_low = predict->low;
                row.predicted_high = predict->high;
            }
        } else if (asked != nullptr && gate.role == Role::guard) {
            row.limit = -asked->margin;
        }
        plot.rows.push_back(std::move(row));
    }
    return figures::interval_plot(plot);
}

// The pairs that analysis.d speaks of: measured pairs of the deciding gate in order.
figures::Panel pairs(const Record& record) {
    const Analysis& analysis = *record.analysis;
    figures::PairPlot plot;
    plot.metric = analysis.metric;
    const Gate* decides = deciding_gate(record.spec);
    if (decides != nullptr) plot.worth = decides->worth;
    for (const Interval& interval : analysis.narrowing) plot.narrowing.push_back(bounds(interval));
    std::vector<const Pair*> counted;
    for (const Pair& pair : record.pairs) {
        const auto index = static_cast<std::size_t>(pair.gate);
        const bool ours = decides == nullptr || (index < record.spec.gates.size() &&
                                                 &record.spec.gates[index] == decides);
        if (ours && pair.kind == PairKind::measure && pair.sealed && pair.discarded.empty()) {
            counted.push_back(&pair);
        }
    }
    for (std::size_t i = 0; i < analysis.d.size(); ++i) {
        figures::PairPoint point;
        point.value = analysis.d[i];
        if (i < counted.size()) {
            const std::string& coins = counted[i]->coins;
            point.a_first = 2 * std::count(coins.begin(), coins.end(), '0') >=
                            static_cast<std::ptrdiff_t>(coins.size());
        }
        plot.points.push_back(point);
    }
    return figures::pair_plot(plot);
}

figures::Panel evidence(const Record& record) {
    figures::EvidencePlot plot;
    plot.log_e = record.analysis->log_e_over_pairs;
    const Gate* decides = deciding_gate(record.spec);
    plot.threshold = std::log(1 / (decides == nullptr ? 0.01 : decides->alpha));
    plot.question = "no gain";
    return figures::evidence_plot(plot);
}

figures::Panel profile(const Record& record) {
    figures::ProfilePlot plot;
    std::map<std::string, figures::ProfileBar> bars;
    for (const auto& [arm, rows] : record.evidence.profile->arms) {
        for (const auto& row : rows) {
            figures::ProfileBar& bar = bars[row.op];
            bar.op = row.op;
            (arm == "A" ? bar.a_ns : bar.b_ns) += row.ns_per_token;
        }
    }
    for (const auto& [op, bar] : bars) plot.bars.push_back(bar);
    return figures::profile_plot(plot);
}

Response svg_response(const figures::Panel& panel, const Record& record, const char* what) {
    Response response;
    response.type = "image/svg+xml";
    response.headers.emplace_back("Cache-Control", "private, max-age=30");
    response.body =
        figures::document({panel}, what, record.analysis->sentence + " Experiment " + record.id);
    return response;
}

}  // namespace

Response get_figure(const Request& request, Context& context) {
    const auto record = find_record(request, context);
    if (!record) return no_such_experiment(request);
    if (!record->analysis) return error_response(404, "no figure before a verdict");
    const std::string& which = request.params.at("name");
    if (which == "interval") return svg_response(intervals(*record), *record, "Intervals");
    if (which == "pairs") return svg_response(pairs(*record), *record, "Pairs in order");
    if (which == "evidence") return svg_response(evidence(*record), *record, "Evidence over pairs");
    if (which == "profile" && record->evidence.profile) {
        return svg_response(profile(*record), *record, "Time per op");
    }
    return error_response(404, "no figure '" + which +
                                   "'; allowed: interval, pairs, evidence, and profile if measured");
}

}  // namespace steady::web
