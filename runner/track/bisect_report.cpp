// Words of people in here are claims about commits, so each one names the interval or the record
// that it rests on.
#include "runner/track/bisect_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "runner/base/text.h"
#include "runner/entry/entry.h"
#include "runner/figures/numbers.h"
#include "runner/record/record_json.h"

namespace steady::bisect {
namespace {

std::string short_sha(const std::string& sha) { return sha.substr(0, 12); }

// Of B relative to A → of A relative to B.
std::optional<double> turned(const std::optional<double>& effect) {
    return effect && *effect > -1 ? std::optional(1 / (1 + *effect) - 1) : std::nullopt;
}

std::string effect_words(const Step& step) {
    return figures::effect_text(step.effect, step.interval.low, step.interval.high);
}

const Step* last_of(const Found& found, const std::string& kind) {
    const auto step = std::find_if(found.steps.rbegin(), found.steps.rend(),
                                   [&](const Step& one) { return one.kind == kind; });
    return step == found.steps.rend() ? nullptr : &*step;
}

// The step that says most about the effect between the ends.
const Step* ends_step(const Found& found) {
    const Step* size = last_of(found, "size");
    return size != nullptr && size->effect ? size : last_of(found, "ends");
}

std::string end_words(const Found& found, const std::string& sha) {
    if (sha == found.good_commit.sha) return "GOOD";
    if (sha == found.bad_commit.sha) return "BAD";
    return short_sha(sha);
}

std::string class_words(const Step& step) {
    if (step.kind == "ends") {
        return step.side == Side::bad ? "the ends differ" : "no difference shown";
    }
    if (step.kind == "size") return "how much they differ";
    if (step.kind == "parent") return step.side == Side::bad ? "confirmed" : "not confirmed";
    switch (step.side) {
        case Side::good:
            return "good side";
        case Side::bad:
            return "bad side";
        case Side::open:
            return "open";
        default:
            return "skipped" + (step.reason.empty() ? "" : ": " + step.reason);
    }
}

std::string against_words(const Found& found, const Step& step) {
    if (step.kind == "files") return "same files as " + end_words(found, step.against);
    if (step.kind == "parent") return "its parent " + short_sha(step.against);
    return end_words(found, step.against);
}

std::vector<std::string> listed(const Found& found, Side side) {
    std::vector<std::string> out;
    for (const Commit& commit : found.suspects) {
        const auto last = std::find_if(
            found.steps.rbegin(), found.steps.rend(),
            [&](const Step& step) { return step.commit.sha == commit.sha && step.kind != "ends"; });
        if (last != found.steps.rend() && last->side == side) out.push_back(commit.sha);
    }
    return out;
}

const char* change_word(const Found& found) { return found.gain ? "better" : "worse"; }

// Two sentences at most: what the ends are, and what that leaves.
std::string ends_sentence(const Found& found) {
    const Step& ends = *last_of(found, "ends");
    if (ends.verdict == "reject" &&
        (ends.reason == "no_worthwhile_gain" || ends.reason == "regression")) {
        return fmt::format(
            "The ends do not differ in {}: BAD against GOOD {} over {} pairs, so there "
            "is no commit to search for",
            found.metric, effect_words(ends), ends.pairs);
    }
    if (ends.verdict == "inconclusive") {
        return fmt::format(
            "Whether the ends differ in {} stays open ({}, {} pairs): raise "
            "schedule.pairs.max, or use a quieter machine",
            found.metric, effect_words(ends), ends.pairs);
    }
    return fmt::format("The ends cannot be compared: {}", ends.sentence);
}

std::string share_words(const Found& found, const Step& step) {
    const Step* ends = ends_step(found);
    if (ends == nullptr || !ends->effect || !step.effect) return "";
    return fmt::format("; between the ends {}", effect_words(*ends));
}

using Row = std::vector<std::string>;

std::vector<Row> rows_of(const Found& found) {
    std::vector<Row> rows;
    for (const Step& step : found.steps) {
        rows.push_back({short_sha(step.commit.sha), shorten(step.commit.subject, 60),
                        against_words(found, step), step.effect ? effect_words(step) : "—",
                        step.kind == "files" ? "—" : std::to_string(step.pairs), class_words(step),
                        step.record.empty() ? "—" : step.record});
    }
    return rows;
}

std::string aligned(std::vector<Row> rows) {
    std::vector<std::size_t> widths;
    for (Row& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) {
            row[i] = safe_line(row[i]);
            widths[i] = std::max(widths[i], count_characters(row[i]));
        }
    }
    std::string out;
    for (const Row& row : rows) {
        out += " ";
        for (std::size_t i = 0; i < row.size(); ++i) {
            const bool last = i + 1 == row.size();
            out += " " + row[i] +
                   std::string(last ? 0 : widths[i] - count_characters(row[i]) + 1, ' ');
        }
        out += "\n";
    }
    return out;
}

const Row kHead = {"commit", "subject", "against", "effect, 95 % interval",
                   "pairs",  "class",   "record"};

std::string markdown_rows(const std::vector<Row>& rows) {
    std::string out;
    for (const Row& row : rows) {
        out += "|";
        for (std::size_t i = 0; i < row.size(); ++i) {
            const bool code = (i == 0 || i == 6) && row[i] != "—";
            out += " " + (code ? markdown_code(row[i]) : escape_markdown(redact(row[i]))) + " |";
        }
        out += "\n";
    }
    return out;
}

std::string markdown_table(const Found& found) {
    return fmt::format("| {} |\n|{}\n{}", fmt::join(kHead, " | "),
                       " --- | --- | --- | --- | --- | --- | --- |", markdown_rows(rows_of(found)));
}

std::string commit_line(const Commit& commit) {
    return fmt::format("{} {}", markdown_code(short_sha(commit.sha)),
                       escape_markdown(redact(commit.subject)));
}

// What is left open, one line each.
std::string left_open(const Found& found) {
    if (found.outcome == Outcome::found || found.suspects.empty()) return "";
    const bool ended = found.outcome == Outcome::not_confirmed;
    std::string out =
        fmt::format("\n## What is left open\n\n{}:\n\n",
                    ended ? "Where the search ended" : "The change is in one of these commits");
    const auto skipped = listed(found, Side::skipped), open = listed(found, Side::open);
    for (const Commit& commit : found.suspects) {
        const auto in = [&](const std::vector<std::string>& shas) {
            return std::find(shas.begin(), shas.end(), commit.sha) != shas.end();
        };
        out += fmt::format("* {}{}\n", commit_line(commit),
                           ended         ? ""
                           : in(skipped) ? ": could not be tested"
                           : in(open)    ? ": undecided"
                                         : "");
    }
    return out;
}

nlohmann::json commit_json(const Commit& commit) {
    return {{"commit", commit.sha}, {"subject", commit.subject}};
}

nlohmann::json step_json(const Step& step) {
    nlohmann::json out = commit_json(step.commit);
    out["kind"] = step.kind;
    out["against"] = step.against;
    out["class"] = name(step.side);
    out["effect"] = step.effect ? nlohmann::json(*step.effect) : nlohmann::json();
    out["interval"] = interval_json(step.interval);
    out["pairs"] = step.pairs;
    out["record"] = step.record;
    out["verdict"] = step.verdict;
    out["reason"] = step.reason;
    return out;
}

}  // namespace

