// Reading: rows become the pipeline's structs. Nothing here needs a lease.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runner/statistics/statistics.h"
#include "runner/storage/rows.h"
#include "runner/storage/statements.h"
#include "runner/storage/store.h"

namespace steady {
namespace {

constexpr std::size_t kFewestForSigma = 6;  // below, a spread is not yet knowledge

std::vector<ExperimentRow> experiments(const pqxx::result& found) {
    std::vector<ExperimentRow> out;
    for (const auto& row : found) out.push_back(rows::experiment(row));
    return out;
}

}  // namespace

std::optional<std::string> Store::load_evidence(std::int64_t job, const std::string& kind) {
    std::optional<std::string> body;
    connection_.look([&](Transaction& transaction) {
        const auto found = transaction.exec_params(sql::kEvidence, job, kind);
        if (!found.empty()) body = rows::text(found[0][0]);
    });
    return body;
}

std::vector<ExperimentRow> Store::list_experiments(const ExperimentFilter& filter, int limit,
                                                   std::int64_t cursor) {
    std::vector<ExperimentRow> out;
    connection_.look([&](Transaction& transaction) {
        out = experiments(transaction.exec_params(sql::kListExperiments, filter.spec_id,
                                                  filter.state, filter.verdict, filter.owner,
                                                  filter.host, limit, cursor));
    });
    return out;
}

std::vector<ExperimentRow> Store::list_queue() {
    std::vector<ExperimentRow> out;
    connection_.look(
        [&](Transaction& transaction) { out = experiments(transaction.exec(sql::kListQueue)); });
    return out;
}

std::vector<HostRow> Store::list_hosts() {
    std::vector<HostRow> out;
    connection_.look([&](Transaction& transaction) {
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
                                const std::string& model, const std::string& gpu) {
    HostHistory history;
    connection_.look([&](Transaction& transaction) {
        history.aa_pairs.clear();
        for (const auto& row :
             transaction.exec_params(sql::kHistory, host, metric, steady::name(mode), model, gpu)) {
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
    connection_.look([&](Transaction& transaction) {
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
    connection_.look([&](Transaction& transaction) {
        scopes = rows::texts(transaction.exec_params1(sql::kTokenScopes, sha256)[0]);
    });
    return scopes;
}

}  // namespace steady
