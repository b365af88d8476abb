// Loads records, judges them again, writes entries.
#include "runner/cli/records.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "runner/cli/workspace.h"
#include "runner/entry/entry.h"
#include "runner/entry/entry_figures.h"
#include "runner/platform/files.h"
#include "runner/record/record_json.h"
#include "runner/storage/migrate.h"

namespace steady {
namespace {

std::string user_name() {
    const passwd* entry = ::getpwuid(::geteuid());
    return entry != nullptr ? entry->pw_name : fmt::format("uid {}", ::geteuid());
}

}  // namespace

Store open_store(const Arguments& arguments, DatabaseRole role) {
    return Store({.url = database_url(arguments.get("db")),
                  .role = role,
                  .client = "cli",
                  .actor = "cli " + user_name()});
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

std::string check_verdict(Store& store, const service::Unchecked& verdict) {
    std::string refuted, says;
    try {
        const Record record = store.load_record(verdict.id);
        says = missing_samples(store, record);
        if (says.empty()) {
            const Analysis now = judge_again(record);
            const bool same = name(now.verdict) == verdict.outcome && now.reason == verdict.reason;
            if (!same || record.analysis->verdict != now.verdict) {
                refuted = name(now.verdict);
                if (!now.reason.empty()) refuted += " (" + now.reason + ")";
            } else if (nlohmann::json(now) != nlohmann::json(*record.analysis)) {
                says = "the same verdict with other numbers than those stored";
            }
        }
    } catch (const nlohmann::json::exception& error) {
        refuted = fmt::format("nothing that can be read ({})", error.what());
    }
    service::check_verdict(store.connection(), verdict.job, refuted, says);
    return refuted;
}

void settle_record(Store& store, Record& record, bool with_entry) {
    if (service::may_check_verdicts(store.connection())) {
        for (const auto& verdict : service::unchecked_verdicts(store.connection(), record.id)) {
            const std::string refuted = check_verdict(store, verdict);
            if (refuted.empty()) continue;
            throw VerdictRefuted(
                fmt::format("{}: its worker stored {}, its samples give {}: refuted", record.id,
                            verdict.outcome, refuted));
        }
    }
    if (with_entry) {
        write_entry(store, record);
    } else {
        service::decline_entry(store.connection(), record.job);
    }
}

std::vector<std::string> write_missing_entries(Store& store, const std::string& host) {
    std::vector<std::string> paths;
    for (const std::string& id : service::missing_entries(store.connection())) {
        Record record = store.load_record(id);
        if (!record.analysis) continue;
        const bool elsewhere = record.attempts.empty() || record.attempts.back().host != host;
        if (!host.empty() && elsewhere) continue;
        write_entry(store, record);
        paths.push_back(record.journal_path);
    }
    return paths;
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
