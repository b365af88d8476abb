// One whole experiment, put together from its tables: what entry, page, export and `decide` read.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "engine/protocol/session_json.h"
#include "runner/pipeline/record_json.h"
#include "runner/storage/rows.h"
#include "runner/storage/statements.h"
#include "runner/storage/store.h"

namespace steady {
namespace {

using Transaction = pqxx::transaction_base;

[[noreturn]] void not_found(Transaction& transaction, const std::string& reference) {
    std::vector<std::string> near;
    for (const auto& row : transaction.exec_params(sql::kResolveNear, reference)) {
        near.push_back(rows::text(row[0]));
    }
    throw UnknownExperiment{
        fmt::format("no experiment {}; {} see `steady show` for all", reference,
                    near.empty() ? "" : fmt::format("near: {};", fmt::join(near, ", ")))};
}

std::string resolve_in(Transaction& transaction, const std::string& reference) {
    if (reference == "last") {
        const auto found = transaction.exec(sql::kLast);
        if (found.empty())
            throw UnknownExperiment{"there is no experiment yet; `steady run FILE` makes one"};
        return rows::text(found[0][0]);
    }
    for (const char* statement : {sql::kResolveExact, sql::kResolveSpec}) {
        const auto found = transaction.exec_params(statement, reference);
        if (!found.empty()) return rows::text(found[0][0]);
    }
    const auto found = transaction.exec_params(sql::kResolvePrefix, reference);
    if (found.size() == 1) return rows::text(found[0][0]);
    if (found.empty()) not_found(transaction, reference);
    std::vector<std::string> names;
    for (const auto& row : found) names.push_back(rows::text(row[0]));
    throw UnknownExperiment{
        fmt::format("{} is the beginning of several: {}", reference, fmt::join(names, ", "))};
}

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
    if (found.empty()) throw UnknownExperiment{fmt::format("no experiment {}", name)};
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

std::vector<Pair> read_pairs(Transaction& transaction, std::int64_t job, bool with_open) {
    std::vector<Pair> pairs;
    std::map<std::tuple<int, std::string, int, int>, std::size_t> index;
    for (const auto& row : transaction.exec_params(sql::kPairs, job, with_open)) {
        Pair pair;
        pair.gate = row[0].as<int>();
        pair.kind = rows::kind_from(rows::text(row[1]));
        pair.number = row[2].as<int>();
        pair.attempt = row[3].as<int>();
        pair.coins = rows::text(row[4]);
        pair.discarded = rows::text(row[5]);
        pair.sealed = row[6].as<bool>();
        index[{pair.gate, rows::text(row[1]), pair.number, pair.attempt}] = pairs.size();
        pairs.push_back(std::move(pair));
    }
    for (const auto& row : transaction.exec_params(sql::kSamples, job)) {
        const auto found =
            index.find({row[0].as<int>(), rows::text(row[1]), row[2].as<int>(), row[3].as<int>()});
        if (found == index.end()) continue;
        Pair& pair = pairs[found->second];
        auto& arm = rows::text(row[4]) == "A" ? pair.a : pair.b;
        arm[rows::text(row[5])] = rows::numbers(row[6]);
    }
    return pairs;
}

void read_evidence(Transaction& transaction, Record& record) {
    for (const auto& row : transaction.exec_params(sql::kEvidenceOfAllKinds, record.job)) {
        const std::string kind = rows::text(row[0]);
        const auto body = [&] { return nlohmann::json::parse(row[1].c_str()); };
        Evidence& evidence = record.evidence;
        if (kind == "prior") {
            evidence.prior = body().get<Prior>();
            record.earlier = evidence.prior->attempts;  // those that count, frozen
        }
        if (kind == "applied") evidence.applied = body().get<protocol::OpenReply>();
        if (kind == "correctness") evidence.correctness = body().get<protocol::CorrectnessReply>();
        if (kind == "correctness_failure") {
            evidence.correctness_failure = body().value("text", "");
        }
        if (kind == "profile") evidence.profile = body().get<protocol::ProfileReply>();
    }
}

}  // namespace

std::string Store::resolve(const std::string& reference) {
    std::string name;
    connection_.transact(
        [&](Transaction& transaction) { name = resolve_in(transaction, reference); });
    return name;
}

std::vector<Pair> Store::load_pairs(std::int64_t job, bool with_open) {
    std::vector<Pair> pairs;
    connection_.transact(
        [&](Transaction& transaction) { pairs = read_pairs(transaction, job, with_open); });
    return pairs;
}

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

Record Store::load_record(const std::string& reference, bool with_pairs) {
    Record record;
    connection_.transact([&](Transaction& transaction) {
        record = {};
        read_head(transaction, resolve_in(transaction, reference), record);
        read_attempts(transaction, record);
        read_earlier(transaction, record);
        if (with_pairs) record.pairs = read_pairs(transaction, record.job, false);
        read_evidence(transaction, record);
    });
    record.spec = parse_stored(record.spec_text, record.id);
    return record;
}

}  // namespace steady
