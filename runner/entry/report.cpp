// Plain text is aligned by characters, not bytes, since minus signs and arrows are longer in UTF-8.
#include "runner/entry/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "runner/base/text.h"
#include "runner/entry/entry_data.h"
#include "runner/entry/entry_sections.h"
#include "runner/figures/numbers.h"
#include "runner/judge/outcome_text.h"

namespace steady {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string upper(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
    return text;
}

// Columns two spaces apart; the last one is not padded.
std::string aligned(const Rows& rows, const std::string& indent) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], count_characters(row[i]));
        }
    }
    std::string out;
    for (const auto& row : rows) {
        std::string line = indent;
        for (std::size_t i = 0; i < row.size(); ++i) {
            line += row[i];
            if (i + 1 < row.size()) {
                line += std::string(widths[i] - count_characters(row[i]) + 2, ' ');
            }
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + "\n";
    }
    return out;
}

std::string verdict_words(const Record& record) {
    if (!record.analysis) {
        return record.state.empty() ? "not decided" : safe_line(record.state);
    }
    std::string out = name(record.analysis->verdict);
    return record.analysis->reason.empty() ? out : out + " / " + safe_line(record.analysis->reason);
}

std::string mark_of(const Record& record) {
    if (!record.analysis) {
        return "…";
    }
    switch (record.analysis->verdict) {
        case Verdict::accept:
            return "✅";
        case Verdict::reject:
            return "❌";
        case Verdict::inconclusive:
            return "❔";
        case Verdict::invalid:
            return "⛔";
    }
    return "";
}

std::string color_of(const Analysis& analysis) {
    switch (analysis.verdict) {
        case Verdict::accept:
            return "\x1b[1;32m";
        case Verdict::reject:
            return "\x1b[1;31m";
        default:
            return "\x1b[1;33m";
    }
}

std::string number_words(const Record& record) {
    return record.analysis ? effect_words(record.analysis->effect, record.analysis->interval) : "—";
}

bool needs_attention(const GateResult& gate) {
    return gate.outcome == "fail" || gate.outcome == "open";
}

std::string gates_summary(const Analysis& analysis) {
    const auto count = [&](const char* outcome) {
        return std::count_if(analysis.gates.begin(), analysis.gates.end(),
                             [&](const GateResult& gate) { return gate.outcome == outcome; });
    };
    std::string out = fmt::format("{} of {} gates passed", count("pass"), analysis.gates.size());
    for (const GateResult& gate : analysis.gates) {
        if (needs_attention(gate)) {
            out += fmt::format("; {} {}", gate.id, gate.outcome == "fail" ? "failed" : "open");
        }
    }
    return out;
}

Rows gate_rows(const Record& record) {
    Rows rows = {{"gate", "level", "role", "outcome", "metric", "effect", "pairs", ""}};
    if (!record.analysis) {
        for (const Gate& gate : record.spec.gates) {
            rows.push_back({safe_line(gate.id), level_words(record.spec, gate.level),
                            name(gate.role), "pending", safe_line(gate.metric), "—", "—", ""});
        }
        return rows;
    }
    for (const GateResult& gate : record.analysis->gates) {
        rows.push_back({safe_line(gate.id), level_words(record.spec, gate.level), name(gate.role),
                        gate.outcome == "fail" ? "FAIL" : safe_line(gate.outcome),
                        safe_line(gate.metric), effect_words(gate.effect, gate.interval),
                        gate.pairs > 0 ? std::to_string(gate.pairs) : "—", safe_line(gate.detail)});
    }
    return rows;
}

std::string checks_line(const Analysis& analysis) {
    if (analysis.checks.empty()) {
        return "";
    }
    std::string flags;
    std::size_t n_ok = 0, n_open = 0;
    for (const Check& check : analysis.checks) {
        if (check.status == "ok") {
            ++n_ok;
        } else if (check.status == "not_measured") {
            ++n_open;
        } else {
            flags += fmt::format("; {} {}: {}", safe_line(check.name), safe_line(check.status),
                                 safe_line(check.detail));
        }
    }
    if (n_open > 0) flags += fmt::format("; {} need more pairs", n_open);
    return fmt::format("Checks: {} ok{}\n", n_ok, flags);
}

