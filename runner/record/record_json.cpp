// One list of fields per type serves both directions (record_fields.h): two
// hand-written ones would drift apart.
#include "runner/record/record_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <type_traits>

#include "engine/protocol/session_json.h"
#include "kernels/base/error.h"
#include "runner/base/json_fields.h"

namespace steady {

using Json = nlohmann::json;
using record_fields::decode;
using record_fields::encode;

// Found by name from record_fields, hence not in an unnamed namespace.
constexpr const char* kVerdicts[] = {"accept", "reject", "inconclusive", "invalid"};
constexpr const char* kKinds[] = {"measure", "aa", "control", "warmup"};
constexpr const char* kLevels[] = {"correctness", "micro", "block", "model"};
constexpr const char* kRoles[] = {"advice", "guard", "decides"};
constexpr auto& words(Verdict) { return kVerdicts; }
constexpr auto& words(PairKind) { return kKinds; }
constexpr auto& words(Level) { return kLevels; }
constexpr auto& words(Role) { return kRoles; }

template <class T, class Type>
concept SameAs = std::is_same_v<std::remove_const_t<T>, Type>;

}  // namespace steady

// Session replies have a strict JSON form of their own.
namespace steady::protocol {

inline nlohmann::json as_json(const ProfileReply& value) { return value; }
inline void from_own_json(const nlohmann::json& in, const std::string& where, ProfileReply& value) {
    value = strict_from_json<ProfileReply>(in, where);
}

// Listed here again: a candidate that computes NaN has NaN divergences, and the record keeps them.
template <class Visit, class T>
requires std::is_same_v<std::remove_const_t<T>, CorrectnessReply>
void fields(Visit& visit, T& value) {
    visit("nonce", value.nonce);
    visit("positions", value.positions);
    visit("top1_agree", value.top1_agree);
    visit("kl", value.kl);
    visit("kl_max", value.kl_max);
    visit("max_abs", value.max_abs);
    visit("rel_l2", value.rel_l2);
    visit("non_finite", value.non_finite);
}

}  // namespace steady::protocol

