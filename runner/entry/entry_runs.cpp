// The other runs of an entry's question: where they ran, what they gave, and what all say together.
#include <fmt/format.h>

#include <algorithm>

#include "runner/base/text.h"
#include "runner/entry/entry_data.h"
#include "runner/entry/entry_sections.h"

namespace steady::entry {
namespace {

std::string day_of(const Run& run) {
    return (run.decided_at.empty() ? run.submitted_at : run.decided_at).substr(0, 10);
}

std::string named(const Run& run, const Record& record) {
    if (run.run_id == record.run_id) return "this run";
    const std::string id = escape_markdown(run.published);
    const bool has_entry = !run.decided_at.empty() && run.verdict != "";
    return has_entry ? fmt::format("[{}]({}-{}.md)", id, day_of(run), run.published) : id;
}

std::string outcome(const Run& run) {
    if (run.verdict.empty()) return escape_markdown(run.state);
    return escape_markdown(run.verdict + (run.reason.empty() ? "" : " / " + run.reason));
}

}  // namespace

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