std::string head(const Record& record, const ShowOptions& options) {
    const std::string word = upper(verdict_words(record));
    const bool paint = options.color && record.analysis;
    std::string out = (paint ? color_of(*record.analysis) : "") + word + (paint ? "\x1b[0m" : "") +
                      "  " + safe_line(record.id) + "\n";
    if (record.analysis) {
        out += safe_line(outcome_sentence(record)) + "\n";
        if (!record.analysis->contradiction.empty()) {
            out += fmt::format(
                "{}The levels contradict each other: {}.{}\n", options.color ? "\x1b[31m" : "",
                safe_line(record.analysis->contradiction), options.color ? "\x1b[0m" : "");
        }
    }
    if (!record.note.empty()) {
        out += "Note: " + safe_line(record.note) + "\n";
    }
    return out;
}

// What besides a quieter machine makes pairs spread less; "" or another half of the sentence.
std::string against_noise(const Record& record) {
    const Spec& spec = record.spec;
    if (is_outside(spec)) {
        const bool wall =
            spec.schedule.mode == Mode::process_pairs && record.analysis->metric == "wall_seconds";
        return wall ? ", or compare cpu_seconds" : "";
    }
    if (record.attempts.empty()) return "";
    const auto has = [](const ArmSpec& arm, const char* flag, const char* value) {
        const auto found = arm.engine_flags.find(flag);
        return found != arm.engine_flags.end() && found->second.starts_with(value);
    };
    const Fingerprint& facts = record.attempts.back().fingerprint;
    const auto cpus = facts.find("cpus");
    const bool wander =
        cpus != facts.end() && spec.subject.threads > 1 &&
        spec.subject.threads < std::atoi(cpus->second.c_str()) &&
        std::none_of(spec.arms.begin(), spec.arms.end(), [&](const auto& arm) {
            return has(arm.second, "pin", "on") || has(arm.second, "device", "cuda");
        });
    return wander ? ", or with threads bound to CPUs (engine_flags.pin on, in both arms)" : "";
}

std::string next_steps(const Record& record) {
    const std::string id = safe_line(record.id);
    if (!record.analysis) {
        const std::string again =
            record.state == "failed" ? fmt::format("steady requeue {} · ", id) : "";
        return fmt::format("Next: {}steady show {} --pairs\n", again, id);
    }
    std::string out = "Next: ";
    if (!record.journal_path.empty()) {
        out += safe_line(record.journal_path) + " · ";
    }
    if (record.analysis->reason == "machine_too_noisy") {
        out +=
            fmt::format("repeat when the machine is quieter, {}or with a larger worth{} · ",
                        is_outside(record.spec) ? "with more runs per turn (schedule.inner) " : "",
                        against_noise(record));
    } else if (record.analysis->verdict == Verdict::inconclusive && record.analysis->pairs > 0) {
        out += "raise schedule.pairs.max and run the file again · ";
    }
    return out + fmt::format("steady show {0} --pairs · steady rerun {0}\n", id);
}

}  // namespace

int counted_pairs(const Record& record) {
    if (record.analysis) {
        return record.analysis->pairs;
    }
    return static_cast<int>(
        std::count_if(record.pairs.begin(), record.pairs.end(), [&record](const Pair& pair) {
            const auto gate = static_cast<std::size_t>(pair.gate);
            return gate < record.spec.gates.size() &&
                   record.spec.gates[gate].level == Level::model &&
                   pair.kind == PairKind::measure && pair.sealed && pair.discarded.empty();
        }));
}

std::string report_markdown(const std::vector<Record>& records) {
    Rows rows = {{"", "experiment", "verdict", "metric", "effect, 95 % interval", "pairs",
                  "prediction", "gates"}};
    std::string details;
    for (const Record& record : records) {
        const Analysis* analysis = record.analysis ? &*record.analysis : nullptr;
        rows.push_back({mark_of(record), escape_markdown(record.spec.id),
                        "**" + escape_markdown(verdict_words(record)) + "**",
                        analysis == nullptr || analysis->metric.empty()
                            ? "—"
                            : markdown_code(analysis->metric),
                        number_words(record), std::to_string(counted_pairs(record)),
                        analysis == nullptr || analysis->prediction.empty()
                            ? "—"
                            : escape_markdown(analysis->prediction),
                        analysis == nullptr ? "—" : escape_markdown(gates_summary(*analysis))});
        if (analysis == nullptr) {
            continue;
        }
        Rows gates = gate_rows(record);
        for (std::size_t i = 1; i < gates.size(); ++i) {
            for (const std::size_t free_text : {0U, 3U, 4U, 7U}) {
                gates[i][free_text] = escape_markdown(gates[i][free_text]);
            }
        }
        gates[0].back() = "in words";
        details += fmt::format("\n<details><summary>{}: {}</summary>\n\n{}\n", record.spec.id,
                               escape_markdown(outcome_sentence(record.spec, *analysis)),
                               entry::table(gates));
        details += fmt::format(
            "Repeat with `steady rerun {}`{}.\n\n</details>\n", escape_line(record.id),
            record.journal_path.empty() ? std::string()
                                        : "; entry: " + markdown_code(record.journal_path));
    }
    return "### Steady\n\n" + entry::table(rows) +
           "\n▲ better, ▼ worse, ~ no difference shown; positive is better.\n" + details;
}

