// Rows to runs: the machine's facts are read out of its fingerprint, as everywhere.
#include "runner/storage/runs_of.h"

#include <nlohmann/json.hpp>

#include "runner/record/cpu_class.h"
#include "runner/storage/dashboard_statements.h"
#include "runner/storage/prepared.h"
#include "runner/storage/rows.h"

namespace steady::page {
namespace {

constexpr int kMostRuns = 200;

void add_machine(Run& run, const std::string& fingerprint, const std::string& device) {
    const auto facts = nlohmann::json::parse(fingerprint, nullptr, false);
    if (!facts.is_object()) return;
    const auto print = facts.get<Fingerprint>();
    const auto fact = [&](const char* name) {
        const auto found = print.find(name);
        return found == print.end() ? std::string() : found->second;
    };
    run.cpu = fact("cpu_model");
    run.cpu_class = cpu_class(print);
    run.gpu = gpu_name(device, print);
    run.revision = fact("steady_revision");
}

Run run_of(const pqxx::row& row) {
    const auto number = [](const pqxx::field& field) {
        return field.is_null() ? std::nullopt : std::optional(field.as<double>());
    };
    Run run;
    run.id = rows::text(row["name"]);
    run.run_id = rows::text(row["run_id"]);
    run.published = rows::text(row["published"]);
    run.file = rows::text(row["file"]);
    run.question_sha = rows::text(row["question"]);
    run.spec_sha = rows::text(row["spec_sha"]);
    run.record_sha = rows::text(row["record_sha"]);
    run.state = rows::text(row["state"]);
    run.verdict = rows::text(row["outcome"]);
    run.reason = rows::text(row["reason"]);
    run.metric = rows::text(row["metric"]);
    run.effect = number(row["effect"]);
    run.interval = {number(row["low"]), number(row["high"])};
    run.pairs = row["pairs"].as<int>(0);
    run.host = rows::text(row["host"]);
    run.submitted_at = rows::text(row["submitted"]);
    run.decided_at = rows::text(row["decided"]);
    add_machine(run, rows::text(row["fingerprint"]), rows::text(row["device"]));
    return run;
}

}  // namespace

std::map<std::string, std::vector<Run>> runs_of(pqxx::transaction_base& transaction,
                                                const std::vector<std::string>& questions) {
    std::map<std::string, std::vector<Run>> out;
    for (const auto& row :
         sql::ask(transaction, sql::kRuns, rows::array_of(questions), kMostRuns)) {
        Run run = run_of(row);
        out[run.question_sha].push_back(std::move(run));
    }
    return out;
}

std::vector<Run> runs_of(pqxx::transaction_base& transaction, const std::string& question) {
    return std::move(runs_of(transaction, std::vector<std::string>{question})[question]);
}

std::vector<std::string> without_verdict_or_entry(pqxx::transaction_base& transaction) {
    std::vector<std::string> ids;
    for (const auto& row : transaction.exec(sql::kWithoutVerdictOrEntry)) {
        ids.push_back(rows::text(row[0]));
    }
    return ids;
}

}  // namespace steady::page
