// The second half of an entry: method, profile, checks, environment, conclusions, how to repeat it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "runner/base/text.h"
#include "runner/entry/entry_data.h"
#include "runner/entry/entry_sections.h"
#include "runner/figures/numbers.h"
#include "runner/judge/analysis_pairs.h"
#include "runner/judge/op_times.h"

namespace steady::entry {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string share(double value) { return fmt::format("{:.2f} %", 100 * value); }

std::string discarded_words(const std::vector<PairRow>& rows) {
    std::map<std::string, int> reasons;
    int n = 0;
    for (const PairRow& row : rows) {
        if (!row.discarded.empty()) {
            ++reasons[row.discarded];
            ++n;
        }
    }
    if (n == 0) {
        return "none";
    }
    std::string out = fmt::format("{} of {} measured: ", n, rows.size());
    const char* separator = "";
    for (const auto& [reason, count] : reasons) {
        out += fmt::format("{}{} × {}", separator, count, escape_markdown(reason));
        separator = "; ";
    }
    return out;
}

// The pairs that the band rests on: those of the deciding gate that count, and the host's history.
// Other cells of a matrix measure A against A too; each gate uses its own.
std::string aa_words(const Record& record) {
    const std::vector<Gate>& gates = record.spec.gates;
    std::size_t here = 0;
    for (std::size_t i = 0; i < gates.size(); ++i) {
        if (gates[i].role != Role::decides) continue;
        here = pair_values(record.spec, record.pairs, static_cast<int>(i), PairKind::aa).size();
    }
    const auto& prior = record.evidence.prior;
    const std::size_t before = prior ? prior->history.aa_pairs.size() : 0;
    std::string out = fmt::format("{} pair{}", here, here == 1 ? "" : "s");
    if (before > 0)
        out +=
            fmt::format(" and {} from this machine's history, {} together", before, here + before);
    const auto& [low, high] = record.analysis->aa_band;
    return out + (low || high ? ", band " + figures::interval_text(low, high, 2) + " %"
                              : std::string(", too few for a band"));
}

std::string bandwidth(const protocol::ProfileRow& row) {
    return row.ns_per_token > 0 && row.bytes_per_token > 0
               ? fmt::format("{:.1f}", row.bytes_per_token / row.ns_per_token)
               : "—";
}

// What the processes tell of an op's time; a bare number where each arm was measured once.
std::string time_change(const OpTime& time) {
    if (!time.change) return "—";
    const auto& [low, high] = time.interval;
    if (!low || !high) return figures::percent(*time.change);
    return fmt::format("{} {}", figures::arrow(-*high, -*low),
                       figures::effect_text(time.change, low, high));
}

std::string number_of(const std::map<std::string, double>& values, const std::string& arm,
                      const char* format) {
    const auto found = values.find(arm);
    return found == values.end() ? "—" : fmt::format(fmt::runtime(format), found->second);
}

std::string applied_words(const protocol::AppliedArm& arm) {
    std::string out;
    for (const auto& [op, kernel] : arm.kernels) {
        out +=
            fmt::format("{}{}={} ({})", out.empty() ? "" : ", ", op, kernel.variant, kernel.reason);
    }
    for (const auto& [step, alternative] : arm.steps) {
        out += fmt::format(", step {}={}", step, alternative);
    }
    for (const auto& [flag, value] : arm.engine_flags) {
        out += fmt::format(", {}={}", flag, value);
    }
    return out + fmt::format(", threads={}", arm.threads);
}

std::string per_arm_words(const Spec& spec) {
    const ScheduleSpec& schedule = spec.schedule;
    if (!is_outside(spec)) {
        return fmt::format(
            "- Per arm and pair: {} warm-up tokens, then {} measured; the value is the median of "
            "the "
            "steady part.\n",
            schedule.warmup_tokens, schedule.tokens);
    }
    if (schedule.mode == Mode::lockstep) {
        return fmt::format(
            "- Per arm and pair: {} turns, after {} that are left out; the median of the ratios "
            "within blocks counts.\n",
            schedule.inner, schedule.warmup_runs);
    }
    const std::string runs = schedule.inner == 1
                                 ? "one run"
                                 : fmt::format("{} runs, whose median counts", schedule.inner);
    return fmt::format("- Per arm and pair: {}; {} of each arm before the first pair left out.\n",
                       runs,
                       schedule.warmup_runs == 1 ? std::string("one run")
                                                 : fmt::format("{} runs", schedule.warmup_runs));
}

// What the engine says about the outputs, or what was looked at in a command's.
std::string outputs_words(const OutputsReport& outputs) {
    if (outputs.engine) {
        const protocol::CorrectnessReply& reply = *outputs.engine;
        return fmt::format(
            "Correctness over {} positions: top-1 agrees {:.6g}, KL {:.3g} (worst "
            "{:.3g}), largest logit difference {:.3g}, relative {:.3g}{}.\n\n",
            reply.positions, reply.top1_agree, reply.kl, reply.kl_max, reply.max_abs, reply.rel_l2,
            reply.non_finite ? ", **non-finite logits**" : "");
    }
    std::string out = "Before any timing:\n\n";
    for (const OutputCheck& check : outputs.checks) {
        out += fmt::format("- {}: {}{}\n", escape_markdown(check.gate),
                           escape_markdown(check.detail), check.held ? "" : " (**not held**)");
    }
    for (const Proof& proof : outputs.proofs) {
        out += fmt::format("- arm {}: {}{}\n", escape_markdown(proof.arm),
                           escape_markdown(proof.detail), proof.held ? "" : " (**not held**)");
    }
    return out + "\n";
}

void add_program(Rows& rows, const ProgramReport& report) {
    if (const auto& engine = report.engine) {
        rows.push_back({"engine build", markdown_code(engine->engine_build)});
        rows.push_back(
            {"model", markdown_code(fmt::format("{} ({}, {} blocks)", engine->model_name,
                                                engine->architecture, engine->n_blocks))});
        for (const auto& [arm, plan] : engine->arms) {
            rows.push_back({fmt::format("{} as it ran", escape_markdown(arm)),
                            markdown_code(applied_words(plan))});
        }
        return;
    }
    for (const auto& [name, arm] : report.arms) {
        for (const auto& [what, value] : arm.facts) {
            rows.push_back({fmt::format("{}: {}", escape_markdown(name), escape_markdown(what)),
                            markdown_code(redact(value))});
        }
    }
}

std::string redacted_value(const std::string& key, const std::string& value) {
    const std::string line = redact(key + "=" + value);
    return line.substr(std::min(line.size(), key.size() + 1));
}

std::vector<std::string> last_lines(const std::string& text, std::size_t n) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    if (lines.size() > n) lines.erase(lines.begin(), lines.end() - static_cast<long>(n));
    return lines;
}

