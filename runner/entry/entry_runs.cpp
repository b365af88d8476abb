// The other runs of an entry's question: where they ran, what they gave, and what all say together.
// And the entry of a run that ended without a verdict, which would otherwise be heard of nowhere.
#include <fmt/format.h>

#include <algorithm>

#include "runner/base/text.h"
#include "runner/entry/entry_data.h"
#include "runner/entry/entry_sections.h"
#include "runner/record/cpu_class.h"

namespace steady::entry {
namespace {

std::string day_of(const Run& run) {
    return (run.decided_at.empty() ? run.submitted_at : run.decided_at).substr(0, 10);
}

std::string named(const Run& run, const Record& record) {
    if (run.run_id == record.run_id) return "this run";
    const std::string id = escape_markdown(run.published);
    // Two machines may run a file on one day: the path of an entry is then the name of two runs,
    // and belongs to the one that is read here.
    const bool taken = std::any_of(record.runs.begin(), record.runs.end(), [&](const Run& own) {
        return own.run_id == record.run_id && own.published == run.published &&
               day_of(own) == day_of(run);
    });
    if (taken) return fmt::format("{}, run `{}`", id, run.run_id.substr(0, 8));
    const bool has_entry = !run.decided_at.empty() && run.verdict != "";
    return has_entry ? fmt::format("[{}]({}-{}.md)", id, day_of(run), run.published) : id;
}

std::string outcome(const Run& run) {
    if (run.verdict.empty()) return escape_markdown(run.state);
    return escape_markdown(run.verdict + (run.reason.empty() ? "" : " / " + run.reason));
}

int counted(const Record& record) {
    return static_cast<int>(
        std::count_if(record.pairs.begin(), record.pairs.end(), [](const Pair& pair) {
            return pair.sealed && pair.discarded.empty() && pair.kind == PairKind::measure;
        }));
}

}  // namespace

std::string short_head(const Record& record, const std::string& ended_at) {
    const bool ran = !record.attempts.empty();
    const Fingerprint none;
    const Fingerprint& print = ran ? record.attempts.back().fingerprint : none;
    const auto fact = [&](const char* key) {
        const auto found = print.find(key);
        return found == print.end() ? std::string("unknown") : found->second;
    };
    // JSON strings with nothing in them that Markdown reads; see front_matter().
    const auto yaml = [](const std::string& text) { return json_quoted(escape_line(text)); };
    std::string out = "---\n";
    out += fmt::format("id: {}\nspec: {}\n", yaml(record.id), yaml(record.spec.sha256));
    out += fmt::format("verdict: {}\n", record.state);
    out += "reason: null\neffect: null\n";
    out += fmt::format("pairs: {}\n", counted(record));
    out += fmt::format("cpu_class: {}\n", yaml(cpu_class(record)));
    out += fmt::format("question: {}\n", yaml(record.question_sha));
    out += fmt::format("date: {}\ndecided: {}\n---\n\n", ended_at.substr(0, 10), yaml(ended_at));
    out += fmt::format("# {}: {} without a verdict\n\n", record.spec.id, record.state);
    std::vector<std::vector<std::string>> rows = {{"measured on", "value"}};
    rows.push_back({"CPU", ran ? escape_markdown(fact("cpu_model")) : "nothing ran"});
    rows.push_back({"CPU class", markdown_code(cpu_class(record))});
    rows.push_back({"code", markdown_code(fact("steady_revision"))});
    return out + table(rows) + "\n";
}

std::string how_it_ended(const Record& record) {
    std::string out = fmt::format(
        "## How it ended\n\n**{}.** {}\n\n", record.state,
        record.note.empty() ? "No reason is stored." : escape_markdown(redact(record.note)));
    out += fmt::format(
        "{} pairs were measured, of at most {}. They decide nothing: nobody may stop a run and "
        "read "
        "a result from it.\n\n",
        counted(record), record.spec.schedule.pairs_max);
    if (record.attempts.empty()) return out;
    std::vector<std::vector<std::string>> rows = {{"attempt", "began", "ended", "how"}};
    for (const Attempt& attempt : record.attempts) {
        rows.push_back({std::to_string(attempt.epoch), attempt.began, attempt.ended,
                        escape_markdown(attempt.how)});
    }
    return out + table(rows) + "\n";
}

std::string runs(const Record& record) {
    if (record.runs.size() < 2) return "";
    std::string out = "## Runs of this question\n\n";
    out += fmt::format("{} runs: {}.\n\n", record.runs.size(),
                       escape_markdown(summary_of(record.runs).text));
    std::vector<std::vector<std::string>> rows = {
        {"run", "verdict", "effect, 95 % interval", "CPU class or GPU", "CPU", "day", "code"}};
    for (const Run& run : record.runs) {
        rows.push_back({named(run, record), outcome(run), effect_words(run.effect, run.interval),
                        markdown_code(machine_class(run)), escape_markdown(run.cpu), day_of(run),
                        run.revision.empty() ? "unknown" : markdown_code(run.revision)});
    }
    return out + table(rows) + "\n";
}

}  // namespace steady::entry