Step step_of(const Record& record, const std::string& kind, const Commit& commit,
             const std::string& against, bool commit_is_b) {
    const Analysis& analysis = *record.analysis;
    Step step{.kind = kind,
              .commit = commit,
              .against = against,
              .side = Side::unknown,
              .effect = analysis.effect,
              .interval = analysis.interval,
              .pairs = analysis.pairs,
              .record = record.id,
              .verdict = steady::name(analysis.verdict),
              .reason = analysis.reason,
              .sentence = analysis.sentence,
              .decided_at = record.decided_at};
    if (!commit_is_b) {
        step.effect = turned(analysis.effect);
        step.interval = {.low = turned(analysis.interval.high),
                         .high = turned(analysis.interval.low)};
    }
    return step;
}

const char* name(Outcome outcome) {
    switch (outcome) {
        case Outcome::found:
            return "found";
        case Outcome::not_confirmed:
            return "not_confirmed";
        case Outcome::range:
            return "range";
        case Outcome::too_many_open:
            return "too_many_open";
        case Outcome::ends_alike:
            return "ends_alike";
        case Outcome::size_unknown:
            return "size_unknown";
    }
    return "";
}

int exit_code(const Found& found) {
    if (found.outcome == Outcome::found) return 0;
    if (found.outcome == Outcome::ends_alike) {
        for (const Verdict verdict : {Verdict::reject, Verdict::invalid}) {
            if (last_of(found, "ends")->verdict == steady::name(verdict)) {
                return steady::exit_code(verdict);
            }
        }
    }
    return steady::exit_code(Verdict::inconclusive);
}

std::string sentence(const Found& found) {
    const Step* parent = last_of(found, "parent");
    switch (found.outcome) {
        case Outcome::found:
            return fmt::format(
                "{} is the first {} commit: {} {} against its parent over {} pairs{}",
                short_sha(found.suspects.front().sha), change_word(found), found.metric,
                effect_words(*parent), parent->pairs, share_words(found, *parent));
        case Outcome::not_confirmed:
            return fmt::format(
                "The search ended at {}, but a direct comparison with its parent does not confirm "
                "it ({}, {} pairs): no culprit is named",
                short_sha(found.suspects.front().sha), effect_words(*parent), parent->pairs);
        case Outcome::range:
            return fmt::format(
                "The change is in one of {} commits: all others are excluded, these could not be "
                "told apart",
                found.suspects.size());
        case Outcome::too_many_open:
            return fmt::format(
                "Too many commits stay undecided, {} are left: raise schedule.pairs.max, or use a "
                "quieter machine",
                found.suspects.size());
        case Outcome::size_unknown:
            return "The ends differ, but no lower bound of the effect is large enough to search "
                   "with: raise schedule.pairs.max";
        case Outcome::ends_alike:
            return ends_sentence(found);
    }
    return "";
}