namespace steady {

template <class Visit, SameAs<RanSetting> T>
void fields(Visit& visit, T& value) {
    visit("value", value.value);
    visit("used", value.used);
    visit("used_at_first", value.used_at_first);
    visit("follows", value.follows);
}

template <class Visit, SameAs<ArmReport> T>
void fields(Visit& visit, T& value) {
    visit("settings", value.settings);
    visit("facts", value.facts);
    visit("log", value.log);
}

template <class Visit, SameAs<OutputCheck> T>
void fields(Visit& visit, T& value) {
    visit("gate", value.gate);
    visit("need", value.need);
    visit("held", value.held);
    visit("detail", value.detail);
}

template <class Visit, SameAs<Proof> T>
void fields(Visit& visit, T& value) {
    visit("arm", value.arm);
    visit("rule", value.rule);
    visit("text", value.text);
    visit("held", value.held);
    visit("detail", value.detail);
}

// What every program says, without the words of steady-engine's own.
template <class Visit, SameAs<ProgramReport> T>
void fields(Visit& visit, T& value) {
    visit("arms", value.arms);
    visit("refused", value.refused);
    visit("detail", value.detail);
}

template <class Visit, SameAs<OutputsReport> T>
void fields(Visit& visit, T& value) {
    visit("checks", value.checks);
    visit("proofs", value.proofs);
    visit("baseline_failed", value.baseline_failed);
    visit("units", value.units);
}

// A report of steady-engine is kept as the engine's own reply: so records of every age read alike.
inline Json as_json(const ProgramReport& value) {
    if (value.engine) return *value.engine;
    record_fields::Writer writer;
    fields(writer, value);
    return std::move(writer.out);
}

inline void from_own_json(const Json& in, const std::string& where, ProgramReport& value) {
    if (in.is_object() && in.contains("engine_build")) {
        value = protocol::strict_from_json<protocol::OpenReply>(in, where);
        return;
    }
    const record_fields::Place place{where};
    record_fields::Reader reader{in, place, {}};
    fields(reader, value);
    reader.finish();
}

inline Json as_json(const OutputsReport& value) {
    if (value.engine) return encode(*value.engine);
    record_fields::Writer writer;
    fields(writer, value);
    return std::move(writer.out);
}

inline void from_own_json(const Json& in, const std::string& where, OutputsReport& value) {
    const record_fields::Place place{where};
    if (in.is_object() && in.contains("top1_agree")) {
        protocol::CorrectnessReply reply;
        decode(in, place, reply);
        value = reply;
        return;
    }
    record_fields::Reader reader{in, place, {}};
    fields(reader, value);
    reader.finish();
}

template <class Visit, SameAs<Interval> T>
void fields(Visit& visit, T& value) {
    visit("low", value.low);
    visit("high", value.high);
}

template <class Visit, SameAs<Pair> T>
void fields(Visit& visit, T& value) {
    visit("gate", value.gate);
    visit("number", value.number);
    visit("attempt", value.attempt);
    visit("kind", value.kind);
    visit("coins", value.coins);
    visit("discarded", value.discarded);
    visit("sealed", value.sealed);
    visit("a", value.a);
    visit("b", value.b);
}

template <class Visit, SameAs<GateResult> T>
void fields(Visit& visit, T& value) {
    visit("id", value.id);
    visit("metric", value.metric);
    visit("level", value.level);
    visit("role", value.role);
    visit("outcome", value.outcome);
    visit("detail", value.detail);
    visit("effect", value.effect);
    visit("interval", value.interval);
    visit("pairs", value.pairs);
    visit("log_e_accept", value.log_e_accept);
    visit("log_e_reject", value.log_e_reject);
    visit("log_e_regression", value.log_e_regression);
}

template <class Visit, SameAs<Check> T>
void fields(Visit& visit, T& value) {
    visit("name", value.name);
    visit("status", value.status);
    visit("detail", value.detail);
}

template <class Visit, SameAs<MachineState> T>
void fields(Visit& visit, T& value) {
    visit("fast", value.fast);
    visit("slow", value.slow);
    visit("p", value.p);
    visit("gap", value.gap);
    visit("depends", value.depends);
}

template <class Visit, SameAs<PlacementSpread> T>
void fields(Visit& visit, T& value) {
    visit("medians", value.medians);
    visit("pairs", value.pairs);
    visit("spread", value.spread);
    visit("p", value.p);
    visit("depends", value.depends);
}

template <class Visit, SameAs<Dependence> T>
void fields(Visit& visit, T& value) {
    visit("machine_state", value.machine_state);
    visit("placements", value.placements);
}

template <class Visit, SameAs<ClockRange> T>
void fields(Visit& visit, T& value) {
    visit("lowest", value.lowest);
    visit("median", value.median);
    visit("highest", value.highest);
}

template <class Visit, SameAs<ArmClocks> T>
void fields(Visit& visit, T& value) {
    visit("sm", value.sm);
    visit("memory", value.memory);
    visit("lowered", value.lowered);
    visit("reasons", value.reasons);
}

template <class Visit, SameAs<ClockReport> T>
void fields(Visit& visit, T& value) {
    visit("a", value.a);
    visit("b", value.b);
    visit("pairs", value.pairs);
    visit("change", value.change);
    visit("differ", value.differ);
    visit("throttled", value.throttled);
}

template <class Visit, SameAs<Analysis> T>
void fields(Visit& visit, T& value) {
    visit("verdict", value.verdict);
    visit("reason", value.reason);
    visit("sentence", value.sentence);
    visit("metric", value.metric);
    visit("effect", value.effect);
    visit("interval", value.interval);
    visit("pairs", value.pairs);
    visit("discarded", value.discarded);
    visit("why", value.why);
    visit("gates", value.gates);
    visit("checks", value.checks);
    visit("aa_band", value.aa_band);
    visit("sigma_d", value.sigma_d);
    visit("sigma0", value.sigma0);
    visit("prediction", value.prediction);
    visit("d", value.d);
    visit("narrowing", value.narrowing);
    visit("log_e_over_pairs", value.log_e_over_pairs);
    visit.maybe("dependence", value.dependence);
    visit.maybe("clocks", value.clocks);
    visit("contradiction", value.contradiction);
    visit("stop", value.stop);
    visit("next_gate", value.next_gate);
}

template <class Visit, SameAs<Attempt> T>
void fields(Visit& visit, T& value) {
    visit("epoch", value.epoch);
    visit("worker", value.worker);
    visit("host", value.host);
    visit("fingerprint", value.fingerprint);
    visit("began", value.began);
    visit("ended", value.ended);
    visit("how", value.how);
}

template <class Visit, SameAs<HostHistory> T>
void fields(Visit& visit, T& value) {
    visit("sigma0", value.sigma0);
    visit("aa_pairs", value.aa_pairs);
}

template <class Visit, SameAs<Prior> T>
void fields(Visit& visit, T& value) {
    visit("history", value.history);
    visit("attempts", value.attempts);
    visit("log_e_accept", value.log_e_accept);
    visit("log_e_reject", value.log_e_reject);
    visit.maybe("rule", value.rule);
}

template <class Visit, SameAs<SweepPoint> T>
void fields(Visit& visit, T& value) {
    visit("values", value.values);
    visit("id", value.id);
    visit("verdict", value.verdict);
    visit("reason", value.reason);
    visit("effect", value.effect);
    visit("interval", value.interval);
    visit("pairs", value.pairs);
}

template <class Visit, SameAs<SweepReport> T>
void fields(Visit& visit, T& value) {
    visit("sweep", value.sweep);
    visit("metric", value.metric);
    visit("points", value.points);
    visit("chosen", value.chosen);
}

template <class Visit, SameAs<Evidence> T>
void fields(Visit& visit, T& value) {
    visit("prior", value.prior);
    visit("applied", value.applied);
    visit("correctness", value.correctness);
    visit("correctness_failure", value.correctness_failure);
    visit("profile", value.profile);
    visit.maybe("sweep", value.sweep);
}

template <class Visit, SameAs<Record> T>
void fields(Visit& visit, T& value) {
    visit("id", value.id);
    visit("run", value.run_id);
    visit("published", value.published);
    visit("job", value.job);
    visit("rerun", value.rerun);
    visit("state", value.state);
    visit("note", value.note);
    visit("question_sha", value.question_sha);
    visit("seed", value.seed);
    visit("pairs", value.pairs);
    visit("evidence", value.evidence);
    visit("attempts", value.attempts);
    visit("earlier", value.earlier);
    visit("analysis", value.analysis);
    visit("submitted_at", value.submitted_at);
    visit("decided_at", value.decided_at);
    visit("seconds", value.seconds);
    visit("journal_path", value.journal_path);
}

namespace {

const record_fields::Place kRecord{"record"};

}  // namespace

void to_json(Json& out, const ProgramReport& value) { out = encode(value); }
void from_json(const Json& in, ProgramReport& value) { decode(in, kRecord, value); }

void to_json(Json& out, const OutputsReport& value) { out = encode(value); }
void from_json(const Json& in, OutputsReport& value) { decode(in, kRecord, value); }
void to_json(Json& out, const Pair& value) { out = encode(value); }
void from_json(const Json& in, Pair& value) { decode(in, kRecord, value); }
void to_json(Json& out, const Analysis& value) { out = encode(value); }
void from_json(const Json& in, Analysis& value) { decode(in, kRecord, value); }
void to_json(Json& out, const Prior& value) { out = encode(value); }
void from_json(const Json& in, Prior& value) { decode(in, kRecord, value); }
void to_json(Json& out, const SweepReport& value) { out = encode(value); }
void from_json(const Json& in, SweepReport& value) { decode(in, kRecord, value); }
void to_json(Json& out, const Evidence& value) { out = encode(value); }
void from_json(const Json& in, Evidence& value) { decode(in, kRecord, value); }
void to_json(Json& out, const Attempt& value) { out = encode(value); }
void from_json(const Json& in, Attempt& value) { decode(in, kRecord, value); }

void to_json(Json& out, const Record& value) {
    record_fields::Writer writer;
    fields(writer, value);
    const std::string& text = value.spec_text.empty() ? value.spec.canonical : value.spec_text;
    writer.out["spec"] = text.empty() ? Json(nullptr) : Json::parse(text);
    writer.out["format"] = kRecordFormat;
    out = std::move(writer.out);
}

void from_json(const Json& in, Record& value) {
    const bool ours = in.is_object() && in.contains("spec") && in.contains("format") &&
                      in.at("format") == kRecordFormat;
    if (!ours) {
        throw Error{fmt::format("record: no \"format\": \"{}\" with a spec; export it again",
                                kRecordFormat)};
    }
    record_fields::Reader reader{in, kRecord, {"spec", "format"}};
    fields(reader, value);
    reader.finish();
    value.spec = {};
    value.spec_text.clear();
    if (in.at("spec").is_null()) {
        return;
    }
    const SpecResult result = parse_spec(in.at("spec").dump(), "");
    if (!result.spec) {
        throw Error{"record/spec: " + describe(result.errors.at(0), "spec")};
    }
    value.spec = *result.spec;
    value.spec_text = value.spec.canonical;
}

std::string record_text(const Record& record) { return Json(record).dump(1) + "\n"; }

Record record_from_text(const std::string& text) {
    const Json in = Json::parse(text, nullptr, false);
    if (in.is_discarded()) {
        throw Error{"record: the text is no JSON; export it again"};
    }
    return in.get<Record>();
}

Json interval_json(const Interval& interval) {
    return Json::array({encode(interval.low), encode(interval.high)});
}

}  // namespace steady
