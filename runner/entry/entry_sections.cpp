// The first half of an entry: question, prediction, verdict, gates and pairs.
#include "runner/entry/entry_sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runner/base/text.h"
#include "runner/entry/entry.h"
#include "runner/entry/entry_data.h"
#include "runner/figures/numbers.h"
#include "runner/judge/outcome_text.h"
#include "runner/spec/spec_command.h"

namespace steady::entry {
namespace {

using Rows = std::vector<std::vector<std::string>>;

constexpr std::size_t kMaxPairRows = 200;

std::string headline(const Analysis& analysis) {
    std::string out = name(analysis.verdict);
    if (!analysis.reason.empty()) {
        out += " / " + analysis.reason;
    }
    return out;
}

std::string meaning_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::accept:
            return "B may replace A.";
        case Verdict::reject:
            return "Keep A.";
        case Verdict::inconclusive:
            return "Keep A; the idea is undecided.";
        case Verdict::invalid:
            return "This run shows nothing about A or B.";
    }
    return "";
}

// Sizes that are asked for carry no sign: "1 %".
std::string size_of(double fraction) { return fmt::format("{:g} %", 100 * fraction); }

std::string how_it_ended(const std::string& why) {
    if (why == "early_e") {
        return "The evidence was clear before the cap, so measuring stopped.";
    }
    if (why == "interim") {
        return "A look that the plan had fixed was clear before the cap, so measuring stopped.";
    }
    if (why == "final") {
        return "The cap was reached and the final look decided.";
    }
    return why == "cap" ? "The cap was reached without a decision." : "";
}

std::string subject_words(const Spec& spec) {
    if (is_outside(spec)) {
        std::string out =
            "Subject: " +
            markdown_code(spec.subject.name.empty() ? spec.subject.repo : spec.subject.name);
        if (!spec.subject.repo.empty()) {
            out += fmt::format(", built from revisions of {}", markdown_code(spec.subject.repo));
        }
        return out + ".\n\n";
    }
    std::string out = fmt::format("Subject: {}", escape_markdown(spec.subject.program));
    for (const auto& [label, value] :
         {std::pair("model", spec.subject.model), std::pair("workload", spec.subject.workload)}) {
        if (!value.empty()) {
            out += fmt::format(", {} {}", label, markdown_code(value));
        }
    }
    return out + (spec.subject.threads > 0 ? fmt::format(", {} threads.\n\n", spec.subject.threads)
                                           : std::string(", all CPUs.\n\n"));
}

// The commands of an outside program, whole: what differs in them is in the table above.
std::string commands(const Spec& spec) {
    if (!is_outside(spec)) {
        return "";
    }
    Rows rows = {{"gate"}};
    for (const auto& [arm, settings] : spec.arms) rows[0].push_back(arm + " runs");
    for (const Gate& gate : spec.gates) {
        rows.push_back({escape_markdown(gate.id)});
        for (const auto& [arm, settings] : spec.arms) {
            rows.back().push_back(markdown_code(joined_words(arm_command(spec, arm, &gate))));
        }
    }
    std::string out = "\n" + table(rows);
    for (const auto& step : spec.subject.build) {
        out += fmt::format("{}{}", &step == &spec.subject.build.front() ? "\nBuilt by " : ", then ",
                           markdown_code(joined_words(step)));
    }
    return out + (spec.subject.build.empty() ? "" : ".\n");
}

// A bar ends a cell even inside code.
std::string bar_escaped(const std::string& cell) {
    std::string out;
    for (const char c : cell) {
        if (c == '|' && (out.empty() || out.back() != '\\')) {
            out += '\\';
        }
        out += c;
    }
    return out;
}

}  // namespace

std::string table(const Rows& rows) {
    std::string out;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        out += "|";
        for (const std::string& cell : rows[i]) {
            out += " " + bar_escaped(cell) + " |";
        }
        out += "\n";
        if (i == 0) {
            out += "|";
            for (std::size_t k = 0; k < rows[0].size(); ++k) {
                out += " --- |";
            }
            out += "\n";
        }
    }
    return out;
}

std::string question(const Record& record) {
    const Spec& spec = record.spec;
    const Gate* gate = deciding_gate(spec);
    std::string out = "## Question\n\n";
    const std::string metric = gate == nullptr ? "the gates below" : markdown_code(gate->metric);
    if (gate != nullptr && gate->goal == Goal::equivalent) {
        out +=
            fmt::format("Do A and B differ in {} by less than {}?", metric, size_of(gate->margin));
    } else if (gate != nullptr) {
        out +=
            fmt::format("Is B better than A in {} by more than {}? A gain of {} is worth having.",
                        metric, size_of(gate->floor), size_of(gate->floor + gate->worth));
    } else {
        out += "How does B compare with A in the gates below? No gate decides.";
    }
    out += fmt::format(" Asked by {}.\n\n", escape_markdown(spec.owner));
    out += subject_words(spec);
    Rows rows = {{"differs in", "A (baseline)", "B (candidate)"}};
    for (const Difference& one : differences(spec)) {
        rows.push_back({markdown_code(one.path), markdown_code(one.a), markdown_code(one.b)});
    }
    out += rows.size() > 1 ? table(rows) : "The arms are equal (A against A).\n";
    return out + commands(spec) + "\n";
}

