// Records between store, judge and journal folder.
#include "runner/cli/records.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "runner/cli/workspace.h"
#include "runner/edges/files.h"
#include "runner/pipeline/entry.h"
#include "runner/pipeline/entry_figures.h"
#include "runner/storage/migrate.h"

namespace steady {

Store open_store(const Arguments& arguments, DatabaseRole role) {
    return Store({.url = database_url(arguments.get("db")), .role = role, .client = "cli"});
}

Analysis judge_again(const Record& record, bool finished) {
    const Evidence& evidence = record.evidence;
    JudgeInput input;
    input.spec = &record.spec;
    input.pairs = &record.pairs;
    input.applied = evidence.applied ? &*evidence.applied : nullptr;
    input.correctness = evidence.correctness ? &*evidence.correctness : nullptr;
    input.correctness_failure = evidence.correctness_failure;
    if (evidence.prior) input.prior = *evidence.prior;
    input.seed = record.seed;
    input.finished = finished;
    return judge(input);
}

std::string missing_samples(Store& store, const Record& record) {
    const auto body = store.load_evidence(record.job, "retention");
    if (!body) return "";
    const nlohmann::json word = nlohmann::json::parse(*body);
    if (word.at("why") == "dead epochs") return "";  // they never counted
    return fmt::format("{}: retention removed its {} rows of samples ({}); what is stored stands",
                       record.id, word.at("rows").get<std::int64_t>(),
                       word.at("why").get<std::string>());
}

std::map<std::string, std::pair<std::string, std::string>> machine_differences(const Record& a,
                                                                               const Record& b) {
    std::map<std::string, std::pair<std::string, std::string>> differences;
    const auto flat = [](const Record& record) {
        Fingerprint print;
        if (record.attempts.empty()) return print;
        print = record.attempts.back().fingerprint;
        print["host"] = record.attempts.back().host;
        return print;
    };
    for (const auto& [key, value] : flat(a)) differences[key].first = value;
    for (const auto& [key, value] : flat(b)) differences[key].second = value;
    std::erase_if(differences,
                  [](const auto& one) { return one.second.first == one.second.second; });
    return differences;
}

void write_entry(Store& store, Record& record) {
    const std::string path = project_root() + "/" + entry_path(record);
    make_directories(std::filesystem::path(path).parent_path().string());
    const std::string old = std::filesystem::exists(path) ? read_file(path) : std::string();
    write_file_atomic(project_root() + "/" + figure_path(record), entry_figure(record));
    write_file_atomic(path, old.empty() ? render(record) : render(record, old));
    record.journal_path = entry_path(record);
    store.set_journal_path(record.id, record.journal_path);
}

}  // namespace steady
