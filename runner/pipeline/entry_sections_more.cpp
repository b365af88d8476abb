// The second half of an entry: what somebody checks who doubts the verdict, or wants to go on.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "runner/figures/numbers.h"
#include "runner/pipeline/analysis_pairs.h"
#include "runner/pipeline/entry_data.h"
#include "runner/pipeline/entry_sections.h"
#include "runner/pipeline/op_times.h"
#include "runner/pipeline/text.h"

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

int count_pairs(const Record& record, PairKind kind) {
    return static_cast<int>(
        std::count_if(record.pairs.begin(), record.pairs.end(),
                      [kind](const Pair& pair) { return pair.kind == kind && pair.sealed; }));
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

std::string redacted_value(const std::string& key, const std::string& value) {
    const std::string line = redact(key + "=" + value);
    return line.substr(std::min(line.size(), key.size() + 1));
}

}  // namespace

std::string method(const Record& record) {
    const ScheduleSpec& schedule = record.spec.schedule;
    const Analysis& analysis = *record.analysis;
    const bool duet = schedule.mode == Mode::duet;
    const std::vector<PairRow> rows = pair_rows(record);
    std::string out = "## How it was measured\n\n";
    out += duet ? fmt::format(
                      "- Mode: duet. Both arms in one process over the same weights, "
                      "alternating every {} tokens at the same positions; a new process for "
                      "each pair.\n",
                      schedule.chunk)
                : "- Mode: process pairs. Two processes back to back for each pair.\n";
    out += fmt::format("- Order: one coin per {}, drawn before the first pair from seed {}.\n",
                       duet ? "block" : "pair", record.seed);
    const auto& [low, high] = analysis.aa_band;
    out += fmt::format("- Pairs: {} counted, at most {}. A against A: {} pairs, {}.\n",
                       analysis.pairs, schedule.pairs_max, count_pairs(record, PairKind::aa),
                       low || high ? "band " + figures::interval_text(low, high, 2) + " %"
                                   : std::string("no band"));
    out += "- Discarded: " + discarded_words(rows) + ".\n";
    out += fmt::format(
        "- Per arm and pair: {} warm-up tokens, then {} measured; the steady part is "
        "found, its median counts.\n",
        schedule.warmup_tokens, schedule.tokens);
    out += fmt::format(
        "- Noise: pair values spread by {} (robust standard deviation); the machine's "
        "history said {}.\n",
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
        out += fmt::format(" This machine read {:.1f} GB/s from memory just before.",
                           reply.read_gb_per_s);
    }
    out += " In the column “time”, negative is less time";
    const std::size_t n = profile_processes(reply);
    out += n > 1 ? fmt::format(
                       ", with a 99 % interval; ▲ less, ▼ more, ~ no difference shown. {} "
                       "processes in which the arms took turns",
                       n)
                 : std::string(". One profile of each arm");
    return out + ", taken apart from the timed pairs: it explains, it does not decide.\n\n";
}

std::string checks(const Record& record) {
    Rows rows = {{"check", "status", "finding"}};
    for (const Check& check : record.analysis->checks) {
        const std::string status =
            check.status == "ok" ? "ok" : "**" + escape_markdown(check.status) + "**";
        rows.push_back({escape_markdown(check.name), status, escape_markdown(check.detail)});
    }
    return "## Assumption checks\n\n" +
           (rows.size() > 1 ? table(rows) : std::string("None was made.\n")) + "\n";
}

std::string environment(const Record& record) {
    std::string out = "## Environment\n\n";
    if (const auto& correctness = record.evidence.correctness) {
        out += fmt::format(
            "Correctness over {} positions: top-1 agrees {:.6g}, KL {:.3g} (worst "
            "{:.3g}), largest logit difference {:.3g}, relative {:.3g}{}.\n\n",
            correctness->positions, correctness->top1_agree, correctness->kl, correctness->kl_max,
            correctness->max_abs, correctness->rel_l2,
            correctness->non_finite ? ", **non-finite logits**" : "");
    }
    if (!record.evidence.correctness_failure.empty()) {
        out += "Correctness could not be measured: " +
               escape_markdown(record.evidence.correctness_failure) + "\n\n";
    }
    Rows rows = {{"what", "value"}};
    if (const auto& applied = record.evidence.applied) {
        rows.push_back({"engine build", markdown_code(applied->engine_build)});
        rows.push_back(
            {"model", markdown_code(fmt::format("{} ({}, {} blocks)", applied->model_name,
                                                applied->architecture, applied->n_blocks))});
        for (const auto& [arm, plan] : applied->arms) {
            rows.push_back({fmt::format("{} as it ran", escape_markdown(arm)),
                            markdown_code(applied_words(plan))});
        }
    }
    if (!record.attempts.empty()) {
        const Attempt& last = record.attempts.back();
        rows.push_back({"host", markdown_code(last.host)});
        for (const auto& [key, value] : last.fingerprint) {
            rows.push_back({escape_markdown(key), markdown_code(redacted_value(key, value))});
        }
    }
    out += table(rows);
    if (record.attempts.size() > 1) {
        out += fmt::format("\nMeasured in {} sittings:\n\n", record.attempts.size());
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

std::string earlier(const Record& record) {
    std::string out = "## Earlier attempts\n\n";
    if (record.earlier.empty()) {
        if (record.rerun == 0) return out + "None at this question.\n\n";
        return out + fmt::format(
                         "None that counts: this is run {} of the same file, but runs that were "
                         "accepted, or that had another machine, engine or model, are not "
                         "carried on.\n\n",
                         record.rerun + 1);
    }
    constexpr std::size_t kMostListed = 20;  // the newest; more than that nobody reads
    const std::size_t unlisted =
        record.earlier.size() > kMostListed ? record.earlier.size() - kMostListed : 0;
    if (unlisted > 0) out += fmt::format("{} before these:\n\n", unlisted);
    for (std::size_t i = unlisted; i < record.earlier.size(); ++i) {
        out += fmt::format("- {}\n", markdown_code(record.earlier[i]));
    }
    out += "\n";
    if (const auto& prior = record.evidence.prior) {
        out += fmt::format("Their evidence counts on: log E of a gain starts at {:.2f}. ",
                           prior->log_e_accept);
    }
    return out + "An idea cannot be tried until it passes by chance.\n\n";
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
    out += table({{"of", "SHA-256"},
                  {"experiment", markdown_code(record.spec.sha256)},
                  {"engine", markdown_code(value("engine_sha256"))},
                  {"model", markdown_code(value("model_sha256"))}});
    return out + "\n";
}

}  // namespace steady::entry