std::string hypothesis(const Record& record) {
    const Hypothesis& hypothesis = record.spec.hypothesis;
    std::string out = "## Hypothesis and prediction\n\n";
    out += fmt::format("Claim: {}\n\nBecause: {}\n\n", escape_markdown(hypothesis.claim),
                       escape_markdown(hypothesis.because));
    const std::string prediction = prediction_words(record);
    out +=
        prediction.empty() ? "No prediction was made.\n\n" : escape_markdown(prediction) + "\n\n";
    return out;
}

std::string verdict(const Record& record) {
    const Analysis& analysis = *record.analysis;
    std::string out =
        fmt::format("## Verdict\n\n**{}.** {}\n\n", escape_markdown(headline(analysis)),
                    escape_markdown(outcome_sentence(record)));
    out += meaning_of(analysis.verdict) + "\n\n";
    if (!analysis.contradiction.empty()) {
        out += fmt::format(
            "**The levels contradict each other: {}.** Only the model level counts.\n\n",
            escape_markdown(analysis.contradiction));
    }
    return out;
}

std::string gates(const Record& record) {
    const Analysis& analysis = *record.analysis;
    const std::string figure = figure_path(record);
    std::string out = "## Gates\n\n";
    out += fmt::format("![Gates, pairs and profile of {}]({})\n\n", record.spec.id,
                       figure.substr(figure.rfind('/') + 1));
    Rows rows = {{"gate", "level", "role", "outcome", "metric", "effect, 95 % interval", "pairs",
                  "in words"}};
    for (const GateResult& gate : analysis.gates) {
        const std::string mark = gate.outcome == "pass"   ? "✓ pass"
                                 : gate.outcome == "fail" ? "✗ **fail**"
                                                          : escape_markdown(gate.outcome);
        rows.push_back(
            {escape_markdown(gate.id), level_words(record.spec, gate.level), name(gate.role), mark,
             gate.metric.empty() ? "—" : markdown_code(gate.metric),
             effect_words(gate.effect, gate.interval),
             gate.pairs > 0 ? std::to_string(gate.pairs) : "—", escape_markdown(gate.detail)});
    }
    return out + table(rows) +
           "\n▲ better, ▼ worse, ~ no difference shown; positive is better for every metric.\n\n";
}

std::string pairs(const Record& record) {
    const std::vector<PairRow> rows = pair_rows(record);
    std::string out = "## Pairs\n\n";
    if (rows.empty()) {
        return out + "No pair was timed.\n\n";
    }
    const std::string metric = pairs_metric(record);
    Rows cells = {{"pair", "order", "A", "B", "change", "interval so far"}};
    std::size_t valid = 0;
    for (const PairRow& row : rows) {
        std::string so_far = "—";
        if (row.discarded.empty()) {
            const auto& narrowing = record.analysis->narrowing;
            if (valid < narrowing.size() && (narrowing[valid].low || narrowing[valid].high)) {
                so_far = figures::interval_text(narrowing[valid].low, narrowing[valid].high, 2);
            }
            ++valid;
        }
        if (cells.size() > kMaxPairRows) {
            continue;
        }
        const std::string number = std::to_string(row.pair->number + 1);
        cells.push_back(
            {row.pair->attempt > 0 ? fmt::format("{}, try {}", number, row.pair->attempt + 1)
                                   : number,
             row.order, row.a ? value_words(metric, *row.a) : "—",
             row.b ? value_words(metric, *row.b) : "—",
             row.discarded.empty() && row.d ? figures::percent(std::expm1(*row.d), 2) : "discarded",
             row.discarded.empty() ? so_far : escape_markdown(row.discarded)});
    }
    out +=
        fmt::format("{} of each pair{}; one pair is one fresh process{}.\n\n",
                    markdown_code(metric), is_outside(record.spec) ? "" : ", steady part",
                    record.spec.schedule.mode == Mode::duet ? " with both arms in it" : " per arm");
    out += table(cells);
    if (rows.size() > kMaxPairRows) {
        out += fmt::format("\nThe first {} of {} are shown; `steady show {} --pairs` lists all.\n",
                           kMaxPairRows, rows.size(), record.id);
    }
    return out + "\n" + how_it_ended(record.analysis->why) +
           (record.analysis->why.empty() ? "" : "\n\n");
}

}  // namespace steady::entry
