// Loads records, judges them again, writes entries.
#include "runner/cli/records.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "runner/base/text.h"
#include "runner/cli/programs.h"
#include "runner/cli/workspace.h"
#include "runner/entry/entry.h"
#include "runner/entry/entry_data.h"
#include "runner/entry/entry_figures.h"
#include "runner/judge/earlier_evidence.h"
#include "runner/plan/plan.h"
#include "runner/platform/files.h"
#include "runner/record/record_json.h"
#include "runner/storage/migrate.h"
#include "runner/storage/runs_of.h"

namespace steady {
namespace {

std::string user_name() {
    const passwd* entry = ::getpwuid(::geteuid());
    return entry != nullptr ? entry->pw_name : fmt::format("uid {}", ::geteuid());
}

}  // namespace

std::string command_database(const Arguments& arguments) {
    using std::chrono::steady_clock;
    static std::mutex guard;
    static std::string named, url;
    static steady_clock::time_point asked;
    const std::string given = arguments.get("db");
    const std::lock_guard lock(guard);
    if (url.empty() || named != given || steady_clock::now() - asked > std::chrono::seconds(30)) {
        url = database_url(given);
        named = given;
        asked = steady_clock::now();
    }
    return url;
}

Store open_store(const Arguments& arguments, DatabaseRole role) {
    return Store({.url = command_database(arguments),
                  .role = role,
                  .client = "cli",
                  .actor = "cli " + user_name()});
}

nlohmann::json shown_json(const Record& record) {
    nlohmann::json out = show_json(record);
    if (!record.analysis) return out;
    out["sentence"] = outcome_sentence(record);
    out["weights"] = weights_words(record);
    out["machine_state"] = out["placements"] = nullptr;
    out["clocks"] = clocks_json(record.analysis->clocks);
    if (const auto state = machine_state_of(record, pair_rows(record))) {
        out["machine_state"] = {{"depends", state->depends},
                                {"effect_in_faster_half", std::expm1(state->fast)},
                                {"effect_in_slower_half", std::expm1(state->slow)},
                                {"p", state->p}};
    }
    if (const auto spread = placement_spread_of(record, pair_rows(record))) {
        nlohmann::json medians = nlohmann::json::array();
        for (const double d : spread->medians) medians.push_back(std::expm1(d));
        out["placements"] = {{"depends", spread->depends},
                             {"effects", std::move(medians)},
                             {"pairs", spread->pairs},
                             {"spread", spread->spread},
                             {"p", spread->p},
                             {"seconds", placement_seconds(record)}};
    }
    return out;
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
    Analysis analysis = judge(input);
    // Compared with what an older version stored, which did not say it.
    if (record.analysis && !record.analysis->dependence) analysis.dependence.reset();
    return analysis;
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

const std::string& fact(const Fingerprint& print, const std::string& name) {
    static const std::string none;
    const auto found = print.find(name);
    return found == print.end() ? none : found->second;
}

namespace {

// The log E of an earlier attempt's own pairs for its deciding gate; nothing when it does not count
// here: other machine, engine or model, accepted, or without pairs.
std::optional<EarlierEvidence> own_evidence(const Record& earlier, const std::string& host,
                                            const Fingerprint& here, TakeFrom from) {
    if (earlier.attempts.empty() || earlier.attempts.back().host != host) return std::nullopt;
    const Fingerprint& there = earlier.attempts.back().fingerprint;
    for (const std::string& same : identity_facts(earlier.spec)) {
        // What is not known is equal to nothing.
        if (fact(there, same).empty() || fact(there, same) != fact(here, same)) return std::nullopt;
    }
    const bool decided = earlier.analysis.has_value();
    const Analysis analysis =
        decided && from == TakeFrom::analyses ? *earlier.analysis : judge_again(earlier, decided);
    if (decided && analysis.verdict == Verdict::accept) return std::nullopt;
    for (const GateResult& gate : analysis.gates) {
        if (gate.role != Role::decides || gate.pairs == 0) continue;
        EarlierEvidence own{gate.log_e_accept, gate.log_e_reject};
        if (const auto& prior = earlier.evidence.prior) {
            own.log_e_accept -= prior->log_e_accept;
            own.log_e_reject -= prior->log_e_reject;
        }
        // Evidence for a reject is not carried over to a later attempt; evidence for a gain is.
        if (analysis.verdict == Verdict::reject) own.log_e_reject = 0;
        return own;
    }
    return std::nullopt;
}

// What the record's worker says of earlier attempts, held to what their samples give: of evidence
// the smaller counts, and of the attempts all that were over before this one began, named or not.
void hold_to_samples(Store& store, Record& record) {
    if (record.attempts.empty()) return;
    Prior& prior = record.evidence.prior ? *record.evidence.prior : record.evidence.prior.emplace();
    const std::vector<std::string> named = prior.attempts;
    const auto is_named = [&](const std::string& id) {
        return std::find(named.begin(), named.end(), id) != named.end();
    };
    std::vector<std::string> ids = named;
    for (const std::string& id : record.submitted_before) {
        if (is_named(id)) continue;
        const Record earlier = store.load_record(id, false);
        const bool over = !earlier.attempts.empty() && !earlier.attempts.back().ended.empty() &&
                          earlier.attempts.back().ended < record.attempts.front().began;
        if (over) ids.push_back(id);
    }
    const EarlierAttempts found =
        earlier_attempts(store, record.spec, ids, record.attempts.back().host,
                         record.attempts.back().fingerprint, TakeFrom::samples);
    for (const std::string& id : found.ids) {
        if (!is_named(id)) prior.attempts.push_back(id);
    }
    constexpr double kRounding = 1e-9;
    const auto smaller = [](double said, double is) { return said <= is + kRounding ? said : is; };
    prior.log_e_accept = smaller(prior.log_e_accept, found.log_e_accept);
    prior.log_e_reject = smaller(prior.log_e_reject, found.log_e_reject);
}

}  // namespace

EarlierAttempts earlier_attempts(Store& store, const Spec& spec,
                                 const std::vector<std::string>& ids, const std::string& host,
                                 const Fingerprint& here, TakeFrom from) {
    EarlierAttempts sum;
    const Gate* gate = deciding_gate(spec);
    if (gate == nullptr || arms_difference(spec).empty()) return sum;
    for (const std::string& id : ids) {
        const Record earlier = store.load_record(id);
        const bool analysis_is_left =
            from == TakeFrom::samples && !missing_samples(store, earlier).empty();
        const auto own =
            own_evidence(earlier, host, here, analysis_is_left ? TakeFrom::analyses : from);
        if (!own) continue;
        const EarlierEvidence counts = comparable(*deciding_gate(earlier.spec), *own, *gate);
        sum.ids.push_back(id);
        sum.log_e_accept += counts.log_e_accept;
        sum.log_e_reject += counts.log_e_reject;
    }
    return sum;
}

std::string check_verdict(Store& store, const service::Unchecked& verdict) {
    std::string refuted, says;
    try {
        Record record = store.load_record(verdict.id);
        says = missing_samples(store, record);
        if (says.empty()) {
            hold_to_samples(store, record);
            const Analysis now = judge_again(record);
            const bool same = name(now.verdict) == verdict.outcome && now.reason == verdict.reason;
            if (!same || record.analysis->verdict != now.verdict) {
                refuted = name(now.verdict);
                if (!now.reason.empty()) refuted += " (" + now.reason + ")";
            } else if (nlohmann::json(now) != nlohmann::json(*record.analysis)) {
                says = "the same verdict with other numbers than those stored";
            }
        }
    } catch (const std::exception& error) {
        const auto* ours = dynamic_cast<const Error*>(&error);
        // The database, or a spec of another version: says nothing about the verdict.
        if (ours != nullptr && ours->exit_code == kExitInternal) throw;
        refuted = fmt::format("nothing that can be read ({})", escape_line(error.what()));
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
    if (!host.empty()) return paths;
    // A person who asks for all of them gets those that ended without a verdict too.
    std::vector<std::string> ended;
    store.connection().transact([&](pqxx::transaction_base& transaction) {
        ended = page::without_verdict_or_entry(transaction);
    });
    for (const std::string& id : ended) {
        Record record = store.load_record(id);
        if (record.attempts.empty()) continue;  // nothing ran
        write_entry(store, record);
        paths.push_back(record.journal_path);
    }
    return paths;
}

std::vector<Run> runs_of(Store& store, const std::string& question_sha) {
    std::vector<Run> runs;
    store.connection().transact([&](pqxx::transaction_base& transaction) {
        runs = page::runs_of(transaction, question_sha);
    });
    return runs;
}

std::string runs_text(const std::vector<Run>& runs, const std::string& own_run_id) {
    if (runs.size() < 2) return "";
    std::string text = fmt::format("runs of this question: {}\n", summary_of(runs).text);
    for (const Run& run : runs) {
        const std::string effect = run.effect ? fmt::format("{:+.2f} %", 100 * *run.effect) : "–";
        text += fmt::format(
            "{} {:<36} {:<13} {:>9}  {}  {:<20} {}  {}{}\n", run.run_id == own_run_id ? "*" : " ",
            run.id.empty() ? run.published : run.id, run.verdict.empty() ? run.state : run.verdict,
            effect, (run.decided_at.empty() ? run.submitted_at : run.decided_at).substr(0, 10),
            machine_class(run), escape_line(run.cpu), run.revision,
            run.id.empty() ? "  [" + run.file + "]" : "");
    }
    text.pop_back();
    return text;
}

Record as_published(Store& store, Record record) {
    if (!record.published.empty()) record.id = record.published;
    record.runs = runs_of(store, record.question_sha);
    std::erase_if(record.runs,
                  [&](const Run& run) { return run.file.empty() && run.run_id != record.run_id; });
    // Two machines may have published their runs under one name: the first keeps it.
    std::map<std::string, std::string> keeper;
    for (Run& run : record.runs) {
        if (run.file.empty()) continue;
        const std::string& kept = keeper.emplace(run.published, run.run_id).first->second;
        if (kept != run.run_id) run.published += "-r" + run.run_id.substr(0, 8);
        if (run.run_id == record.run_id) record.id = run.published;
    }
    return record;
}

Record with_runs(Store& store, Record record) {
    record.runs = runs_of(store, record.question_sha);
    for (Run& run : record.runs) {
        if (!run.id.empty()) run.published = run.id;
    }
    return record;
}

namespace {

// A run that ended without a verdict and was decided later, on another day, has one entry.
void drop_short_entry(const Record& record) {
    if (record.journal_path.empty() || record.journal_path == entry_path(record)) return;
    const std::filesystem::path path = project_root() + "/" + record.journal_path;
    if (!std::filesystem::is_regular_file(path)) return;
    const std::string text = read_file(path.string());
    const bool own = text.find("\nid: \"" + record.id + "\"\n") != std::string::npos;
    const bool without = text.find("\nverdict: cancelled\n") != std::string::npos ||
                         text.find("\nverdict: failed\n") != std::string::npos;
    if (own && without) std::filesystem::remove(path);
}

}  // namespace

void write_entry(Store& store, Record& record) {
    learn_shipped(store);
    const Record filed = as_published(store, record);
    const std::string path = project_root() + "/" + entry_path(filed);
    make_directories(std::filesystem::path(path).parent_path().string());
    const std::string old = std::filesystem::exists(path) ? read_file(path) : std::string();
    if (!old.empty() && !is_entry_of(filed, old)) {
        throw Error(
            fmt::format("{} is the entry of another run; move it away, or keep {} in the "
                        "database alone",
                        entry_path(filed), record.id));
    }
    if (filed.analysis) {
        write_file_atomic(project_root() + "/" + figure_path(filed), entry_figure(filed));
    }
    drop_short_entry(filed);
    write_file_atomic(path, old.empty() ? render(filed) : render(filed, old));
    record.journal_path = entry_path(filed);
    store.set_journal_path(record.id, record.journal_path);
}

}  // namespace steady
