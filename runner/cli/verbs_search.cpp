// `steady tried` and what `plan`, `submit` and `journal --about` say of earlier attempts: one
// search over this database and over the records of the checkout.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "runner/cli/records.h"
#include "runner/cli/verbs.h"
#include "runner/cli/workspace.h"
#include "runner/entry/entry_data.h"
#include "runner/platform/files.h"
#include "runner/record/record_json.h"

namespace steady {
namespace {

constexpr int kMostRows = 100, kMostHints = 3;

nlohmann::json finding_json(const page::ListRow& row) {
    return {{"id", row.id},
            {"state", row.state},
            {"verdict", row.verdict},
            {"reason", row.reason},
            {"metric", row.metric},
            {"effect", row.effect ? nlohmann::json(*row.effect) : nlohmann::json()},
            {"interval", interval_json(row.interval)},
            {"pairs", row.pairs},
            {"host", row.host},
            {"claim", row.claim},
            {"file", row.file},
            {"question", row.question_sha},
            {"runs", runs_json(row.runs)},
            {"submitted_at", row.submitted_at},
            {"decided_at", row.decided_at}};
}

std::string finding_text(const page::ListRow& row) {
    const std::string effect = row.effect ? fmt::format("{:+.2f} %", 100 * *row.effect) : "–";
    std::string text = fmt::format("{:<36} {:<13} {:>9}  {:>3} pairs  {}{}\n", row.id,
                                   row.verdict.empty() ? row.state : row.verdict, effect, row.pairs,
                                   row.claim, row.file.empty() ? "" : "  [" + row.file + "]");
    if (row.runs.size() > 1) {
        text += fmt::format("    {} runs: {}\n", row.runs.size(), summary_of(row.runs).text);
    }
    return text;
}

std::string unknown_text(const search::Unknown& unknown) {
    return fmt::format(
        "nothing has the word \"{}\"{}\n", unknown.word,
        unknown.near.empty() ? "" : fmt::format("; near: {}", fmt::join(unknown.near, ", ")));
}

std::string findings_text(const search::Findings& found, const std::string& words) {
    std::string text;
    if (found.nearest) {
        text = fmt::format("nothing with all of \"{}\" was tried yet\n", words);
        for (const search::Unknown& unknown : found.unknown) text += unknown_text(unknown);
        if (!found.rows.empty()) text += "nearest, with some of the words:\n";
    }
    for (const page::ListRow& row : found.rows) text += finding_text(row);
    if (!text.empty()) text.pop_back();
    return text;
}

}  // namespace

void learn_shipped(Store& store) {
    namespace fs = std::filesystem;
    if (store.connection().options().role != DatabaseRole::owner) return;
    std::vector<search::Shipped> files;
    std::error_code none;
    const fs::path folder = fs::path(project_root()) / "experiments" / "records";
    for (const auto& file : fs::directory_iterator(folder, none)) {
        if (file.path().extension() != ".json" || !file.is_regular_file(none)) continue;
        files.push_back({"experiments/records/" + file.path().filename().string(),
                         read_file(file.path().string())});
    }
    store.connection().transact(
        [&](pqxx::transaction_base& transaction) { search::learn(transaction, files); });
}

search::Findings find_tried(Store& store, const std::string& words, bool decided_only) {
    if (search::query_of(words).empty()) {
        throw Error(
            fmt::format("\"{}\" has no letter or digit to look for; give a flag, an op, a "
                        "variant, a verdict or words of the claim",
                        words));
    }
    learn_shipped(store);
    search::Findings found;
    store.connection().transact([&](pqxx::transaction_base& transaction) {
        found = search::find(transaction, words, kMostRows, decided_only);
    });
    return found;
}

nlohmann::json findings_json(const search::Findings& found) {
    nlohmann::json rows = nlohmann::json::array(), unknown = nlohmann::json::array();
    for (const page::ListRow& row : found.rows) rows.push_back(finding_json(row));
    for (const search::Unknown& one : found.unknown) {
        unknown.push_back({{"word", one.word}, {"near", one.near}});
    }
    return {{"attempts", rows}, {"nearest", found.nearest}, {"unknown", unknown}};
}

std::string tried_hint(Store& store, const Spec& spec) {
    const std::vector<Difference> changed = differences(spec);
    if (changed.empty()) return "";
    const std::string& path = changed[0].path;
    const std::string what = path.substr(path.rfind('.') + 1);  // kernels.q4_0_experts → the op
    const search::Findings found = find_tried(store, what);
    std::vector<page::ListRow> others;
    const std::string own = spec.id + "-" + spec.sha256.substr(0, 8);
    for (const page::ListRow& row : found.rows) {
        if (row.id.starts_with(own)) continue;
        if (!found.nearest && !row.verdict.empty()) others.push_back(row);
    }
    if (others.empty()) return "";
    std::string text = fmt::format("tried before    {} about {}; `steady tried {}` shows all",
                                   others.size(), what, what);
    for (std::size_t i = 0; i < std::min<std::size_t>(others.size(), kMostHints); ++i) {
        text += "\n  " + finding_text(others[i]);
        text.pop_back();
    }
    return text;
}

int verb_tried(const Arguments& arguments) {
    Store store = open_store(arguments);
    const std::string words = fmt::format("{}", fmt::join(arguments.words, " "));
    const search::Findings found = find_tried(store, words);
    return print(arguments, findings_json(found), findings_text(found, words));
}

int journal_about(const Arguments& arguments, Store& store) {
    const std::string words = arguments.get("about");
    const search::Findings found = find_tried(store, words, true);
    return print(arguments, findings_json(found), findings_text(found, words));
}

}  // namespace steady
