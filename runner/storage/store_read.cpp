// Reading: rows become the pipeline's structs. Nothing here needs a lease.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "runner/pipeline/statistics.h"
#include "runner/storage/rows.h"
#include "runner/storage/statements.h"
#include "runner/storage/store.h"

namespace steady {
namespace {

using Transaction = pqxx::transaction_base;

constexpr std::size_t kFewestForSigma = 6;  // below, a spread is not yet knowledge

[[noreturn]] void not_found(Transaction& transaction, const std::string& reference) {
    std::vector<std::string> near;
    for (const auto& row : transaction.exec_params(sql::kResolveNear, reference)) {
        near.push_back(rows::text(row[0]));
    }
    throw Error{fmt::format("no experiment {}; {} see `steady show` for all", reference,
                            near.empty() ? "" : fmt::format("near: {};", fmt::join(near, ", ")))};
}

std::string resolve_in(Transaction& transaction, const std::string& reference) {
    if (reference == "last") {
        const auto found = transaction.exec(sql::kLast);
        if (found.empty()) throw Error{"there is no experiment yet; `steady run FILE` makes one"};
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
    throw Error{
        fmt::format("{} is the beginning of several: {}", reference, fmt::join(names, ", "))};
}

std::vector<ExperimentRow> experiments(const pqxx::result& found) {
    std::vector<ExperimentRow> out;
    for (const auto& row : found) out.push_back(rows::experiment(row));
    return out;
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
    connection_.transact([&](Transaction& transaction) {
        pairs.clear();
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
            const auto found = index.find(
                {row[0].as<int>(), rows::text(row[1]), row[2].as<int>(), row[3].as<int>()});
            if (found == index.end()) continue;
            Pair& pair = pairs[found->second];
            auto& arm = rows::text(row[4]) == "A" ? pair.a : pair.b;
            arm[rows::text(row[5])] = rows::numbers(row[6]);
        }
    });
    return pairs;
}

std::optional<std::string> Store::load_evidence(std::int64_t job, const std::string& kind) {
    std::optional<std::string> body;
    connection_.transact([&](Transaction& transaction) {
        const auto found = transaction.exec_params(sql::kEvidence, job, kind);
        if (!found.empty()) body = rows::text(found[0][0]);
    });
    return body;
}

std::vector<ExperimentRow> Store::list_experiments(const ExperimentFilter& filter, int limit,
                                                   std::int64_t cursor) {
    std::vector<ExperimentRow> out;
    connection_.transact([&](Transaction& transaction) {
        out = experiments(transaction.exec_params(sql::kListExperiments, filter.words,
                                                  filter.spec_id, filter.state, filter.verdict,
                                                  filter.owner, filter.host, limit, cursor));
    });
    return out;
}

std::vector<ExperimentRow> Store::list_queue() {
    std::vector<ExperimentRow> out;
    connection_.transact(
        [&](Transaction& transaction) { out = experiments(transaction.exec(sql::kListQueue)); });
    return out;
}

std::vector<HostRow> Store::list_hosts() {
    std::vector<HostRow> out;
    connection_.transact([&](Transaction& transaction) {
        out.clear();
        for (const auto& row : transaction.exec(sql::kListHosts)) {
            HostRow host;
            host.name = rows::text(row["name"]);
            host.tags = rows::texts(row["tags"]);
            host.draining = row["draining"].as<bool>();
            host.seen_at = rows::text(row["seen"]);
            host.job = rows::text(row["job"]);
            out.push_back(std::move(host));
        }
    });
    return out;
}

HostHistory Store::host_history(const std::string& host, const std::string& metric, Mode mode,
                                const std::string& model) {
    HostHistory history;
    connection_.transact([&](Transaction& transaction) {
        history.aa_pairs.clear();
        for (const auto& row :
             transaction.exec_params(sql::kHistory, host, metric,
                                     mode == Mode::duet ? "duet" : "process_pairs", model)) {
            history.aa_pairs.push_back(row[0].as<double>());
        }
    });
    if (history.aa_pairs.size() >= kFewestForSigma) {
        const double sigma = kMadToSigma * mad(history.aa_pairs);
        if (sigma > 0) history.sigma0 = sigma;
    }
    return history;
}

std::vector<Token> Store::list_tokens() {
    std::vector<Token> out;
    connection_.transact([&](Transaction& transaction) {
        out.clear();
        for (const auto& row : transaction.exec(sql::kListTokens)) {
            out.push_back({rows::text(row[0]), rows::text(row[1]), rows::texts(row[2]),
                           rows::text(row[3]), rows::text(row[4]), row[5].as<bool>()});
        }
    });
    return out;
}

std::vector<std::string> Store::token_scopes(const std::string& sha256) {
    std::vector<std::string> scopes;
    connection_.transact([&](Transaction& transaction) {
        scopes = rows::texts(transaction.exec_params1(sql::kTokenScopes, sha256)[0]);
    });
    return scopes;
}

}  // namespace steady