std::string text(const Found& found) {
    std::string out = safe_line(sentence(found)) + "\n";
    if (found.outcome == Outcome::found || found.outcome == Outcome::not_confirmed) {
        out += fmt::format("  {} {}\n", short_sha(found.suspects.front().sha),
                           safe_line(found.suspects.front().subject));
    } else {
        for (const Commit& commit : found.suspects) {
            out += fmt::format("  {} {}\n", short_sha(commit.sha), safe_line(commit.subject));
        }
    }
    std::vector<Row> rows = rows_of(found);
    rows.insert(rows.begin(), kHead);
    return out + "\n" + aligned(std::move(rows));
}

nlohmann::json json(const Found& found) {
    nlohmann::json steps = nlohmann::json::array(), suspects = nlohmann::json::array();
    for (const Step& step : found.steps) steps.push_back(step_json(step));
    for (const Commit& commit : found.suspects) suspects.push_back(commit_json(commit));
    const auto tested = std::count_if(found.steps.begin(), found.steps.end(),
                                      [](const Step& step) { return step.kind == "good"; });
    return {{"id", found.id},
            {"outcome", name(found.outcome)},
            {"sentence", sentence(found)},
            {"file", found.file},
            {"metric", found.metric},
            {"good", commit_json(found.good_commit)},
            {"bad", commit_json(found.bad_commit)},
            {"path", found.path},
            {"commits", found.commits},
            {"direction", change_word(found)},
            {"tested", tested},
            {"culprit", found.outcome == Outcome::found ? commit_json(found.suspects.front())
                                                        : nlohmann::json()},
            {"suspects", suspects},
            {"steps", steps}};
}

std::string entry_path(const Found& found) {
    std::string last;
    for (const Step& step : found.steps) last = std::max(last, step.decided_at);
    return fmt::format("journal/{}-{}.md", last.substr(0, 10), found.id);
}

std::string entry(const Found& found) {
    const auto yaml = [](const std::string& value) { return json_quoted(safe_line(value)); };
    std::string out = "---\nkind: bisect\n";
    out += "id: " + yaml(found.id) + "\n";
    out += fmt::format("outcome: {}\n", name(found.outcome));
    out += "metric: " + yaml(found.metric) + "\n";
    out += "good: " + yaml(found.good_commit.sha) + "\n";
    out += "bad: " + yaml(found.bad_commit.sha) + "\n";
    out += "culprit: " +
           (found.outcome == Outcome::found ? yaml(found.suspects.front().sha) : "null") + "\n";
    out += "machine: " + yaml(found.host) + "\ncpu: " + yaml(found.cpu) + "\n";
    out += fmt::format("---\n\n# {}: {}\n\n", found.id,
                       found.outcome == Outcome::found
                           ? commit_line(found.suspects.front())
                           : std::string("no culprit, ") + escape_markdown(name(found.outcome)));
    out += fmt::format(
        "## Question\n\nWhich commit made {} {} between {} ({}, {}) and {} ({}, {})? The question "
        "is "
        "that of `{}`; {} commits were listed by {}.\n",
        markdown_code(found.metric), change_word(found), markdown_code(found.good),
        markdown_code(short_sha(found.good_commit.sha)),
        escape_markdown(redact(found.good_commit.subject)), markdown_code(found.bad),
        markdown_code(short_sha(found.bad_commit.sha)),
        escape_markdown(redact(found.bad_commit.subject)), escape_line(found.file), found.commits,
        escape_markdown(found.path));
    out += "\n## Answer\n\n" + escape_markdown(sentence(found)) + ".\n";
    if (found.outcome == Outcome::found) {
        out += "\nThe commit: " + commit_line(found.suspects.front()) + "\n";
    }
    out += left_open(found);
    out += "\n## Steps\n\n" + markdown_table(found);
    out += fmt::format(
        "\nEffects are of the commit relative to the one that it is compared with; + is better. "
        "Each "
        "step is an experiment of its own: `steady show RECORD`.\n");
    if (found.size.proven > 0) {
        out += fmt::format(
            "\nAt least {} between the ends is proven. A commit is on the bad side when more than "
            "a quarter of that is shown between it and GOOD, and on the good side when less than "
            "all of "
            "it is.\n",
            figures::percent(std::expm1(found.size.proven), 2));
    }
    out += fmt::format("\n## Machine\n\n{}, {}\n\n## Repeat\n\n{}\n", escape_markdown(found.host),
                       escape_markdown(found.cpu), markdown_code(found.command));
    return with_empty_notes(std::move(out));
}

}  // namespace steady::bisect
