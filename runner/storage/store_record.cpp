// One whole experiment, put together from its tables: what entry, page, export and `decide` read.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/protocol/session_json.h"
#include "runner/pipeline/record_json.h"
#include "runner/storage/rows.h"
#include "runner/storage/statements.h"
#include "runner/storage/store.h"

namespace steady {
namespace {

using Transaction = pqxx::transaction_base;

Spec parse_stored(const std::string& canonical, const std::string& id) {
    auto result = parse_spec(canonical, "");
    if (!result.spec) {
        throw Error{fmt::format("the stored spec of {} cannot be read by this version: {}", id,
                                result.errors.empty() ? "" : describe(result.errors[0], id)),
                    kExitInternal};
    }
    return std::move(*result.spec);
}

void read_head(Transaction& transaction, const std::string& name, Record& record) {
    const auto found = transaction.exec_params(sql::kRecord, name);
    if (found.empty()) throw Error{fmt::format("no experiment {}", name)};
    const auto row = found[0];
    record.id = name;
    record.job = row["job_id"].as<std::int64_t>();
    record.rerun = row["rerun_no"].as<int>();
    record.state = rows::text(row["state"]);
    record.note = rows::text(row["note"]);
    record.spec_text = rows::text(row["spec_text"]);
    record.question_sha = rows::text(row["question"]);
    record.seed = std::stoull(rows::text(row["seed"]));
    record.submitted_at = rows::text(row["submitted"]);
    record.decided_at = rows::text(row["decided"]);
    record.seconds = row["seconds"].as<double>();
    record.journal_path = rows::text(row["path"]);
    if (!row["analysis"].is_null()) {
        record.analysis = nlohmann::json::parse(row["analysis"].c_str()).get<Analysis>();
    }
}

void read_attempts(Transaction& transaction, Record& record) {
    record.attempts.clear();
    for (const auto& row : transaction.exec_params(sql::kAttempts, record.job)) {
        Attempt attempt;
        attempt.epoch = row[0].as<std::int64_t>();
        attempt.worker = rows::text(row[1]);
        attempt.host = rows::text(row[2]);
        if (!row[3].is_null()) {
            attempt.fingerprint = nlohmann::json::parse(row[3].c_str()).get<Fingerprint>();
        }
        attempt.began = rows::text(row[4]);
        attempt.ended = rows::text(row[5]);
        attempt.how = rows::text(row[6]);
        record.attempts.push_back(std::move(attempt));
    }
}

void read_earlier(Transaction& transaction, Record& record) {
    record.earlier.clear();
    for (const auto& row : transaction.exec_params(sql::kEarlier, record.id)) {
        record.earlier.push_back(rows::text(row[0]));
    }
}

}  // namespace

std::vector<std::string> Store::attempts_at(const Spec& spec) {
    std::vector<std::string> ids;
    connection_.transact([&](Transaction& transaction) {
        ids.clear();
        for (const auto& row : transaction.exec_params(sql::kAttemptsAt, question_sha(spec))) {
            ids.push_back(rows::text(row[0]));
        }
    });
    return ids;
}

Record Store::load_record(const std::string& reference) {
    Record record;
    const std::string name = resolve(reference);
    connection_.transact([&](Transaction& transaction) {
        record = {};
        read_head(transaction, name, record);
        read_attempts(transaction, record);
        read_earlier(transaction, record);
    });
    record.spec = parse_stored(record.spec_text, name);
    record.pairs = load_pairs(record.job, false);
    if (const auto body = load_evidence(record.job, "prior")) {
        record.evidence.prior = nlohmann::json::parse(*body).get<Prior>();
        record.earlier = record.evidence.prior->attempts;  // those that count, frozen
    }
    if (const auto body = load_evidence(record.job, "applied")) {
        record.evidence.applied = nlohmann::json::parse(*body).get<protocol::OpenReply>();
    }
    if (const auto body = load_evidence(record.job, "correctness")) {
        record.evidence.correctness =
            nlohmann::json::parse(*body).get<protocol::CorrectnessReply>();
    }
    if (const auto body = load_evidence(record.job, "correctness_failure")) {
        record.evidence.correctness_failure = nlohmann::json::parse(*body).value("text", "");
    }
    if (const auto body = load_evidence(record.job, "profile")) {
        record.evidence.profile = nlohmann::json::parse(*body).get<protocol::ProfileReply>();
    }
    return record;
}

}  // namespace steady