// Everything else that the pairs hold, each with its own interval.
std::string other_metrics(const Record& record) {
    Rows rows = {{"metric", "A", "B", "change, 95 % interval", "pairs"}};
    for (const MetricRow& row : metric_rows(record)) {
        rows.push_back({markdown_code(row.metric), value_words(row.metric, row.a),
                        value_words(row.metric, row.b), effect_words(row.effect, row.interval),
                        std::to_string(row.pairs)});
    }
    if (rows.size() == 1) return "";
    return "## Everything that was measured\n\n" + table(rows) +
           "\nMedians of the counted pairs; positive is better. Only the gates decide.\n\n";
}

std::string build_logs(const Record& record) {
    std::string out;
    if (!record.evidence.applied) return out;
    for (const auto& [name, arm] : record.evidence.applied->arms) {
        if (arm.log.empty()) continue;
        if (out.empty()) out = "## How the builds ended\n\n";
        out += fmt::format("{}:\n\n", escape_markdown(name));
        for (const std::string& line : last_lines(arm.log, 8)) {
            out += "    " + safe_line(line) + "\n";
        }
        out += "\n";
    }
    return out;
}

std::string mode_words(const ScheduleSpec& schedule) {
    switch (schedule.mode) {
        case Mode::duet:
            return fmt::format(
                "- Mode: duet. Both arms in one process over the same weights, alternating every "
                "{} tokens at the same positions; a new process for each pair.\n",
                schedule.chunk);
        case Mode::lockstep:
            return "- Mode: lockstep. Two processes for each pair, both alive, taking turns.\n";
        case Mode::process_pairs:
            break;
    }
    return "- Mode: process pairs. Two processes back to back for each pair.\n";
}

}  // namespace

