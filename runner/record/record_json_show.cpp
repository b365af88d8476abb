// The document of `run --json` and `show --json`: flat, stable names, numbers as fractions.
// Programs read it, so a key is added but never renamed.
#include <nlohmann/json.hpp>
#include <utility>

#include "runner/base/json_fields.h"
#include "runner/judge/outcome_text.h"
#include "runner/record/record_json.h"

namespace steady {
namespace {

using Json = nlohmann::json;
using record_fields::encode;

Json gate_json(const GateResult& gate) {
    return {{"id", gate.id},
            {"level", name(gate.level)},
            {"role", name(gate.role)},
            {"outcome", gate.outcome},
            {"metric", gate.metric},
            {"effect", encode(gate.effect)},
            {"interval", interval_json(gate.interval)},
            {"pairs", gate.pairs},
            {"detail", gate.detail},
            {"log_e_accept", encode(gate.log_e_accept)},
            {"log_e_reject", encode(gate.log_e_reject)},
            {"log_e_regression", encode(gate.log_e_regression)}};
}

Json pending_gates(const Spec& spec) {
    Json out = Json::array();
    for (const Gate& gate : spec.gates) {
        GateResult pending;
        pending.id = gate.id;
        pending.level = gate.level;
        pending.role = gate.role;
        pending.metric = gate.metric;
        pending.outcome = "pending";
        out.push_back(gate_json(pending));
    }
    return out;
}

int sealed_pairs(const Record& record) {
    int n = 0;
    for (const Pair& pair : record.pairs) {
        n += pair.sealed && pair.discarded.empty() && pair.kind == PairKind::measure ? 1 : 0;
    }
    return n;
}

void add_analysis(Json& out, const Spec& spec, const Analysis& analysis) {
    out["verdict"] = name(analysis.verdict);
    out["reason"] = analysis.reason.empty() ? Json(nullptr) : Json(analysis.reason);
    out["sentence"] = outcome_sentence(spec, analysis);
    out["contradiction"] =
        analysis.contradiction.empty() ? Json(nullptr) : Json(analysis.contradiction);
    out["why"] = analysis.why;
    out["metric"] = analysis.metric;
    out["effect"] = encode(analysis.effect);
    out["interval"] = interval_json(analysis.interval);
    out["pairs"] = analysis.pairs;
    out["discarded"] = analysis.discarded;
    out["prediction"] = analysis.prediction.empty() ? Json(nullptr) : Json(analysis.prediction);
    out["aa_band"] = interval_json(analysis.aa_band);
    out["sigma_d"] = encode(analysis.sigma_d);
    out["gates"] = Json::array();
    for (const GateResult& gate : analysis.gates) {
        out["gates"].push_back(gate_json(gate));
    }
    out["checks"] = Json::array();
    for (const Check& check : analysis.checks) {
        out["checks"].push_back(
            {{"name", check.name}, {"status", check.status}, {"detail", check.detail}});
    }
}

}  // namespace

Json clocks_json(const std::optional<ClockReport>& clocks) {
    if (!clocks) return nullptr;
    const auto range = [](const ClockRange& mhz) {
        return Json{{"lowest", mhz.lowest}, {"median", mhz.median}, {"highest", mhz.highest}};
    };
    Json arms = Json::object();
    for (const auto& [letter, arm] : {std::pair{"A", &clocks->a}, {"B", &clocks->b}}) {
        arms[letter] = nullptr;
        if (!*arm) continue;
        arms[letter] = {{"sm_mhz", range((*arm)->sm)},
                        {"memory_mhz", range((*arm)->memory)},
                        {"lowered", (*arm)->lowered},
                        {"reasons", reason_words((*arm)->reasons)}};
    }
    return {{"arms", std::move(arms)},
            {"pairs", clocks->pairs},
            {"change", encode(clocks->change)},
            {"caution", caution_words(*clocks)}};
}

Json sweep_json(const SweepReport& report) {
    Json out = report;
    for (std::size_t i = 0; i < report.points.size(); ++i) {
        out["points"][i]["interval"] = interval_json(report.points[i].interval);
    }
    return out;
}

Json show_json(const Record& record) {
    Json out = {
        {"id", record.id},
        {"run", record.run_id},
        {"question", record.question_sha},
        {"experiment", record.spec.id},
        {"spec_sha256", record.spec.sha256},
        {"owner", record.spec.owner},
        {"claim", record.spec.hypothesis.claim},
        {"state", record.state},
        {"note", record.note},
        {"rerun", record.rerun},
        {"seed", record.seed},
        {"seconds", encode(record.seconds)},
        {"submitted_at", record.submitted_at},
        {"decided_at", record.decided_at},
        {"earlier", record.earlier},
        {"journal", record.journal_path.empty() ? Json(nullptr) : Json(record.journal_path)},
        {"repeat", "steady rerun " + record.id}};
    if (record.evidence.sweep) out["sweep"] = sweep_json(*record.evidence.sweep);
    if (record.analysis) {
        add_analysis(out, record.spec, *record.analysis);
        return out;
    }
    for (const char* key : {"verdict", "reason", "effect", "metric", "prediction"}) {
        out[key] = nullptr;
    }
    out["interval"] = Json::array({nullptr, nullptr});
    out["pairs"] = sealed_pairs(record);
    out["gates"] = pending_gates(record.spec);
    return out;
}

}  // namespace steady
