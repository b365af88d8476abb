// `steady sweep`: screens each setting with a few pairs, then runs a whole experiment with new
// pairs on the best one. Screening data never confirm: the best of many is biased upwards by
// selection.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "kernels/base/error.h"
#include "runner/cli/jobs.h"
#include "runner/cli/programs.h"
#include "runner/cli/records.h"
#include "runner/cli/verbs.h"
#include "runner/cli/workspace.h"
#include "runner/entry/report.h"
#include "runner/record/record_json.h"
#include "runner/spec/spec_sweep.h"

namespace steady {
namespace {

Spec sound(SpecResult result, const Spec& sweep) {
    if (!result.spec) throw Error(describe(result.errors.at(0), sweep.id));
    return std::move(*result.spec);
}

SweepPoint screen(const Spec& spec, const SweepChoice& choice, std::size_t number,
                  const Arguments& arguments, const std::shared_ptr<PreparedWeights>& weights) {
    SweepPoint point;
    point.values = choice;
    if (is_baseline(spec, choice)) return point;
    const Record record =
        run_here(sound(screening_spec(spec, choice, number), spec), arguments, weights);
    point.id = record.id;
    point.verdict = name(record.analysis->verdict);
    point.reason = record.analysis->reason;
    for (const GateResult& gate : record.analysis->gates) {
        if (gate.level != Level::model) continue;
        point.effect = gate.effect;
        point.interval = gate.interval;
        point.pairs = gate.pairs;
    }
    return point;
}

SweepReport screen_all(const Spec& spec, const Arguments& arguments,
                       const std::shared_ptr<PreparedWeights>& weights) {
    SweepReport report;
    report.sweep = spec.id;
    report.metric = deciding_gate(spec)->metric;
    std::optional<double> best;
    for (const SweepChoice& choice : sweep_choices(*spec.sweep)) {
        report.points.push_back(screen(spec, choice, report.points.size() + 1, arguments, weights));
        const SweepPoint& point = report.points.back();
        if (point.verdict != "inconclusive" || !point.effect) continue;  // wrong, invalid, A itself
        if (best && *point.effect <= *best) continue;
        best = point.effect;
        report.chosen = choice;
    }
    return report;
}

std::string screened_text(const SweepReport& report) {
    std::string text = fmt::format("tried {} settings with a few pairs each (they decide nothing)",
                                   report.points.size());
    for (const SweepPoint& point : report.points) {
        const std::string outcome = point.id.empty() ? "equals A"
                                    : point.verdict == "inconclusive"
                                        ? point.id
                                        : point.verdict + " " + point.reason + " " + point.id;
        text += fmt::format("\n{} {:<40} {:>10} {:>3} pairs  {}",
                            report.chosen == point.values ? "→" : " ", choice_text(point.values),
                            point.effect ? fmt::format("{:+.2f} %", 100 * *point.effect) : "–",
                            point.pairs, outcome);
    }
    return text;
}

}  // namespace

int verb_sweep(const Arguments& arguments) {
    const Spec spec = load_spec(arguments.words[0]);
    if (!spec.sweep) {
        throw Error(fmt::format(
            "{0}: found no \"sweep\", so there is nothing to choose from; allowed: \"sweep\": "
            "{{\"axes\": {{\"{1}\": [two or more values]}}}}, or `steady run {0}`",
            arguments.words[0], is_outside(spec) ? "args.<name>" : "kernels.<op>"));
    }
    if (is_outside(spec)) check_settings(spec, arguments);
    Arguments quiet = arguments;
    quiet.options["no-journal"] = "1";
    const auto weights = std::make_shared<PreparedWeights>();
    const SweepReport report = screen_all(spec, quiet, weights);
    nlohmann::json out = sweep_json(report);
    out["screened"] = out["points"];
    out.erase("points");
    if (!report.chosen) {
        print(arguments, out,
              screened_text(report) + "\nno setting ran with right output: nothing to confirm");
        return exit_code(Verdict::inconclusive);
    }
    const Record confirmed =
        run_here(sound(confirmation_spec(spec, *report.chosen), spec), arguments, weights, &report);
    out["confirmation"] = shown_json(confirmed);
    print(arguments, out,
          fmt::format("{}\n\nconfirmed on new pairs:\n{}", screened_text(report),
                      show_text(confirmed)));
    return exit_code(confirmed.analysis->verdict);
}

}  // namespace steady
