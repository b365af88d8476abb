// Records and rows as the documents that the page draws. Copies numbers and computes no verdict.
#include "dashboard/server/view_json.h"

#include <nlohmann/json.hpp>
#include <set>

#include "runner/entry/entry_data.h"
#include "runner/entry/report.h"
#include "runner/judge/op_times.h"
#include "runner/judge/outcome_text.h"
#include "runner/record/record_json.h"

namespace steady::web {
namespace {

using nlohmann::json;

using Flat = std::map<std::string, std::string>;

Flat flatten(const ArmSpec& arm) {
    Flat flat;
    for (const auto& [op, variant] : arm.kernels) flat["kernels." + op] = variant;
    for (const auto& [step, way] : arm.steps) flat["steps." + step] = way;
    for (const auto& [flag, value] : arm.engine_flags) flat["engine_flags." + flag] = value;
    for (const auto& [variable, value] : arm.env) flat["env." + variable] = value;
    if (arm.threads) flat["threads"] = std::to_string(*arm.threads);
    if (!arm.rev.empty()) flat["rev"] = arm.rev;
    std::string args;
    for (const std::string& arg : arm.args) args += (args.empty() ? "" : " ") + arg;
    if (!args.empty()) flat["args"] = args;
    return flat;
}

Flat flatten(const ArmReport& arm) {
    Flat flat;
    for (const auto& [path, setting] : arm.settings) flat[path] = setting.value;
    return flat;
}

json difference(const Flat& a, const Flat& b, const char* key_name) {
    std::set<std::string> keys;
    for (const auto& [key, value] : a) keys.insert(key);
    for (const auto& [key, value] : b) keys.insert(key);
    json rows = json::array();
    for (const std::string& key : keys) {
        const auto in_a = a.find(key), in_b = b.find(key);
        const json left = in_a == a.end() ? json() : json(in_a->second);
        const json right = in_b == b.end() ? json() : json(in_b->second);
        if (left != right) rows.push_back({{key_name, key}, {"a", left}, {"b", right}});
    }
    return rows;
}

json profile_json(const Evidence& evidence) {
    json out = json::object();
    if (!evidence.profile) return out;
    for (const auto& [arm, rows] : evidence.profile->arms) {
        json list = json::array();
        for (const auto& row : rows) {
            list.push_back({{"op", row.op},
                            {"variant", row.variant},
                            {"calls_per_token", row.calls_per_token},
                            {"ns_per_token", row.ns_per_token},
                            {"bytes_per_token", row.bytes_per_token}});
        }
        out["arms"][arm] = std::move(list);
    }
    for (const OpTime& time : op_times(*evidence.profile)) {
        out["changes"][time.op] = {{"change", optional_json(time.change)},
                                   {"interval", bounds_json(time.interval)}};
    }
    out["processes"] = profile_processes(*evidence.profile);
    out["launches_per_token"] = evidence.profile->launches_per_token;
    out["barrier_ns_per_token"] = evidence.profile->barrier_ns_per_token;
    return out;
}

json correctness_json(const Evidence& evidence) {
    if (!evidence.correctness) {
        return evidence.correctness_failure.empty()
                   ? json()
                   : json{{"failure", evidence.correctness_failure}};
    }
    const OutputsReport& outputs = *evidence.correctness;
    json out = json::object();
    if (outputs.engine) {
        out = outputs.distances;
        out["positions"] = outputs.positions;
        out["non_finite"] = outputs.unusable;
        return out;
    }
    out["checks"] = json::array();
    for (const OutputCheck& check : outputs.checks) {
        out["checks"].push_back({{"gate", check.gate},
                                 {"need", check.need},
                                 {"held", check.held},
                                 {"detail", check.detail}});
    }
    out["proofs"] = json::array();
    for (const Proof& proof : outputs.proofs) {
        out["proofs"].push_back({{"arm", proof.arm},
                                 {"rule", proof.rule},
                                 {"text", proof.text},
                                 {"held", proof.held},
                                 {"detail", proof.detail}});
    }
    return out;
}

// The layout control against the baseline, once there is a verdict.
json layout_json(const Record& record) {
    if (!record.analysis || !has_layout_control(record.spec)) return json();
    const LayoutEffect control = layout_effect(record.spec, record.pairs, record.analysis->sigma0);
    return {{"metric", record.analysis->metric},
            {"effect", optional_json(control.effect)},
            {"interval", bounds_json(control.interval)},
            {"pairs", control.pairs}};
}

// What each arm was built from and loads, for programs that are no part of this project.
json program_json(const Evidence& evidence) {
    if (!evidence.applied || evidence.applied->engine) return json();
    json out = {{"refused", evidence.applied->refused}, {"detail", evidence.applied->detail}};
    for (const auto& [name, arm] : evidence.applied->arms) {
        out["arms"][name] = {{"settings", flatten(arm)}, {"facts", arm.facts}, {"log", arm.log}};
    }
    return out;
}

json attempts_json(const std::vector<Attempt>& attempts) {
    json list = json::array();
    for (const Attempt& attempt : attempts) {
        list.push_back({{"epoch", attempt.epoch},
                        {"worker", attempt.worker},
                        {"host", attempt.host},
                        {"began", attempt.began},
                        {"ended", attempt.ended},
                        {"how", attempt.how}});
    }
    return list;
}

// Environment of the latest attempt, and what changed between the first and it.
json environment_json(const std::vector<Attempt>& attempts) {
    if (attempts.empty()) return {{"facts", json::object()}, {"changed", json::array()}};
    const Fingerprint& last = attempts.back().fingerprint;
    return {{"facts", last},
            {"changed", fingerprint_difference(attempts.front().fingerprint, last)}};
}

json gate_json(const GateResult& gate) {
    return {{"id", gate.id},
            {"metric", gate.metric},
            {"level", name(gate.level)},
            {"role", name(gate.role)},
            {"outcome", gate.outcome},
            {"detail", gate.detail},
            {"effect", optional_json(gate.effect)},
            {"interval", bounds_json(gate.interval)},
            {"pairs", gate.pairs}};
}

// Before a verdict the ladder shows what is planned.
json planned_gates(const Spec& spec) {
    json list = json::array();
    for (const Gate& gate : spec.gates) {
        list.push_back({{"id", gate.id},
                        {"metric", gate.metric},
                        {"level", name(gate.level)},
                        {"role", name(gate.role)},
                        {"outcome", "planned"},
                        {"detail", ""},
                        {"effect", json()},
                        {"interval", {json(), json()}},
                        {"pairs", 0}});
    }
    return list;
}

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

json pair_values(const Pair& pair) {
    json rows = json::object();
    for (const auto& [metric, values] : pair.a) {
        const auto other = pair.b.find(metric);
        rows[metric] = {{"a", median(values)},
                        {"b", other == pair.b.end() ? json() : json(median(other->second))},
                        {"n", values.size()}};
    }
    return rows;
}

}  // namespace

json optional_json(const std::optional<double>& value) { return value ? json(*value) : json(); }

json bounds_json(const Interval& interval) {
    return json::array({optional_json(interval.low), optional_json(interval.high)});
}

json fingerprint_difference(const Fingerprint& a, const Fingerprint& b) {
    return difference(a, b, "key");
}

json arms_difference(const Record& record) {
    Flat a, b;
    if (record.spec.arms.count("A") > 0) a = flatten(record.spec.arms.at("A"));
    if (record.spec.arms.count("B") > 0) b = flatten(record.spec.arms.at("B"));
    json out = {{"asked", difference(a, b, "path")}, {"ran", json()}};
    const auto& applied = record.evidence.applied;
    if (applied && applied->arms.count("A") > 0 && applied->arms.count("B") > 0) {
        out["ran"] =
            difference(flatten(applied->arms.at("A")), flatten(applied->arms.at("B")), "path");
    }
    return out;
}

json list_row_json(const page::ListRow& row) {
    return {{"cursor", row.cursor},
            {"id", row.id},
            {"owner", row.owner},
            {"claim", row.claim},
            {"model", row.model},
            {"state", row.state},
            {"verdict", row.verdict},
            {"reason", row.reason},
            {"sentence", row.sentence},
            {"metric", row.metric},
            {"host", row.host},
            {"prediction", row.prediction},
            {"effect", optional_json(row.effect)},
            {"interval", bounds_json(row.interval)},
            {"pairs", row.pairs},
            {"pairs_max", row.pairs_max},
            {"submitted_at", row.submitted_at},
            {"decided_at", row.decided_at},
            {"note", row.note},
            {"journal", row.journal_path},
            {"file", row.file},
            {"question", row.question_sha},  // of a finding, which stands for all its runs
            {"runs", row.runs.size()},
            {"together", row.runs.empty() ? "" : summary_of(row.runs).text}};
}

json queue_row_json(const page::QueueRow& row) {
    json progress = json::parse(row.progress, nullptr, false);
    if (!progress.is_object()) progress = nullptr;
    return {{"id", row.id},
            {"owner", row.owner},
            {"claim", row.claim},
            {"state", row.state},
            {"host", row.host},
            {"worker", row.worker},
            {"note", row.note},
            {"priority", row.priority},
            {"crashes", row.crashes},
            {"pairs_done", row.pairs_done},
            {"pairs_max", row.pairs_max},
            {"queued_at", row.queued_at},
            {"began_at", row.began_at},
            {"lease_until", row.lease_until},
            {"need_tags", row.need_tags},
            {"cancel_asked", row.cancel_asked},
            {"progress", std::move(progress)}};
}

json host_json(const page::HostDetail& row) {
    json noise = json::array();
    for (const page::HostNoise& one : row.noise) {
        noise.push_back({{"metric", one.metric},
                         {"mode", one.mode},
                         {"gpu", one.gpu},
                         {"pairs", one.pairs},
                         {"sigma_d", one.sigma_d},
                         {"at", one.at}});
    }
    json facts = json::parse(row.fingerprint, nullptr, false);
    if (!facts.is_object()) facts = json::object();
    return {{"name", row.name},         {"seen_at", row.seen_at},   {"running", row.running},
            {"tags", row.tags},         {"draining", row.draining}, {"facts", std::move(facts)},
            {"noise", std::move(noise)}};
}

std::string slug_of(const std::string& decided_at, const std::string& id) {
    return decided_at.substr(0, 10) + "-" + id;
}

json journal_row_json(const page::ListRow& row) {
    json out = list_row_json(row);
    out["slug"] = slug_of(row.decided_at, row.id);
    return out;
}

json analysis_json(const Record& record) {
    const Analysis& analysis = *record.analysis;
    json gates = json::array(), checks = json::array();
    for (const GateResult& gate : analysis.gates) gates.push_back(gate_json(gate));
    for (const Check& check : analysis.checks) {
        checks.push_back(
            {{"name", check.name}, {"status", check.status}, {"detail", check.detail}});
    }
    return {{"verdict", name(analysis.verdict)},
            {"reason", analysis.reason},
            {"sentence", outcome_sentence(record)},
            {"metric", analysis.metric},
            {"effect", optional_json(analysis.effect)},
            {"interval", bounds_json(analysis.interval)},
            {"pairs", analysis.pairs},
            {"discarded", analysis.discarded},
            {"why", analysis.why},
            {"gates", std::move(gates)},
            {"checks", std::move(checks)},
            {"aa_band", bounds_json(analysis.aa_band)},
            {"sigma_d", analysis.sigma_d},
            {"sigma0", analysis.sigma0},
            {"contradiction", analysis.contradiction},
            {"prediction", analysis.prediction}};
}

namespace {

// Of another program: every metric that its pairs hold, as the entry shows them.
json measured_json(const Record& record) {
    json rows = json::array();
    if (!is_outside(record.spec)) return rows;
    for (const MetricRow& row : metric_rows(record)) {
        rows.push_back({{"metric", row.metric},
                        {"a", value_words(row.metric, row.a)},
                        {"b", value_words(row.metric, row.b)},
                        {"effect", optional_json(row.effect)},
                        {"interval", bounds_json(row.interval)},
                        {"pairs", row.pairs}});
    }
    return rows;
}

}  // namespace

bool shows_pairs(const Record& record) {
    return !record.analysis || !record.analysis->dependence || is_outside(record.spec) ||
           has_layout_control(record.spec);
}

json experiment_json(const Record& record) {
    json out = {{"id", record.id},
                {"run", record.run_id},
                {"question", record.question_sha},
                {"job", record.job},
                {"rerun", record.rerun},
                {"state", record.state},
                {"note", record.note},
                {"seed", std::to_string(record.seed)},
                {"spec_sha256", record.spec.sha256},
                {"spec", json::parse(record.spec_text, nullptr, false)},
                {"mode", name(record.spec.schedule.mode)},
                {"weights", weights_words(record)},
                {"change", arms_difference(record)},
                {"correctness", correctness_json(record.evidence)},
                {"program", program_json(record.evidence)},
                {"measured", measured_json(record)},
                {"profile", profile_json(record.evidence)},
                {"sweep", record.evidence.sweep ? sweep_json(*record.evidence.sweep) : json()},
                {"layout", layout_json(record)},
                {"clocks", record.analysis ? clocks_json(record.analysis->clocks) : json()},
                {"attempts", attempts_json(record.attempts)},
                {"environment", environment_json(record.attempts)},
                {"earlier", record.earlier},
                {"pairs_done", counted_pairs(record)},
                {"pairs_max", record.spec.schedule.pairs_max},
                {"submitted_at", record.submitted_at},
                {"decided_at", record.decided_at},
                {"seconds", record.seconds},
                {"journal", record.journal_path},
                {"slug", record.decided_at.empty() ? "" : slug_of(record.decided_at, record.id)},
                {"analysis", record.analysis ? analysis_json(record) : json()},
                {"planned", planned_gates(record.spec)}};
    if (out["spec"].is_discarded()) out["spec"] = json::object();
    return out;
}

json flame_json(const std::string& id, const StackProfile& profile) {
    const FlameGraph graph = flame_graph(profile);
    json out = {
        {"id", id},           {"problem", profile.problem}, {"unwinding", profile.unwinding},
        {"hz", profile.hz},   {"arms", json::object()},     {"a_ns", graph.a_ns},
        {"b_ns", graph.b_ns}, {"frames", json::array()},    {"functions", json::array()}};
    for (const auto& [name, arm] : profile.arms) {
        out["arms"][name] = {
            {"runs", arm.runs}, {"samples", arm.samples}, {"left_out", arm.left_out}};
    }
    for (const FlameFrame& one : graph.frames) {
        out["frames"].push_back({{"depth", one.depth},
                                 {"name", one.name},
                                 {"a_ns", one.a_ns},
                                 {"b_ns", one.b_ns},
                                 {"change", one.change}});
    }
    for (const FlameFunction& one : graph.functions) {
        out["functions"].push_back({{"name", one.name},
                                    {"a_ns", one.a_ns},
                                    {"b_ns", one.b_ns},
                                    {"interval_ns", {one.low_ns, one.high_ns}}});
    }
    return out;
}

json pairs_json(const Record& record) {
    json rows = json::array();
    for (const Pair& pair : record.pairs) {
        const auto index = static_cast<std::size_t>(pair.gate);
        const bool known = pair.gate >= 0 && index < record.spec.gates.size();
        rows.push_back({{"gate", known ? record.spec.gates[index].id : std::to_string(pair.gate)},
                        {"number", pair.number},
                        {"attempt", pair.attempt},
                        {"kind", name(pair.kind)},
                        {"coins", pair.coins},
                        {"sealed", pair.sealed},
                        {"discarded", pair.discarded},
                        {"values", pair_values(pair)}});
    }
    return {{"id", record.id},
            {"state", record.state},
            {"pairs", std::move(rows)},
            {"metric", record.analysis ? record.analysis->metric : ""},
            {"d", record.analysis ? json(record.analysis->d) : json::array()}};
}

}  // namespace steady::web
