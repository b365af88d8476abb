// `steady sweep`: screens each value with a few pairs, then runs a whole experiment with new pairs
// on the best one. Screening data never confirm: the best of many is biased upwards by selection.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "kernels/base/error.h"
#include "runner/cli/jobs.h"
#include "runner/cli/verbs.h"
#include "runner/cli/workspace.h"
#include "runner/entry/report.h"
#include "runner/record/record_json.h"

namespace steady {
namespace {

using nlohmann::json;
using Choice = std::map<std::string, std::string>;  // path in arm B → value

std::vector<Choice> choices_of(const SweepSpec& sweep) {
    std::vector<Choice> choices = {{}};
    for (const auto& [path, values] : sweep.axes) {
        std::vector<Choice> longer;
        for (const Choice& choice : choices) {
            for (const std::string& value : values) {
                longer.push_back(choice);
                longer.back()[path] = value;
            }
        }
        choices = std::move(longer);
    }
    return choices;
}

std::string text_of(const Choice& choice) {
    std::vector<std::string> parts;
    for (const auto& [path, value] : choice) parts.push_back(path + "=" + value);
    return fmt::format("{}", fmt::join(parts, ", "));
}

// The file without its sweep, with the choice in arm B.
json with_choice(const Spec& spec, const Choice& choice, const std::string& id) {
    json one = json::parse(spec.canonical);
    one.erase("sweep");
    one["id"] = id;
    one["schedule"].erase("seed");
    for (const auto& [path, value] : choice) {
        const auto dot = path.find('.');
        if (dot == std::string::npos) {
            one["arms"]["B"][path] = std::stoi(value);  // threads
        } else {
            one["arms"]["B"][path.substr(0, dot)][path.substr(dot + 1)] = value;
        }
    }
    return one;
}

// Correctness and a few pairs of the full model; nothing that could decide.
Spec screening(const Spec& spec, const Choice& choice, std::size_t number) {
    json one = with_choice(spec, choice, fmt::format("{}-screen-{}", spec.id, number));
    json gates = json::array();
    for (json gate : one["gates"]) {
        if (gate["level"] == "correctness") gates.push_back(gate);
        if (gate["role"] != "decides") continue;
        gates.push_back({{"id", gate["id"]},
                         {"level", "model"},
                         {"role", "advice"},
                         {"metric", gate["metric"]}});
    }
    one["gates"] = gates;
    one["schedule"]["pairs"] = {{"max", spec.sweep->screen_pairs}};
    one["schedule"]["aa_pairs"] = 0;
    return decode_spec(one);
}

struct Screened {
    Choice choice;
    std::string id, verdict, reason;
    std::optional<double> effect;
    Interval interval;
    int pairs = 0;
};

Screened screen(const Spec& spec, const Choice& choice, std::size_t number,
                const Arguments& arguments, const std::shared_ptr<PreparedWeights>& weights) {
    const Record record = run_here(screening(spec, choice, number), arguments, weights);
    Screened screened{
        choice, record.id, name(record.analysis->verdict), record.analysis->reason, {}, {}, 0};
    for (const GateResult& gate : record.analysis->gates) {
        if (gate.level != Level::model) continue;
        screened.effect = gate.effect;
        screened.interval = gate.interval;
        screened.pairs = gate.pairs;
    }
    return screened;
}

json screened_json(const Screened& screened) {
    return {{"values", screened.choice},
            {"id", screened.id},
            {"verdict", screened.verdict},
            {"reason", screened.reason},
            {"effect", screened.effect ? json(*screened.effect) : json()},
            {"interval", interval_json(screened.interval)},
            {"pairs", screened.pairs}};
}

}  // namespace

int verb_sweep(const Arguments& arguments) {
    const Spec spec = load_spec(arguments.words[0]);
    if (!spec.sweep) {
        throw Error(fmt::format(
            "{}: found no \"sweep\", so there is nothing to choose from; allowed: \"sweep\": "
            "{{\"axes\": {{\"kernels.<op>\": [two or more variants]}}}}, or `steady run {}`",
            arguments.words[0], arguments.words[0]));
    }
    Arguments quiet = arguments;
    quiet.options["no-journal"] = "1";
    const std::vector<Choice> choices = choices_of(*spec.sweep);
    std::vector<Screened> all;
    const Screened* best = nullptr;
    const auto weights = std::make_shared<PreparedWeights>();
    for (const Choice& choice : choices) {
        all.push_back(screen(spec, choice, all.size() + 1, quiet, weights));
    }
    for (const Screened& one : all) {
        if (one.verdict != "inconclusive" || !one.effect) continue;  // wrong, invalid, unmeasured
        if (best == nullptr || *one.effect > *best->effect) best = &one;
    }
    json rows = json::array();
    std::string text = fmt::format("screened {} choices, {} pairs each (they decide nothing)\n",
                                   all.size(), spec.sweep->screen_pairs);
    for (const Screened& one : all) {
        rows.push_back(screened_json(one));
        text +=
            fmt::format("{} {:<40} {:>10}  {}\n", &one == best ? "→" : " ", text_of(one.choice),
                        one.effect ? fmt::format("{:+.2f} %", 100 * *one.effect) : "–",
                        one.verdict == "inconclusive" ? one.id : one.verdict + " " + one.reason);
    }
    if (best == nullptr) {
        fmt::print("{}\n", arguments.has("json") ? json{{"screened", rows}}.dump(2)
                                                 : text + "none of them gave right output");
        return exit_code(Verdict::inconclusive);
    }
    const Record confirmed = run_here(
        decode_spec(with_choice(spec, best->choice, spec.id + "-confirm")), arguments, weights);
    const json out = {
        {"screened", rows}, {"chosen", best->choice}, {"confirmation", show_json(confirmed)}};
    fmt::print("{}\n", arguments.has("json") ? out.dump(2)
                                             : fmt::format("{}\nconfirmed on new pairs:\n{}", text,
                                                           show_text(confirmed)));
    return exit_code(confirmed.analysis->verdict);
}

}  // namespace steady