std::string method(const Record& record) {
    const ScheduleSpec& schedule = record.spec.schedule;
    const Analysis& analysis = *record.analysis;
    const bool pairs = schedule.mode == Mode::process_pairs;
    const std::vector<PairRow> rows = pair_rows(record);
    std::string out = "## How it was measured\n\n";
    out += mode_words(schedule);
    out +=
        fmt::format("- Order: one random bit per {}, drawn before the first pair from seed {}.\n",
                    pairs ? "pair" : "block", record.seed);
    out += fmt::format("- Pairs: {} counted, at most {}. A against A: {}.\n", analysis.pairs,
                       schedule.pairs_max, aa_words(record));
    out += "- Discarded: " + discarded_words(rows) + ".\n";
    out += per_arm_words(record.spec);
    out += fmt::format(
        "- Noise: pair values spread by {} (robust standard deviation); the A/A "
        "history of this machine: {}.\n",
        share(analysis.sigma_d), share(analysis.sigma0));
    if (const Gate* gate = deciding_gate(record.spec)) {
        out += fmt::format(
            "- Error bounds: false accept {:g} %, false reject {:g} %, at whatever pair "
            "the run stops.\n",
            100 * gate->alpha, 100 * gate->beta);
    }
    return out + fmt::format("- Time: {}.\n\n", seconds_words(record.seconds));
}

std::string profile(const Record& record) {
    if (is_outside(record.spec)) return other_metrics(record) + build_logs(record);
    std::string out = "## Where the time went\n\n";
    if (!record.evidence.profile) {
        return out + "Not measured.\n\n";
    }
    const protocol::ProfileReply& reply = *record.evidence.profile;
    Rows rows = {{"op", "variant", "calls per token", "A per token", "B per token", "time",
                  "A GB/s", "B GB/s"}};
    for (const OpTime& time : op_times(reply)) {
        const protocol::ProfileRow &a = time.a, &b = time.b;
        const std::string variant =
            a.variant == b.variant || b.variant.empty() ? markdown_code(a.variant)
            : a.variant.empty()                         ? markdown_code(b.variant)
                                : markdown_code(a.variant) + " → " + markdown_code(b.variant);
        const double calls_a = a.calls_per_token;
        const double calls_b = b.calls_per_token;
        rows.push_back({escape_markdown(time.op), variant,
                        calls_a == calls_b ? fmt::format("{:g}", calls_a)
                                           : fmt::format("{:g} → {:g}", calls_a, calls_b),
                        a.ns_per_token > 0 ? figures::duration(a.ns_per_token) : "—",
                        b.ns_per_token > 0 ? figures::duration(b.ns_per_token) : "—",
                        time_change(time), bandwidth(a), bandwidth(b)});
    }
    out += table(rows) + "\n";
    out += fmt::format("Launches per token: A {}, B {}.",
                       number_of(reply.launches_per_token, "A", "{:g}"),
                       number_of(reply.launches_per_token, "B", "{:g}"));
    if (!reply.barrier_ns_per_token.empty()) {
        const auto barrier = [&](const char* arm) {
            const auto found = reply.barrier_ns_per_token.find(arm);
            return found == reply.barrier_ns_per_token.end() ? std::string("—")
                                                             : figures::duration(found->second);
        };
        out +=
            fmt::format(" Waiting at barriers per token: A {}, B {}.", barrier("A"), barrier("B"));
    }
    if (reply.read_gb_per_s > 0) {
        out += fmt::format(" {} read {:.1f} GB/s from memory just before.",
                           reply.read_where == "gpu" ? "The GPU" : "This machine",
                           reply.read_gb_per_s);
    }
    out += " In the column “time”, negative is less time";
    const std::size_t n = profile_processes(reply);
    out += n > 1 ? fmt::format(
                       ", with a 99 % interval; ▲ less, ▼ more, ~ no difference shown. {} "
                       "processes in which the arms took turns",
                       n)
                 : std::string(". One profile of each arm");
    return out +
           ", measured separately from the timed pairs. The profile explains the result and "
           "decides nothing.\n\n";
}

std::string checks(const Record& record) {
    Rows rows = {{"check", "status", "finding"}};
    for (const Check& check : record.analysis->checks) {
        const std::string status =
            check.status == "ok" ? "ok" : "**" + escape_markdown(check.status) + "**";
        rows.push_back({escape_markdown(check.name), status, escape_markdown(check.detail)});
    }
    return "## Assumption checks\n\n" +
           (rows.size() > 1 ? table(rows) : std::string("No check was made.\n")) + "\n";
}

