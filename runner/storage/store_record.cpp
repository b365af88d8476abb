// One whole experiment, put together from its tables: what entry, page, export and `decide` read.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "engine/protocol/session_json.h"
#include "runner/record/record_json.h"
#include "runner/storage/prepared.h"
#include "runner/storage/rows.h"
#include "runner/storage/statements.h"
#include "runner/storage/store.h"

namespace steady {
namespace {

[[noreturn]] void not_found(Transaction& transaction, const std::string& reference) {
    std::vector<std::string> near;
    for (const auto& row : transaction.exec_params(sql::kResolveNear, reference)) {
        near.push_back(rows::text(row[0]));
    }
    throw UnknownExperiment{fmt::format(
        "no experiment {}; {}`steady tried WORDS` searches, `steady journal` lists entries",
        reference, near.empty() ? "" : fmt::format("near: {}; ", fmt::join(near, ", ")))};
}

std::string resolve_in(Transaction& transaction, const std::string& reference) {
    if (reference == "last") {
        const auto found = transaction.exec(sql::kLast);
        if (found.empty())
            throw UnknownExperiment{"there is no experiment yet; `steady run FILE` makes one"};
        return rows::text(found[0][0]);
    }
    for (const char* statement : {sql::kResolveExact, sql::kResolveRun, sql::kResolveSpec}) {
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

std::vector<Attempt> read_attempts(const nlohmann::json& list) {
    const auto text = [](const nlohmann::json& value) {
        return value.is_null() ? "" : value.get<std::string>();
    };
    std::vector<Attempt> attempts;
    for (const nlohmann::json& row : list) {
        Attempt& attempt = attempts.emplace_back();
        attempt.epoch = row.at("epoch");
        attempt.worker = text(row.at("worker"));
        attempt.host = text(row.at("host"));
        const nlohmann::json& print = row.at("fingerprint");
        if (!print.is_null()) attempt.fingerprint = print.get<Fingerprint>();
        attempt.began = text(row.at("began"));
        attempt.ended = text(row.at("ended"));
        attempt.how = text(row.at("how"));
    }
    return attempts;
}

Evidence read_evidence(const nlohmann::json& of_kind) {
    Evidence evidence;
    const auto take = [&](const char* kind, auto& member) {
        const auto found = of_kind.find(kind);
        if (found != of_kind.end()) {
            member = found->get<typename std::decay_t<decltype(member)>::value_type>();
        }
    };
    take("prior", evidence.prior);
    take("applied", evidence.applied);
    take("correctness", evidence.correctness);
    take("profile", evidence.profile);
    take("sweep", evidence.sweep);
    const auto failure = of_kind.find("correctness_failure");
    if (failure != of_kind.end()) evidence.correctness_failure = failure->value("text", "");
    return evidence;
}

// Everything but the pairs. False: no experiment has that name.
bool read_all_but_pairs(Transaction& transaction, const std::string& name, Record& record) {
    const auto found = sql::ask(transaction, sql::kRecord, name);
    if (found.empty()) return false;
    const auto row = found[0];
    const auto json = [&](const char* column) {
        return nlohmann::json::parse(row[column].c_str());
    };
    record.id = name;
    record.run_id = rows::text(row["run_id"]);
    record.job = row["job_id"].as<std::int64_t>();
    record.rerun = row["rerun"].as<int>();
    record.state = rows::text(row["state"]);
    record.note = rows::text(row["note"]);
    record.spec_text = rows::text(row["spec_text"]);
    record.question_sha = rows::text(row["question"]);
    record.seed = std::stoull(rows::text(row["seed"]));
    record.submitted_at = rows::text(row["submitted"]);
    record.decided_at = rows::text(row["decided"]);
    record.seconds = row["seconds"].as<double>();
    record.journal_path = rows::text(row["path"]);
    record.checked = row["checked"].as<bool>();
    record.sampled = row["sampled"].as<bool>();
    if (!row["analysis"].is_null()) record.analysis = json("analysis").get<Analysis>();
    record.attempts = read_attempts(json("attempts"));
    const nlohmann::json evidence = json("evidence");
    record.published = evidence.value(nlohmann::json::json_pointer("/origin/name"), name);
    record.evidence = read_evidence(evidence);
    record.submitted_before = json("earlier").get<std::vector<std::string>>();
    record.earlier = record.evidence.prior ? record.evidence.prior->attempts  // that count, frozen
                                           : record.submitted_before;
    return true;
}

std::vector<Pair> read_pairs(Transaction& transaction, std::int64_t job, bool with_open) {
    std::vector<Pair> pairs;
    for (const auto& row : sql::ask(transaction, sql::kPairs, job, with_open)) {
        Pair& pair = pairs.emplace_back();
        pair.gate = row[0].as<int>();
        pair.kind = rows::kind_from(rows::text(row[1]));
        pair.number = row[2].as<int>();
        pair.attempt = row[3].as<int>();
        pair.coins = rows::text(row[4]);
        pair.discarded = rows::text(row[5]);
        pair.sealed = row[6].as<bool>();
        const std::vector<std::string> arms = rows::texts(row[7]), metrics = rows::texts(row[8]);
        std::string_view values(row[9].c_str(), row[9].size());
        for (std::size_t i = 0; i < arms.size(); ++i) {
            (arms[i] == "A" ? pair.a : pair.b)[metrics[i]] = rows::take_numbers(values);
        }
    }
    return pairs;
}

}  // namespace

std::string Store::resolve(const std::string& reference) {
    std::string name;
    connection_.look([&](Transaction& transaction) { name = resolve_in(transaction, reference); });
    return name;
}

std::vector<Pair> Store::load_pairs(std::int64_t job, bool with_open) {
    std::vector<Pair> pairs;
    connection_.look(
        [&](Transaction& transaction) { pairs = read_pairs(transaction, job, with_open); });
    return pairs;
}

std::vector<std::string> Store::attempts_at(const Spec& spec,
                                            const std::map<std::string, std::string>& commits) {
    std::vector<std::string> ids;
    connection_.look([&](Transaction& transaction) {
        ids.clear();
        for (const auto& row :
             transaction.exec_params(sql::kAttemptsAt, question_sha(spec, commits))) {
            ids.push_back(rows::text(row[0]));
        }
    });
    return ids;
}

std::string Store::decided_on(const std::string& host, const Spec& spec,
                              const std::map<std::string, std::string>& commits) {
    std::string id;
    connection_.look([&](Transaction& transaction) {
        const auto found = transaction.exec_params(sql::kDecidedOn, spec.sha256,
                                                   question_sha(spec, commits), host);
        id = found.empty() ? "" : rows::text(found[0][0]);
    });
    return id;
}

Record Store::load_record(const std::string& reference, bool with_pairs) {
    Record record;
    connection_.look([&](Transaction& transaction) {
        record = {};
        if (!read_all_but_pairs(transaction, reference, record)) {
            const std::string name = resolve_in(transaction, reference);
            if (!read_all_but_pairs(transaction, name, record)) {
                throw UnknownExperiment{fmt::format("no experiment {}", name)};
            }
        }
        if (with_pairs) record.pairs = read_pairs(transaction, record.job, false);
    });
    record.spec = parse_stored(record.spec_text, record.id);
    return record;
}

}  // namespace steady
