// Verbs on stored records: show, judge again, write the entry, compare, report.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "kernels/base/error.h"
#include "runner/base/text.h"
#include "runner/cli/exit_map.h"
#include "runner/cli/journal_check.h"
#include "runner/cli/records.h"
#include "runner/cli/verbs.h"
#include "runner/cli/workspace.h"
#include "runner/entry/entry.h"
#include "runner/entry/entry_figures.h"
#include "runner/entry/report.h"
#include "runner/platform/files.h"
#include "runner/record/record_json.h"
#include "runner/record/stacks.h"
#include "runner/storage/store.h"

namespace steady {
namespace {

namespace fs = std::filesystem;

struct Rejudged {
    std::string id, stored, now;
};

// Verdict and analysis from the stored samples against what was stored; empty when equal.
std::optional<Rejudged> judge_differs(const Record& record) {
    const nlohmann::json stored = *record.analysis;
    const nlohmann::json now = judge_again(record);
    if (stored == now) return std::nullopt;
    return Rejudged{record.id, stored.dump(), now.dump()};
}

// What the verdict's row says, which lists and pages read; the analysis beside it says it again.
std::string listed_verdict(Store& store, const Record& record) {
    std::int64_t cursor = 0;
    for (;;) {
        const auto rows = store.list_experiments({.spec_id = record.spec.id}, 100, cursor);
        for (const ExperimentRow& row : rows) {
            if (row.id == record.id) return row.verdict;
            cursor = row.cursor;
        }
        if (rows.size() < 100) return "";
    }
}

std::vector<Record> decided_records(Store& store, bool with_ended = false) {
    std::vector<Record> records;
    std::int64_t cursor = 0;
    for (;;) {
        const std::vector<ExperimentRow> rows = store.list_experiments({}, 100, cursor);
        for (const ExperimentRow& row : rows) {
            const bool ended = row.state == "cancelled" || row.state == "failed";
            if (!row.verdict.empty() || (with_ended && ended)) {
                records.push_back(store.load_record(row.id));
            }
            cursor = row.cursor;
        }
        if (rows.size() < 100) return records;
    }
}

int check_journal(const Arguments& arguments, Store& store) {
    nlohmann::json problems = nlohmann::json::array();
    std::set<std::string> unknown;  // entries on disk, until their record is found
    const std::string folder = project_root() + "/journal";
    if (fs::exists(folder)) {
        for (const auto& file : fs::directory_iterator(folder)) {
            const std::string name = file.path().filename().string();
            if (name.size() <= 11 || name[4] != '-' || !name.ends_with(".md")) continue;
            // The entry of a search rests on several records and has none of its own.
            if (!read_file(file.path().string()).starts_with("---\nkind: bisect\n"))
                unknown.insert("journal/" + name);
        }
    }
    int checked = 0;
    const std::vector<std::string> missing = service::missing_entries(store.connection());
    for (const std::string& id : missing) {
        problems.push_back({{"file", ""},
                            {"difference", id + ": decided, but its entry was never written; "
                                                "`steady journal --write` writes it"}});
    }
    for (const Record& record : decided_records(store, true)) {
        if (const std::string wrong = identity_problem(record); !wrong.empty()) {
            problems.push_back({{"file", record.journal_path}, {"difference", wrong}});
        }
        if (record.journal_path.empty()) continue;
        const Record filed = as_published(store, record);
        if (record.journal_path != entry_path(filed)) {
            problems.push_back({{"file", entry_path(filed)},
                                {"difference", fmt::format("the store names {} instead",
                                                           escape_line(record.journal_path))}});
            continue;
        }
        const std::string path = project_root() + "/" + record.journal_path;
        if (!fs::exists(path)) continue;                        // another checkout's entry
        if (!missing_samples(store, record).empty()) continue;  // the file is all that is left
        const std::string text = read_file(path);
        if (!is_entry_of(filed, text)) continue;  // of another run, which keeps the file
        ++checked;
        unknown.erase(record.journal_path);
        if (const std::string wrong = words_problem(filed, text); !wrong.empty()) {
            problems.push_back({{"file", record.journal_path}, {"difference", wrong}});
        }
        for (const std::string& difference : check_entry(text, filed)) {
            problems.push_back({{"file", record.journal_path}, {"difference", difference}});
        }
        const std::string figure = project_root() + "/" + figure_path(filed);
        if (filed.analysis && fs::exists(figure) && read_file(figure) != entry_figure(filed)) {
            problems.push_back({{"file", figure_path(filed)},
                                {"difference",
                                 "the figure is not what its record renders; "
                                 "`steady journal " +
                                     record.id + " --write`"}});
        }
    }
    const std::string engine = self_exe_dir() + "/steady-engine";
    if (fs::exists(engine)) {  // a host that only serves has none
        for (const std::string& wrong : defaults_problems(engine, folder)) {
            problems.push_back({{"file", ""}, {"difference", wrong}});
        }
    }
    std::string text = fmt::format("{} entries checked, {} differences", checked, problems.size());
    for (const auto& problem : problems) {
        const auto file = problem["file"].get<std::string>();
        text += fmt::format("\n{}{}{}", file, file.empty() ? "" : ": ",
                            problem["difference"].get<std::string>());
    }
    for (const std::string& path : unknown) {
        text +=
            fmt::format("\n{}: its record is not in this store; `steady import` it to check", path);
    }
    print(arguments,
          {{"checked", checked},
           {"problems", problems},
           {"missing", missing},
           {"without_record", unknown}},
          text);
    return problems.empty() ? kExitOk : kExitInternal;
}

// What is stored beside the record; an error says why there is nothing.
StackProfile stored_stacks(Store& store, const Record& record, const std::string& arm) {
    const auto text = store.load_evidence(record.job, "stacks");
    const StackProfile stacks = text ? stacks_from_text(*text) : StackProfile{};
    if (!text || !stacks.problem.empty()) {
        throw Error(fmt::format(
            "{} has no sampled stacks: {}", record.id,
            text ? stacks.problem
                 : "\"schedule\": {\"profile\": \"frame_pointers\"} in its file, or steady ab "
                   "--profile frame_pointers, samples them after the pairs"));
    }
    if (!stacks.arms.contains(arm))
        throw Error(fmt::format("--stacks: found \"{}\", allowed: A, B", escape_line(arm)));
    return stacks;
}

}  // namespace

int verb_show(const Arguments& arguments) {
    Store store = open_store(arguments);
    const Record record = store.load_record(arguments.words[0]);
    nlohmann::json json = shown_json(record);
    std::string stacks;
    if (arguments.has("stacks")) {
        const std::string arm = arguments.get("stacks");
        const StackProfile found = stored_stacks(store, record, arm);
        json["stacks"] = nlohmann::json::parse(stacks_text(found));
        stacks = found.arms.at(arm).folded;
        if (stacks.ends_with('\n')) stacks.pop_back();
    }
    const auto stored = std::count_if(record.pairs.begin(), record.pairs.end(),
                                      [](const Pair& pair) { return pair.sealed; });
    json["pairs_stored"] = stored;
    const std::string checked = service::checked_at(store.connection(), record.job);
    json["checked"] = !checked.empty();
    if (arguments.has("pairs")) json["pair_values"] = record.pairs;
    learn_shipped(store);
    const std::vector<Run> runs = runs_of(store, record.question_sha);
    json["runs"] = runs_json(runs);
    const std::string together = runs_text(runs, record.run_id);
    const std::string unchecked =
        record.analysis && checked.empty()
            ? "\nunchecked  nobody but its worker has computed this verdict: `steady decide "
              "--unchecked`"
            : "";
    if (arguments.has("stacks")) return print(arguments, json, stacks);
    return print(arguments, json,
                 show_text(record) + unchecked + (together.empty() ? "" : "\n\n" + together) +
                     (arguments.has("pairs") ? "\n" + pairs_text(record) : ""));
}

namespace {

// What only the owner's side can say: do the samples give the verdicts that workers stored?
int check_verdicts(const Arguments& arguments, Store& store) {
    if (!service::may_check_verdicts(store.connection())) {
        throw Error(
            "only the owner of the database checks verdicts: use a login that is a member "
            "of steady_owner");
    }
    nlohmann::json refuted = nlohmann::json::array();
    std::string text;
    const auto unchecked = service::unchecked_verdicts(store.connection());
    for (const auto& verdict : unchecked) {
        const std::string instead = check_verdict(store, verdict);
        if (instead.empty()) continue;
        refuted.push_back({{"id", verdict.id}, {"stored", verdict.outcome}, {"samples", instead}});
        text += fmt::format("{}: its worker stored {}, its samples give {}: refuted\n", verdict.id,
                            verdict.outcome, instead);
    }
    text += fmt::format("{} checked, {} refuted", unchecked.size(), refuted.size());
    print(arguments, {{"checked", unchecked.size()}, {"refuted", refuted}}, text);
    return refuted.empty() ? kExitOk : kExitInternal;
}

}  // namespace

int verb_decide(const Arguments& arguments) {
    if (arguments.has("unchecked")) {
        Store owner = open_store(arguments);
        return check_verdicts(arguments, owner);
    }
    if (arguments.words.empty() && !arguments.has("all")) {
        throw Error("steady decide needs an ID (last, for the newest), --all or --unchecked");
    }
    Store store = open_store(arguments);
    std::vector<Record> records;
    if (arguments.has("all")) {
        records = decided_records(store);
    } else {
        records.push_back(store.load_record(arguments.words[0]));
        if (!records[0].analysis) {
            throw Error(fmt::format("{} has no verdict yet: its state is {}", records[0].id,
                                    records[0].state));
        }
    }
    nlohmann::json differences = nlohmann::json::array();
    std::string text;
    if (arguments.has("all")) {
        std::erase_if(records, [&](const Record& record) {
            const std::string missing = missing_samples(store, record);
            if (!missing.empty()) text += missing + "\n";
            return !missing.empty();
        });
    } else if (const std::string missing = missing_samples(store, records[0]); !missing.empty()) {
        throw Error(missing);
    }
    for (const Record& record : records) {
        if (const auto difference = judge_differs(record)) {
            differences.push_back({{"id", difference->id},
                                   {"stored", nlohmann::json::parse(difference->stored)},
                                   {"now", nlohmann::json::parse(difference->now)}});
            text += fmt::format("{}: the stored samples give another analysis now\n", record.id);
        } else if (const std::string listed = listed_verdict(store, record);
                   listed != name(record.analysis->verdict)) {
            differences.push_back(
                {{"id", record.id}, {"stored", listed}, {"now", name(record.analysis->verdict)}});
            text += fmt::format("{}: listed as {}, but its samples give {}\n", record.id, listed,
                                name(record.analysis->verdict));
        }
    }
    text += fmt::format("{} judged again, {} differ", records.size(), differences.size());
    if (records.size() == 1 && differences.empty()) {
        text = fmt::format("{}: {} — {}", records[0].id, name(records[0].analysis->verdict),
                           "the stored samples give the same verdict and numbers");
    }
    print(arguments, {{"judged", records.size()}, {"differences", differences}}, text);
    return differences.empty() ? kExitOk : kExitInternal;
}

int verb_journal(const Arguments& arguments) {
    Store store = open_store(arguments);
    learn_shipped(store);
    if (arguments.has("check")) return check_journal(arguments, store);
    if (arguments.has("about")) return journal_about(arguments, store);
    if (arguments.words.empty() && arguments.has("write")) {
        const std::vector<std::string> written = write_missing_entries(store);
        return print(arguments, {{"written", written}},
                     written.empty() ? "no entry is missing"
                                     : fmt::format("written:\n{}", fmt::join(written, "\n")));
    }
    if (arguments.words.empty()) {
        std::vector<std::string> names;
        const std::string folder = project_root() + "/journal";
        for (const auto& entry : fs::directory_iterator(folder)) {
            const std::string name = entry.path().filename().string();
            if (name.ends_with(".md") && name != "README.md") names.push_back(name);
        }
        std::sort(names.rbegin(), names.rend());
        return print(arguments, {{"entries", names}},
                     names.empty() ? "no entries yet" : fmt::format("{}", fmt::join(names, "\n")));
    }
    Record record = store.load_record(arguments.words[0]);
    if (!has_entry(record)) {
        throw Error(fmt::format("{} has no verdict yet: its state is {}", record.id, record.state));
    }
    if (arguments.has("write")) write_entry(store, record);
    record = with_runs(store, std::move(record));
    const std::string entry = render(record);
    return print(arguments,
                 {{"id", record.id},
                  {"run", record.run_id},
                  {"path", record.journal_path},
                  {"entry", entry},
                  {"question", record.question_sha},
                  {"runs", runs_json(record.runs)}},
                 entry);
}

int verb_compare(const Arguments& arguments) {
    Store store = open_store(arguments);
    const Record a = store.load_record(arguments.words[0]);
    const Record b = store.load_record(arguments.words[1]);
    nlohmann::json environment = nlohmann::json::object();
    std::string differences;
    for (const auto& [key, values] : machine_differences(a, b)) {
        environment[key] = {values.first, values.second};
        differences += fmt::format("\n  {:<20} {} | {}", key, values.first, values.second);
    }
    return print(arguments,
                 {{"a", shown_json(a)}, {"b", shown_json(b)}, {"environment", environment}},
                 fmt::format("{}\n\n{}\n\nwhat differs around them:{}", show_text(a), show_text(b),
                             differences.empty() ? " nothing" : differences));
}

int verb_report(const Arguments& arguments) {
    const std::string format = arguments.get("format", "md");
    if (format != "md" && format != "text" && format != "junit") {
        throw Error(fmt::format("--format: found \"{}\", allowed md, text or junit", format));
    }
    check_exit_map(arguments);
    if (arguments.words.size() > 1 && (arguments.has("exit-code") || arguments.has("exit-map"))) {
        throw Error("--exit-code and --exit-map are for one ID: a table has no verdict of its own");
    }
    Store store = open_store(arguments);
    std::vector<Record> records;
    for (const std::string& id : arguments.words) records.push_back(store.load_record(id));
    const Record& first = records.front();
    nlohmann::json shown = shown_json(first);
    if (records.size() > 1) {
        shown = nlohmann::json::array();
        for (const Record& record : records) shown.push_back(shown_json(record));
    }
    print(arguments, shown,
          format == "md"               ? report_markdown(records)
          : format == "junit"          ? report_junit(records)
          : arguments.words.size() > 1 ? report_text(records)
                                       : show_text(first));
    if (!arguments.has("exit-code") && !arguments.has("exit-map")) return kExitOk;
    return verdict_exit(arguments, first);
}

}  // namespace steady
