// Writing: each function is one transaction around one SQL function, which holds the fence.
#include "runner/storage/store.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "runner/base/sha256.h"
#include "runner/platform/files.h"
#include "runner/storage/rows.h"
#include "runner/storage/statements.h"

namespace steady {
namespace {

nlohmann::json asked_of(const ArmSpec& arm) {
    return {{"kernels", arm.kernels},
            {"steps", arm.steps},
            {"threads", arm.threads.value_or(0)},
            {"engine_flags", arm.engine_flags},
            {"rev", arm.rev},
            {"args", arm.args},
            {"env", arm.env}};
}

struct SampleArrays {
    std::vector<std::string> arms, metrics, values;
};

SampleArrays arrays_of(const Pair& pair) {
    SampleArrays out;
    for (const auto& [arm, metrics] : {std::pair{"A", &pair.a}, std::pair{"B", &pair.b}}) {
        for (const auto& [metric, values] : *metrics) {
            out.arms.emplace_back(arm);
            out.metrics.push_back(metric);
            out.values.push_back(rows::array_of(values));
        }
    }
    return out;
}

// Returns the number of rows sent.
int store_samples(Transaction& transaction, const Lease& lease, const Pair& pair) {
    const auto samples = arrays_of(pair);
    if (samples.arms.empty()) return 0;
    transaction.exec_params(sql::kPutSamples, lease.job, lease.worker, lease.epoch, pair.gate,
                            rows::kind_name(pair.kind), pair.number, pair.attempt,
                            rows::array_of(samples.arms), rows::array_of(samples.metrics),
                            rows::array_of(samples.values));
    return static_cast<int>(samples.arms.size());
}

}  // namespace

namespace {

// Everything that decides what a command is and what is read of it.
void add_command(nlohmann::json& asked, const Spec& spec,
                 const std::map<std::string, std::string>& commits, bool direction) {
    asked["name"] = spec.subject.name;
    asked["build"] = spec.subject.build;
    asked["matrix"] = spec.matrix;
    asked["commits"] = commits;
    for (const auto& [name, arm] : spec.arms) asked["arms"][name]["run"] = arm.run;
    for (const auto& gate : spec.gates) {
        if (gate.level == Level::correctness) continue;
        nlohmann::json one{{"metric", gate.metric},
                           {"run", gate.run},
                           {"adapter", gate.adapter},
                           {"pattern", gate.pattern},
                           {"select", gate.select},
                           {"stat", gate.stat},
                           {"at", gate.at}};
        // The other direction turns every value's sign: evidence for one is none for the other.
        if (direction && gate.direction)
            one["higher"] = *gate.direction == Direction::higher_is_better;
        asked["gates"].push_back(std::move(one));
    }
}

std::string question_hash(const Spec& spec, const std::map<std::string, std::string>& commits,
                          bool direction) {
    nlohmann::json asked{{"program", spec.subject.program},
                         {"repo", spec.subject.repo},
                         {"model", spec.subject.model},
                         {"workload", spec.subject.workload},
                         {"threads", spec.subject.threads}};
    for (const auto& [name, arm] : spec.arms) asked["arms"][name] = asked_of(arm);
    for (const auto& gate : spec.gates) {
        if (gate.role == Role::decides) asked["metric"] = gate.metric;
    }
    if (is_outside(spec)) add_command(asked, spec, commits, direction);
    return sha256_hex(asked.dump());
}

}  // namespace

std::string question_sha(const Spec& spec, const std::map<std::string, std::string>& commits) {
    return question_hash(spec, commits, true);
}

bool asks(const Spec& spec, const std::string& sha) {
    // Before 25 November 2026 the direction was no part of a question.
    return sha == question_hash(spec, {}, true) || sha == question_hash(spec, {}, false);
}

Submitted Store::submit(const Submission& submission) {
    const Spec& spec = *submission.spec;
    std::vector<int> gates, numbers;
    std::vector<std::string> kinds, coins;
    for (const auto& pair : submission.plan) {
        gates.push_back(pair.gate);
        numbers.push_back(pair.number);
        kinds.emplace_back(rows::kind_name(pair.kind));
        coins.push_back(pair.coins);
    }
    Submitted result;
    const auto body = [&](Transaction& transaction) {
        const auto row = transaction.exec_params1(
            sql::kSubmit, spec.id, spec.sha256, question_sha(spec, submission.commits),
            spec.canonical, std::to_string(submission.seed), submission.fresh_rerun,
            submission.priority, rows::array_of(submission.need_tags), rows::array_of(gates),
            rows::array_of(kinds), rows::array_of(numbers), rows::array_of(coins));
        result = {row[0].as<std::string>(), row[1].as<std::int64_t>(), row[2].as<bool>(),
                  row[3].as<std::string>()};
        if (submission.for_caller) transaction.exec_params(sql::kKeepForCaller, result.job);
    };
    connection_.transact(body);
    return result;
}

std::int64_t Store::register_host(const std::string& name, const std::vector<std::string>& tags) {
    std::int64_t host = 0;
    connection_.transact([&](Transaction& transaction) {
        host = transaction.exec_params1(sql::kRegisterHost, name, rows::array_of(tags))[0]
                   .as<std::int64_t>();
    });
    return host;
}

std::optional<Lease> Store::claim(const std::string& worker, std::int64_t host, double ttl_s,
                                  std::optional<std::int64_t> only_job) {
    std::optional<Lease> lease;
    connection_.transact([&](Transaction& transaction) {
        lease.reset();
        const auto found =
            only_job ? transaction.exec_params(sql::kClaim, worker, host, ttl_s, *only_job)
                     : transaction.exec_params(sql::kClaim, worker, host, ttl_s, nullptr);
        if (found.empty()) return;
        lease = Lease{found[0][0].as<std::int64_t>(), found[0][1].as<std::int64_t>(), host, worker,
                      found[0][2].as<std::string>()};
    });
    return lease;
}

bool Store::renew(const Lease& lease, double ttl_s) {
    bool please_stop = false;
    connection_.transact([&](Transaction& transaction) {
        please_stop =
            transaction.exec_params1(sql::kRenew, lease.job, lease.worker, lease.epoch, ttl_s)[0]
                .as<bool>();
    });
    return please_stop;
}

std::string Store::stop(const Lease& lease, const std::string& how, const std::string& note) {
    std::string state;
    connection_.transact([&](Transaction& transaction) {
        state =
            transaction.exec_params1(sql::kStop, lease.job, lease.worker, lease.epoch, how, note)[0]
                .as<std::string>();
    });
    return state;
}

int Store::rescue() {
    int n = 0;
    connection_.transact(
        [&](Transaction& transaction) { n = transaction.exec1(sql::kRescue)[0].as<int>(); });
    return n;
}

int Store::reclaim(std::int64_t host, const std::string& worker,
                   const std::vector<std::string>& predecessors) {
    int n = 0;
    connection_.transact([&](Transaction& transaction) {
        n = transaction.exec_params1(sql::kReclaim, host, worker, rows::array_of(predecessors))[0]
                .as<int>();
    });
    return n;
}

std::string Store::cancel(const std::string& id) {
    const std::string name = resolve(id);
    std::string state;
    connection_.transact([&](Transaction& transaction) {
        state = transaction.exec_params1(sql::kCancel, name)[0].as<std::string>();
    });
    return state;
}

std::string Store::requeue(const std::string& id, bool for_caller) {
    const std::string name = resolve(id);
    std::string state;
    connection_.transact([&](Transaction& transaction) {
        state = transaction.exec_params1(sql::kRequeue, name)[0].as<std::string>();
        if (for_caller) transaction.exec_params(sql::kKeepNamedForCaller, name);
    });
    return state;
}

void Store::set_priority(const std::string& id, int priority) {
    const std::string name = resolve(id);
    connection_.transact([&](Transaction& transaction) {
        transaction.exec_params1(sql::kSetPriority, name, priority);
    });
}

void Store::drain_host(const std::string& name, bool draining) {
    connection_.transact([&](Transaction& transaction) {
        if (transaction.exec_params0(sql::kDrain, name, draining).affected_rows() == 0) {
            throw Error{fmt::format("no host {} is known; the page lists them under /hosts", name)};
        }
    });
}

std::vector<std::string> Store::put_fingerprint(const Lease& lease,
                                                const Fingerprint& fingerprint) {
    std::vector<std::string> differing;
    connection_.transact([&](Transaction& transaction) {
        differing = rows::texts(transaction.exec_params1(sql::kPutFingerprint, lease.job,
                                                         lease.worker, lease.epoch,
                                                         nlohmann::json(fingerprint).dump())[0]);
    });
    return differing;
}

void Store::put_samples(const Lease& lease, const Pair& pair) {
    connection_.transact(
        [&](Transaction& transaction) { store_samples(transaction, lease, pair); });
}

void Store::put_pair(const Lease& lease, const Pair& pair, const std::string& next_coins) {
    connection_.transact([&](Transaction& transaction) {
        const int n_rows = store_samples(transaction, lease, pair);
        transaction.exec_params(sql::kSealPair, lease.job, lease.worker, lease.epoch, pair.gate,
                                rows::kind_name(pair.kind), pair.number, pair.attempt, n_rows,
                                pair.discarded, next_coins);
    });
}

void Store::put_evidence(const Lease& lease, const std::string& kind, const std::string& json) {
    connection_.transact([&](Transaction& transaction) {
        transaction.exec_params(sql::kPutEvidence, lease.job, lease.worker, lease.epoch, kind,
                                json);
    });
}

void Store::put_aa(const Lease& lease, int gate, const std::string& metric, Mode mode,
                   const std::string& model, const std::vector<int>& numbers,
                   const std::vector<double>& d) {
    connection_.transact([&](Transaction& transaction) {
        transaction.exec_params(sql::kPutAa, lease.job, lease.worker, lease.epoch, gate, metric,
                                name(mode), model, rows::array_of(numbers), rows::array_of(d));
    });
}

void Store::finish(const Lease& lease, const std::string& verdict, const std::string& reason,
                   const std::string& analysis_json, const std::string& sentence) {
    connection_.transact([&](Transaction& transaction) {
        transaction.exec_params(sql::kFinish, lease.job, lease.worker, lease.epoch, verdict, reason,
                                analysis_json, sentence);
    });
}

void Store::set_journal_path(const std::string& id, const std::string& path) {
    const std::string name = resolve(id);
    connection_.transact([&](Transaction& transaction) {
        transaction.exec_params(sql::kSetJournalPath, name, path);
    });
}

void Store::create_token(const Token& token) {
    connection_.transact([&](Transaction& transaction) {
        transaction.exec_params(sql::kCreateToken, token.name, token.sha256,
                                rows::array_of(token.scopes), token.expires_at);
    });
}

bool Store::revoke_token(const std::string& name) {
    bool revoked = false;
    connection_.transact([&](Transaction& transaction) {
        revoked = transaction.exec_params(sql::kRevokeToken, name).affected_rows() > 0;
    });
    return revoked;
}

}  // namespace steady