std::string report_markdown(const Record& record) { return report_markdown(std::vector{record}); }

std::string report_text(const std::vector<Record>& records) {
    Rows rows = {{"experiment", "verdict", "metric", "effect", "pairs", "gates"}};
    for (const Record& record : records) {
        const Analysis* analysis = record.analysis ? &*record.analysis : nullptr;
        rows.push_back({safe_line(record.spec.id), verdict_words(record),
                        analysis == nullptr ? "—" : safe_line(analysis->metric),
                        number_words(record), std::to_string(counted_pairs(record)),
                        analysis == nullptr ? "—" : safe_line(gates_summary(*analysis))});
    }
    return aligned(rows, "");
}

std::string pairs_text(const Record& record) {
    const std::string metric = pairs_metric(record);
    Rows rows = {{"pair", "try", "order", "A", "B", "change", ""}};
    for (const PairRow& row : pair_rows(record)) {
        const bool counted = row.discarded.empty();
        rows.push_back({std::to_string(row.pair->number + 1), std::to_string(row.pair->attempt + 1),
                        row.order, row.a ? value_words(metric, *row.a) : "—",
                        row.b ? value_words(metric, *row.b) : "—",
                        counted && row.d ? figures::percent(std::expm1(*row.d), 2) : "—",
                        counted ? "" : "discarded: " + safe_line(row.discarded)});
    }
    return rows.size() == 1 ? "no pair is complete\n" : aligned(rows, "  ");
}

std::string show_text(const Record& record, const ShowOptions& options) {
    std::string out = head(record, options) + "\n";
    if (record.analysis && record.analysis->effect) {
        const Analysis& analysis = *record.analysis;
        out += fmt::format("  {}  {}   {} pairs, {} discarded, {}\n\n", safe_line(analysis.metric),
                           number_words(record), analysis.pairs, analysis.discarded,
                           seconds_words(record.seconds));
    } else if (!record.analysis) {
        out += fmt::format("  {} pairs of at most {} so far\n\n", counted_pairs(record),
                           record.spec.schedule.pairs_max);
    }
    out += "  Claim: " + safe_line(record.spec.hypothesis.claim) + "\n";
    const std::string prediction = prediction_words(record);
    out += prediction.empty() ? "" : "  " + safe_line(prediction) + "\n";
    for (const Difference& one : differences(record.spec)) {
        out +=
            fmt::format("  {}: {} → {}\n", safe_line(one.path), safe_line(one.a), safe_line(one.b));
    }
    if (const std::string weights = weights_words(record); !weights.empty()) {
        out += fmt::format("  Weights: {} ({})\n", weights, safe_line(record.spec.subject.model));
    }
    if (const auto& sweep = record.evidence.sweep) {
        out += fmt::format("  Best of {} settings that {} tried\n", sweep->points.size(),
                           safe_line(sweep->sweep));
    }
    out += "\n" + aligned(gate_rows(record), "  ") + "\n";
    if (options.pairs) {
        out += pairs_text(record) + "\n";
    }
    if (record.analysis) {
        for (const std::string& sentence : conclusions(record)) {
            out += "  " + safe_line(sentence) + "\n";
        }
        if (const auto& clocks = record.analysis->clocks) {
            out += "\n  GPU clocks. " + clock_words(*clocks) + "\n";
        }
        out += "\n" + checks_line(*record.analysis);
    }
    if (!record.earlier.empty()) {
        out += fmt::format("Tried before: {} time{}, last as {}\n", record.earlier.size(),
                           record.earlier.size() == 1 ? "" : "s", safe_line(record.earlier.back()));
    }
    return out + next_steps(record);
}

}  // namespace steady