std::string environment(const Record& record) {
    std::string out = "## Environment\n\n";
    if (const auto& correctness = record.evidence.correctness) {
        out += outputs_words(*correctness);
    }
    if (!record.evidence.correctness_failure.empty()) {
        out += "Correctness could not be measured: " +
               escape_markdown(record.evidence.correctness_failure) + "\n\n";
    }
    Rows rows = {{"what", "value"}};
    if (record.evidence.applied) add_program(rows, *record.evidence.applied);
    if (!record.attempts.empty()) {
        const Attempt& last = record.attempts.back();
        rows.push_back({"host", markdown_code(last.host)});
        for (const auto& [key, value] : last.fingerprint) {
            rows.push_back({escape_markdown(key), markdown_code(redacted_value(key, value))});
        }
    }
    out += table(rows);
    if (record.attempts.size() > 1) {
        out += fmt::format("\nMeasured in {} attempts:\n\n", record.attempts.size());
        // How the last one ended is written after its entry, so it is not part of the entry.
        for (const Attempt& attempt : record.attempts) {
            const bool last = &attempt == &record.attempts.back();
            out += fmt::format("- from {} on {}{}\n", escape_markdown(attempt.began),
                               escape_markdown(attempt.host),
                               last ? "" : ", ended by: " + escape_markdown(attempt.how));
        }
    }
    return out + "\n";
}

std::string meaning(const Record& record) {
    std::string out = "## What this rules out, and when to retry\n\n";
    for (const std::string& sentence : conclusions(record)) {
        out += "- " + escape_markdown(sentence) + "\n";
    }
    return out + "\n";
}

namespace {

std::string listed(const std::vector<std::string>& ids) {
    constexpr std::size_t kMostListed = 20;  // the newest
    const std::size_t unlisted = ids.size() > kMostListed ? ids.size() - kMostListed : 0;
    std::string out;
    if (unlisted > 0) out += fmt::format("{} before these:\n\n", unlisted);
    for (std::size_t i = unlisted; i < ids.size(); ++i) {
        out += fmt::format("- {}\n", markdown_code(ids[i]));
    }
    return out + "\n";
}

}  // namespace

std::string earlier(const Record& record) {
    std::string out = "## Earlier attempts\n\n";
    if (record.earlier.empty()) {
        if (record.rerun == 0 && record.submitted_before.empty()) {
            return out + "None on this question.\n\n";
        }
        if (!record.submitted_before.empty()) {
            out += "The same question was submitted before:\n\n" + listed(record.submitted_before);
        }
        return out + fmt::format(
                         "None is carried over{}. Runs that were "
                         "accepted, or that had another machine, {}, do not count.\n\n",
                         record.rerun > 0
                             ? fmt::format(": this is run {} of the same file", record.rerun + 1)
                             : "",
                         is_outside(record.spec) ? "program or library" : "engine or model");
    }
    out += listed(record.earlier);
    std::vector<std::string> others;
    for (const std::string& id : record.submitted_before) {
        const auto& counts = record.earlier;
        if (std::find(counts.begin(), counts.end(), id) == counts.end()) others.push_back(id);
    }
    if (!others.empty()) out += "Submitted before too, and not carried over:\n\n" + listed(others);
    if (const auto& prior = record.evidence.prior) {
        out += fmt::format("Their evidence is carried over: ln E of a gain starts at {:.2f}. ",
                           prior->log_e_accept);
    }
    return out + "Repeated attempts therefore cannot pass by chance.\n\n";
}

std::string repeat(const Record& record) {
    const Fingerprint none;
    const Fingerprint& print = record.attempts.empty() ? none : record.attempts.back().fingerprint;
    const auto value = [&](const char* key) {
        const auto found = print.find(key);
        return found == print.end() ? std::string("not recorded") : found->second;
    };
    std::string out = "## Repeat\n\n```sh\n";
    out += fmt::format(
        "steady rerun {0}            # the same arms, new pairs, a replay verdict\n"
        "steady decide {0}           # this verdict again from the stored samples\n"
        "steady show {0} --pairs     # every pair\n```\n\n",
        record.id);
    Rows rows = {{"of", "SHA-256"}, {"experiment", markdown_code(record.spec.sha256)}};
    if (is_outside(record.spec)) {
        for (const auto& [arm, key] : {std::pair<const char*, std::string>{"A", "program_a"},
                                       {"B", "program_b"},
                                       {"B0", "program_b0"}}) {
            if (!record.spec.arms.contains(arm)) continue;
            rows.push_back({fmt::format("{}'s program", arm),
                            markdown_code(value((key + "_sha256").c_str()))});
            rows.push_back({fmt::format("{}'s libraries", arm),
                            markdown_code(value((key + "_libraries_sha256").c_str()))});
        }
    } else {
        rows.push_back({"engine", markdown_code(value("engine_sha256"))});
        rows.push_back({"model", markdown_code(value("model_sha256"))});
    }
    return out + table(rows) + "\n";
}

}  // namespace steady::entry
