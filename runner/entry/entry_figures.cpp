// From a record to the plain data of runner/figures.
#include "runner/entry/entry_figures.h"

#include <fmt/format.h>

#include <cmath>

#include "runner/base/metrics.h"
#include "runner/base/text.h"
#include "runner/entry/entry_data.h"
#include "runner/figures/numbers.h"
#include "runner/figures/plots.h"
#include "runner/judge/op_times.h"
#include "runner/judge/outcome_text.h"
#include "runner/statistics/statistics_ranks.h"
#include "runner/statistics/stopping_rule.h"

namespace steady {
namespace {

using figures::Panel;

const Gate* gate_of(const Spec& spec, const std::string& id) {
    for (const Gate& gate : spec.gates) {
        if (gate.id == id) {
            return &gate;
        }
    }
    return nullptr;
}

std::optional<double> limit_of(const Gate& gate) {
    if (gate.role == Role::decides) {
        return gate.goal == Goal::gain ? gate.floor : -gate.margin;
    }
    if (gate.role == Role::guard && gate.level != Level::correctness) {
        return -gate.margin;
    }
    return std::nullopt;
}

Panel intervals(const Record& record) {
    figures::IntervalPlot plot;
    const Analysis& analysis = *record.analysis;
    plot.aa_band = {analysis.aa_band.low, analysis.aa_band.high};
    for (const GateResult& result : analysis.gates) {
        figures::IntervalRow row;
        row.label = escape_line(shorten(result.id, 24));
        row.detail = fmt::format("{} · {}", name(result.level), name(result.role));
        row.outcome = result.outcome;
        row.effect = result.effect;
        row.interval = {result.interval.low, result.interval.high};
        row.pairs = result.pairs;
        row.sets_scale = result.level == Level::model;
        if (const Gate* gate = gate_of(record.spec, result.id)) {
            row.limit = limit_of(*gate);
            if (gate->role == Role::decides && record.spec.hypothesis.predict) {
                row.predicted_low = record.spec.hypothesis.predict->low;
                row.predicted_high = record.spec.hypothesis.predict->high;
            }
        }
        plot.rows.push_back(row);
    }
    return figures::interval_plot(plot);
}

Panel pairs(const Record& record, const std::vector<PairRow>& rows) {
    figures::PairPlot plot;
    plot.metric = pairs_metric(record);
    for (const PairRow& row : rows) {
        if (row.d) {
            plot.points.push_back({std::expm1(*row.d), row.a_first, !row.discarded.empty()});
        }
    }
    if (record.analysis) {
        for (const Interval& interval : record.analysis->narrowing) {
            plot.narrowing.push_back({interval.low, interval.high});
        }
    }
    const Gate* decides = deciding_gate(record.spec);
    if (decides != nullptr && decides->goal == Goal::gain) {
        plot.worth = std::expm1(decides->floor + decides->worth);
    }
    return figures::pair_plot(plot);
}

double exact_p(Values d, double theta, double sign) {
    std::vector<double> above;
    for (const double value : d) above.push_back(sign * (value - theta));
    return wilcoxon_exact(above).p.p_greater;
}

// The exact look that decided, or the evidence for a reject, which this panel does not draw.
void say_what_decided(figures::EvidencePlot& plot, const Analysis& analysis, const Gate& gate,
                      const Budget& budget, std::size_t n_max) {
    const Values d(analysis.d);
    const bool accepted = analysis.verdict == Verdict::accept;
    const auto decided_by = [&](std::size_t n, double p, double bound) {
        plot.decided = fmt::format(
            "{} by the exact signed-rank test planned after pair {}: p {:.2g}, at most {:.2g}",
            accepted ? "accepted" : "rejected", n, p, bound);
        plot.decided_at = n - 1;
    };
    if (analysis.why == "final" && !d.empty()) {
        if (accepted) {
            decided_by(d.size(), exact_p(d, gate.floor, 1), gate.alpha * budget.cap);
        } else {
            decided_by(d.size(), exact_p(d, gate.floor + gate.worth, -1), gate.beta / 2);
        }
    } else if (analysis.why == "interim") {
        for (const Look& look : budget.looks) {
            if (look.n_pairs > d.size()) return;
            const double p = exact_p(d.first(look.n_pairs), gate.floor, 1);
            if (p > gate.alpha * look.share) continue;
            return decided_by(look.n_pairs, p, gate.alpha * look.share);
        }
    } else if (analysis.reason == "no_worthwhile_gain" || analysis.reason == "regression") {
        plot.decided =
            fmt::format("rejected by the evidence against “B is better by {} or more”, at {:.0f}",
                        figures::percent(gate.floor + gate.worth), 2 / gate.beta);
        plot.decided_at = d.size() - 1;
    } else if (analysis.why == "cap") {
        plot.decided = fmt::format("not decided: all {} planned pairs were measured", n_max);
    }
}

std::optional<Panel> evidence(const Record& record, const std::vector<PairRow>& rows) {
    const Gate* decides = deciding_gate(record.spec);
    if (decides == nullptr || decides->goal != Goal::gain || !record.analysis ||
        record.analysis->log_e_over_pairs.empty()) {
        return std::nullopt;
    }
    figures::EvidencePlot plot;
    plot.log_e = record.analysis->log_e_over_pairs;
    for (const PairRow& row : rows) {  // as in the pair plot, whose axis this shares
        if (row.d && row.discarded.empty()) {
            plot.slots.push_back(plot.n_slots);
        }
        plot.n_slots += row.d ? 1 : 0;
    }
    const auto& prior = record.evidence.prior;
    const Budget budget = budget_of(prior ? prior->rule.value_or(kFirstRule) : kFirstRule,
                                    static_cast<std::size_t>(record.spec.schedule.pairs_max));
    plot.threshold = std::log(1 / (budget.evidence * decides->alpha));
    say_what_decided(plot, *record.analysis, *decides, budget,
                     static_cast<std::size_t>(record.spec.schedule.pairs_max));
    plot.question = decides->floor == 0 ? "B is no better than A"
                                        : fmt::format("B is better by at most {}",
                                                      figures::percent(decides->floor));
    return figures::evidence_plot(plot);
}

// In entries only where the effect depends on the machine's speed, on the page always.
std::optional<Panel> state(const Record& record, const std::vector<PairRow>& rows,
                           bool always = false) {
    const auto found = machine_state_of(record, rows);
    if (!found || !(found->depends || always)) return std::nullopt;
    const std::vector<double> slowness = pair_slowness(record, rows);
    const double middle = median(slowness);
    figures::StatePlot plot;
    for (const PairRow& row : rows) {
        if (!row.d || !row.discarded.empty()) continue;
        const double speed = std::expm1(middle - slowness[plot.points.size()]);
        plot.points.push_back({speed, std::expm1(*row.d)});
    }
    return figures::state_plot(plot);
}

std::optional<Panel> profile(const Record& record) {
    if (!record.evidence.profile) {
        return std::nullopt;
    }
    figures::ProfilePlot plot;
    for (const OpTime& time : op_times(*record.evidence.profile)) {
        plot.bars.push_back({escape_line(shorten(time.op, 20)), time.a.ns_per_token,
                             time.b.ns_per_token, time.change, time.interval.low,
                             time.interval.high});
    }
    return figures::profile_plot(plot);
}

std::string finish(const Record& record, const std::vector<PairRow>& rows,
                   const std::vector<Panel>& panels) {
    const std::string title = record.analysis
                                  ? fmt::format("{}: {}", record.id, name(record.analysis->verdict))
                                  : record.id;
    std::string sentence = record.analysis ? outcome_sentence(record, rows) : "not decided yet";
    return figures::document(panels, title, redact(escape_line(sentence)));
}

}  // namespace

std::string intervals_figure(const Record& record) {
    std::vector<Panel> panels;
    if (record.analysis) {
        panels.push_back(intervals(record));
    }
    return finish(record, pair_rows(record), panels);
}

std::string pairs_figure(const Record& record) {
    const std::vector<PairRow> rows = pair_rows(record);
    std::vector<Panel> panels = {pairs(record, rows)};
    if (const auto panel = evidence(record, rows)) {
        panels.push_back(*panel);
    }
    if (const auto panel = state(record, rows, true)) {
        panels.push_back(*panel);
    }
    return finish(record, rows, panels);
}

std::string distribution_figure(const Record& record) {
    const std::vector<PairRow> rows = pair_rows(record);
    figures::DistributionPlot plot;
    plot.metric = pairs_metric(record);
    plot.unit = find_metric(plot.metric).unit;
    for (const PairRow& row : rows) {
        if (!row.discarded.empty() || !row.a || !row.b) continue;
        plot.a.push_back(*row.a);
        plot.b.push_back(*row.b);
    }
    return finish(record, rows, {figures::distribution_plot(plot)});
}

std::string profile_figure(const Record& record) {
    std::vector<Panel> panels;
    if (const auto panel = profile(record)) {
        panels.push_back(*panel);
    }
    return finish(record, pair_rows(record), panels);
}

std::string entry_figure(const Record& record) {
    std::vector<Panel> panels;
    if (record.analysis) {
        panels.push_back(intervals(record));
    }
    const std::vector<PairRow> rows = pair_rows(record);
    if (!rows.empty()) {
        panels.push_back(pairs(record, rows));
        if (const auto panel = evidence(record, rows)) {
            panels.push_back(*panel);
        }
        if (const auto panel = state(record, rows)) {
            panels.push_back(*panel);
        }
    }
    if (const auto panel = profile(record)) {
        panels.push_back(*panel);
    }
    return finish(record, rows, panels);
}

}  // namespace steady
