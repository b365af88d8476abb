// Applies today's rule to recorded numbers.
#include "runner/statistics/check/replay.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "kernels/base/error.h"
#include "runner/statistics/check/replay_metrics.h"
#include "runner/statistics/check/stats_check_methods.h"

namespace steady {

using nlohmann::json;

namespace {

const std::set<std::string> kNoDecision{"harness_change", "design_change", "observation", "anchor",
                                        "policy"};
const std::set<std::string> kHardGates{"compile", "correctness", "crash", "oom"};

std::string text(const json& record, const char* key) {
    const auto found = record.find(key);
    return found == record.end() || !found->is_string() ? "" : found->get<std::string>();
}

// Empty when the engineer neither kept nor dropped a candidate.
std::optional<bool> same_action(const std::string& human, const std::string& verdict) {
    if (human == "accepted") return verdict == "accept";
    if (human == "rejected") return verdict != "accept";
    return std::nullopt;
}

json agreement(const std::optional<bool>& agrees) { return agrees ? json(*agrees) : json(nullptr); }

void not_a_decision(ReplayedRecord& record) {
    record.sentence = "not an A/B decision";
    record.replay = {{"metrics", json::array()},
                     {"verdict", nullptr},
                     {"agrees_with_human", nullptr},
                     {"why", "not an A/B decision"}};
}

void hard_gate(ReplayedRecord& record, const std::string& gate) {
    record.verdict = "reject";
    record.reason = "wrong_output";
    record.agrees = same_action(record.human_decision, record.verdict);
    record.sentence = fmt::format("reject / wrong_output ({}): a failure that needs no statistics",
                                  gate == "correctness" ? "output" : gate);
    record.replay = {{"metrics", json::array()},
                     {"verdict", "REJECT (hard gate)"},
                     {"agrees_with_human", agreement(record.agrees)},
                     {"why", fmt::format("deterministic {} failure, no statistics needed", gate)}};
}

void no_numbers(ReplayedRecord& record) {
    record.verdict = "inconclusive";
    record.agrees = same_action(record.human_decision, record.verdict);
    const bool differs = record.agrees && !*record.agrees;
    record.sentence =
        differs
            ? "inconclusive, the engineer accepted: no number of that decision was recorded in "
              "pairs, so nothing can be judged again"
            : "inconclusive: no paired numbers; the baseline stays, the idea may be tried again";
    record.replay = {
        {"metrics", json::array()},
        {"verdict", "INCONCLUSIVE (no paired numbers recorded)"},
        {"agrees_with_human", agreement(record.agrees)},
        {"why", differs ? "a decision was taken on numbers the rule cannot replay"
                        : "same action as the human (baseline kept) but the record would stay "
                          "re-testable"}};
}

// The clause that the corpus writes about the judged numbers, from their rounded forms.
std::string why_numbers(const ReplayedMetric* primary, std::size_t n_pairs,
                        const ReplayRule& rule) {
    std::string why = fmt::format(
        "{} pair(s): the smallest one-sided p any exact paired test can give is {:g}, {} {:g}",
        n_pairs, std::pow(0.5, real(n_pairs)),
        std::pow(0.5, real(n_pairs)) > rule.alpha / 2 ? "above" : "not above", rule.alpha / 2);
    if (primary == nullptr) return why;
    const auto field = [&](const char* key) { return primary->fields.at(key).get<double>(); };
    return why + fmt::format(
                     "; primary metric {}: mean log speedup {:+.4f} = {:+.2f} sigma_d, "
                     "E_faster={:.3g} (needs {:g}), E_slower={:.3g}; if the true effect equals "
                     "the observed one, about {:.0f} pairs give 95% power",
                     primary->name, field("mean_log_speedup"), field("effect_over_sigma"),
                     field("E_faster_theta0"), 2 / rule.alpha, field("E_slower_theta0"),
                     primary->pairs_for_power);
}

std::string difference_sentence(const ReplayedRecord& record, const ReplayedMetric* primary,
                                std::size_t n_pairs, const ReplayRule& rule) {
    const std::string head =
        fmt::format("{}{}, the engineer {}", record.verdict,
                    record.reason.empty() ? "" : " / " + record.reason, record.human_decision);
    if (record.verdict != "inconclusive")
        return fmt::format("{}: the evidence over {} pairs says otherwise", head, n_pairs);
    if (primary == nullptr)
        return fmt::format("{}: {} pair{} cannot reach p {:g}", head, n_pairs,
                           n_pairs == 1 ? "" : "s", rule.alpha / 2);
    return fmt::format(
        "{}: {:+.1f} % on {} is {:.1f} times a pair's spread, seen in {} pair{}; about {:.0f} "
        "pairs "
        "would settle an effect of that size",
        head, 100 * std::expm1(primary->mean_log), primary->name,
        std::abs(primary->mean_log) / *primary->sigma_d, n_pairs, n_pairs == 1 ? "" : "s",
        primary->pairs_for_power);
}

void judge_numbers(ReplayedRecord& record, const std::vector<ReplayedMetric>& metrics,
                   const ReplayRule& rule) {
    const auto with_sigma = std::find_if(metrics.begin(), metrics.end(), [](const auto& metric) {
        return metric.sigma_d && !metric.d.empty();
    });
    const ReplayedMetric* primary = with_sigma == metrics.end() ? nullptr : &*with_sigma;
    std::size_t n_pairs = 0;
    json list = json::array();
    for (const ReplayedMetric& metric : metrics) {
        n_pairs = std::max(n_pairs, metric.n_pairs);
        list.push_back(metric.fields);
    }
    record.verdict = "inconclusive";
    if (primary != nullptr) {
        const RuleOutcome outcome = decide_gain(primary->d, rule.params(*primary->sigma_d));
        if (outcome.decision == Decision::accept) record.verdict = "accept";
        if (outcome.decision == Decision::reject) record.verdict = "reject";
        record.reason = outcome.sub;
    }
    record.agrees = same_action(record.human_decision, record.verdict);
    const bool differs = record.agrees && !*record.agrees;
    const std::string numbers = why_numbers(primary, n_pairs, rule);
    std::string tail;
    if (differs)
        tail = fmt::format(". DISAGREES: the human {} on too few pairs", record.human_decision);
    else if (record.agrees && record.verdict == "inconclusive")
        tail =
            ". Same action as the human (baseline kept); the rule calls it undecided, not "
            "disproved";
    record.sentence =
        differs ? difference_sentence(record, primary, n_pairs, rule)
                : fmt::format("{}{}: {} pair{}{}", record.verdict,
                              record.reason.empty() ? "" : " / " + record.reason, n_pairs,
                              n_pairs == 1 ? "" : "s",
                              record.verdict == "inconclusive"
                                  ? ", too few to decide; the baseline stays, the idea is not "
                                    "disproved"
                                  : "");
    record.replay = {{"metrics", list},
                     {"verdict", capitals(record.verdict)},
                     {"agrees_with_human", agreement(record.agrees)},
                     {"why", numbers + tail}};
}

ReplayedRecord replay_record(const json& source, const ReplayRule& rule) {
    ReplayedRecord record;
    record.id = source.at("id").get<std::string>();
    record.title = text(source, "title");
    record.human_decision = text(source, "human_decision");
    if (kNoDecision.count(text(source, "record_type")) > 0 || record.human_decision.empty()) {
        not_a_decision(record);
        return record;
    }
    const std::string gate = text(source, "gate_class");
    if (record.human_decision == "rejected" && kHardGates.count(gate) > 0) {
        hard_gate(record, gate);
        return record;
    }
    std::vector<ReplayedMetric> metrics;
    for (const json& metric : source.value("metrics", json::array())) {
        record.drifting |= tokens_drift(metric);
        if (auto replayed = replay_metric(metric, rule)) metrics.push_back(std::move(*replayed));
    }
    if (metrics.empty())
        no_numbers(record);
    else
        judge_numbers(record, metrics, rule);
    if (record.drifting)
        record.sentence +=
            "; its tokens rose by more than 10 % within the run, which alone makes "
            "the run unusable";
    return record;
}

}  // namespace

std::string capitals(std::string word) {
    for (char& c : word) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return word;
}

Replay replay_corpus(const json& corpus) {
    if (!corpus.is_object() || !corpus.contains("records") || !corpus["records"].is_array())
        throw Error(
            "replay: the file is no journal corpus; expected an object {\"format\": "
            "\"journal-corpus v1\", \"records\": [...]}");
    const ReplayRule rule = replay_rule(corpus.value("replay_rule", json::object()));
    Replay replay;
    std::size_t index = 0;
    for (const json& source : corpus["records"]) {
        try {
            replay.records.push_back(replay_record(source, rule));
        } catch (const json::exception& error) {
            throw Error(fmt::format("replay: /records/{} cannot be read: {}", index, error.what()));
        }
        const ReplayedRecord& record = replay.records.back();
        if (!record.agrees)
            ++replay.n_without_decision;
        else
            ++(*record.agrees ? replay.n_agree : replay.n_differ);
        ++index;
    }
    return replay;
}

std::string replay_text(const Replay& replay) {
    std::string out;
    for (const ReplayedRecord& record : replay.records) {
        const char* mark = !record.agrees ? " " : *record.agrees ? "=" : "!";
        out += fmt::format("{} {:9} {}\n", mark, record.id, record.sentence);
    }
    return out + fmt::format(
                     "{} records: {} as the engineer acted, {} different, {} without a "
                     "decision to compare\n",
                     replay.records.size(), replay.n_agree, replay.n_differ,
                     replay.n_without_decision);
}

json replay_json(const Replay& replay) {
    json records = json::array();
    for (const ReplayedRecord& record : replay.records)
        records.push_back(
            {{"id", record.id},
             {"title", record.title},
             {"human_decision", record.human_decision},
             {"verdict", record.verdict.empty() ? json(nullptr) : json(record.verdict)},
             {"reason", record.reason.empty() ? json(nullptr) : json(record.reason)},
             {"agrees_with_human", agreement(record.agrees)},
             {"drifting", record.drifting},
             {"sentence", record.sentence},
             {"replay", record.replay}});
    return {{"format", "journal-replay v1"},
            {"n_records", replay.records.size()},
            {"agree", replay.n_agree},
            {"differ", replay.n_differ},
            {"without_decision", replay.n_without_decision},
            {"records", records}};
}

}  // namespace steady
