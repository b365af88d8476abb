// Bulk rows by COPY, which may write identity columns; the sequences are moved on afterwards.
#include "tests/support/seed_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "engine/protocol/session_json.h"
#include "runner/platform/files.h"
#include "runner/record/record_json.h"
#include "runner/storage/connection.h"
#include "runner/storage/pqxx.h"
#include "runner/storage/rows.h"
#include "runner/storage/store.h"
#include "tests/support/seed_content.h"

namespace steady {
namespace {

struct Made {
    std::int64_t id = 0;
    Spec spec;
    seed::Question question;
    Analysis analysis;
    std::string state = "done";
    int host = 0, n_pairs = 0;
    std::string submitted, decided;
    std::uint64_t draw = 0;
};

// Experiments go back from now, a few hours apart.
std::string days_ago(double days) {
    const auto time = std::chrono::system_clock::now() -
                      std::chrono::milliseconds(static_cast<std::int64_t>(days * 86400e3));
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch());
    const std::time_t whole = seconds.count();
    std::tm utc{};
    gmtime_r(&whole, &utc);
    char text[32];
    std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S+00", &utc);
    return text;
}

std::vector<Made> make(const SeedOptions& options) {
    std::mt19937_64 random(options.seed);
    std::vector<Made> all;
    const int n_open = options.with_queue ? 4 : 0;
    for (int n = 0; n < options.n_experiments; ++n) {
        Made one;
        one.id = n + 1;
        one.question = seed::question(options.n_experiments - 1 - n, random);
        SpecResult result = parse_spec(one.question.spec_text, one.question.id);
        if (!result.spec)
            throw Error(describe(result.errors.at(0), one.question.id), kExitInternal);
        one.spec = std::move(*result.spec);
        const int left = options.n_experiments - 1 - n;
        one.host = n % 3 == 0 ? 1 : 0;
        one.n_pairs = 8 + static_cast<int>(random() % 43);
        one.draw = random();
        if (left < n_open) one.state = left == n_open - 1 ? "running" : "queued";
        if (left == n_open) one.state = "failed";
        if (one.state == "running") one.n_pairs = 9;
        one.submitted = days_ago(0.02 + 0.31 * left);
        one.decided = days_ago(0.015 + 0.31 * left);
        one.analysis = seed::outcome(one.spec, one.question.truth, one.n_pairs, random);
        all.push_back(std::move(one));
    }
    return all;
}

std::string short_name(const Made& one) {
    return fmt::format("{}-{}", one.spec.id, one.spec.sha256.substr(0, 8));
}

void copy_experiments(Transaction& transaction, const std::vector<Made>& all) {
    pqxx::stream_to stream(
        transaction, "experiment",
        std::vector<std::string>{"exp_id", "name", "spec_id", "spec_sha", "question_sha", "spec",
                                 "spec_text", "seed", "submitted_at"});
    for (const Made& one : all) {
        stream << std::make_tuple(one.id, short_name(one), one.spec.id, "\\x" + one.spec.sha256,
                                  "\\x" + question_sha(one.spec), one.spec.canonical,
                                  one.spec.canonical, std::to_string(one.draw), one.submitted);
    }
    stream.complete();
}

void copy_jobs(Transaction& transaction, const std::vector<Made>& all) {
    pqxx::stream_to stream(
        transaction, "job",
        std::vector<std::string>{"job_id", "exp_id", "state", "pin_host", "epoch", "note"});
    for (const Made& one : all) {
        const bool failed = one.state == "failed";
        const bool open = one.state == "queued" || one.state == "running";
        stream << std::make_tuple(
            one.id, one.id, open ? "queued" : one.state, one.host + 1, 1,
            failed ? "engine ended by signal 9 (out of memory) in pair 4" : "");
    }
    stream.complete();
}

void copy_attempts(Transaction& transaction, const std::vector<Made>& all) {
    pqxx::stream_to stream(transaction, "attempt",
                           std::vector<std::string>{"job_id", "epoch", "worker", "host_id",
                                                    "fingerprint", "began", "ended", "how"});
    for (const Made& one : all) {
        if (one.state == "queued" || one.state == "running") continue;
        const nlohmann::json print = seed::fingerprint(one.host);
        stream << std::make_tuple(one.id, 1, "00000000-0000-4000-8000-000000000001", one.host + 1,
                                  print.dump(), one.submitted, one.decided,
                                  one.state == "failed" ? "failed" : "done");
    }
    stream.complete();
}

void copy_pairs(Transaction& transaction, const std::vector<Made>& all) {
    pqxx::stream_to stream(
        transaction, "pair",
        std::vector<std::string>{"job_id", "gate", "kind", "pair_no", "try", "coins", "epoch",
                                 "host_id", "done_at", "discarded"});
    for (const Made& one : all) {
        if (one.state == "queued") continue;
        for (int i = 0; i < one.n_pairs; ++i) {
            std::string coins;
            for (int k = 0; k < 20; ++k)
                coins += ((one.draw >> ((i + k) % 60)) & 1U) != 0 ? '1' : '0';
            const auto gate = std::find_if(one.spec.gates.begin(), one.spec.gates.end(),
                                           [](const Gate& g) { return g.role == Role::decides; }) -
                              one.spec.gates.begin();
            stream << std::make_tuple(one.id, static_cast<int>(gate), "measure", i, 0, coins, 1,
                                      one.host + 1, one.decided, std::optional<std::string>());
        }
    }
    stream.complete();
}

// Rows of both arms; every pair value comes back as the median of its tokens.
void copy_samples(Transaction& transaction, const std::vector<Made>& all, std::int64_t n_rows) {
    pqxx::stream_to stream(transaction, "sample",
                           std::vector<std::string>{"job_id", "gate", "kind", "pair_no", "try",
                                                    "arm", "metric", "epoch", "vals"});
    std::int64_t n_pairs = 0;
    for (const Made& one : all) n_pairs += one.state == "queued" ? 0 : one.n_pairs;
    const std::int64_t n_metrics =
        std::clamp<std::int64_t>(n_rows / std::max<std::int64_t>(1, 2 * n_pairs), 1, 12);
    for (const Made& one : all) {
        if (one.state == "queued") continue;
        const auto gate = std::find_if(one.spec.gates.begin(), one.spec.gates.end(),
                                       [](const Gate& g) { return g.role == Role::decides; }) -
                          one.spec.gates.begin();
        for (int i = 0; i < one.n_pairs; ++i) {
            for (const char* arm : {"A", "B"}) {
                const double d = one.analysis.d[static_cast<std::size_t>(i)];
                const double ns = 81.2e6 * (arm[0] == 'B' ? std::exp(-d) : 1.0);
                const std::vector<double> values{ns * 1.08, ns * 1.001, ns * 0.999,
                                                 ns,        ns * 1.002, ns * 0.998};
                for (std::int64_t m = 0; m < n_metrics; ++m) {
                    const std::string metric = m == 0 ? "token_ns" : fmt::format("counter_{}", m);
                    stream << std::make_tuple(one.id, static_cast<int>(gate), "measure", i, 0, arm,
                                              metric, 1, rows::array_of(values));
                }
            }
        }
    }
    stream.complete();
}

void copy_evidence(Transaction& transaction, const std::vector<Made>& all) {
    pqxx::stream_to stream(transaction, "evidence",
                           std::vector<std::string>{"job_id", "kind", "epoch", "body"});
    for (const Made& one : all) {
        if (one.state == "queued" || one.state == "failed") continue;
        const nlohmann::json profile = seed::profile(one.spec, one.question.truth);
        const nlohmann::json applied = seed::applied(one.spec);
        protocol::CorrectnessReply correct;
        correct.positions = 32;
        correct.top1_agree = 1;
        correct.kl = 2.1e-7;
        correct.kl_max = 9.3e-7;
        correct.max_abs = 0.0021;
        correct.rel_l2 = 0.00031;
        stream << std::make_tuple(one.id, "applied", 1, applied.dump());
        stream << std::make_tuple(one.id, "correctness", 1, nlohmann::json(correct).dump());
        if (one.state == "running") {
            const nlohmann::json progress = {
                {"effect", *one.analysis.effect},
                {"interval", {*one.analysis.interval.low, *one.analysis.interval.high}}};
            stream << std::make_tuple(one.id, "progress", 1, progress.dump());
        } else {
            stream << std::make_tuple(one.id, "profile", 1, profile.dump());
            stream << std::make_tuple(one.id, "stacks", 1,
                                      stacks_text(seed::stacks(one.question.truth)));
        }
    }
    stream.complete();
}

void copy_verdicts(Transaction& transaction, const std::vector<Made>& all) {
    pqxx::stream_to stream(
        transaction, "verdict",
        std::vector<std::string>{"job_id", "outcome", "reason", "analysis", "epoch", "at"});
    for (const Made& one : all) {
        if (one.state != "done") continue;
        std::optional<std::string> reason;
        if (!one.analysis.reason.empty()) reason = one.analysis.reason;
        stream << std::make_tuple(one.id, std::string(name(one.analysis.verdict)), reason,
                                  nlohmann::json(one.analysis).dump(), 1, one.decided);
    }
    stream.complete();
}

void copy_noise(Transaction& transaction, const std::vector<Made>& all, std::mt19937_64& random) {
    pqxx::stream_to stream(transaction, "aa_value",
                           std::vector<std::string>{"job_id", "gate", "metric", "pair_no",
                                                    "host_id", "mode", "d", "at"});
    for (const Made& one : all) {
        if (one.state != "done") continue;
        std::normal_distribution<double> noise(0, one.host == 0 ? 0.0051 : 0.0022);
        for (int i = 0; i < 6; ++i) {
            stream << std::make_tuple(one.id, 3, "decode_tps", i, one.host + 1, "duet",
                                      noise(random), one.decided);
        }
    }
    stream.complete();
}

constexpr const char* kHosts =
    "insert into host (host_id, name, tags) overriding system value values "
    "(1, 'bench-3f9a21c4', '{avx512,quiet}'), (2, 'bench-b81e07d2', '{avx512,amx}')";
constexpr const char* kRun =
    "update job set state = 'running', worker = '00000000-0000-4000-8000-000000000001', host_id = "
    "1, "
    "lease_until = clock_timestamp() + interval '1 day' where job_id = $1";
constexpr const char* kRunAttempt =
    "insert into attempt (job_id, epoch, worker, host_id, fingerprint, began) values "
    "($1, 1, '00000000-0000-4000-8000-000000000001', 1, $2, clock_timestamp() - interval '100 s')";
constexpr const char* kSequences =
    "select setval(pg_get_serial_sequence('steady.experiment', 'exp_id'), max(exp_id)), "
    "setval(pg_get_serial_sequence('steady.job', 'job_id'), max(exp_id)) from experiment";

}  // namespace

void seed_records(const SeedOptions& options) {
    Connection connection({.url = options.url,
                           .role = DatabaseRole::owner,
                           .client = "seed",
                           .statement_timeout_ms = 600000});
    const std::vector<Made> all = make(options);
    connection.transact([&](Transaction& transaction) {
        transaction.exec("set local search_path = steady, pg_temp");
        transaction.exec("set local datestyle = iso");
        if (transaction.exec1("select count(*) from experiment")[0].as<int>() > 0) {
            throw Error("this database holds experiments; made-up ones go into an empty one only");
        }
        std::mt19937_64 random(options.seed + 1);
        transaction.exec(kHosts);
        copy_experiments(transaction, all);
        copy_jobs(transaction, all);
        copy_attempts(transaction, all);
        copy_pairs(transaction, all);
        copy_samples(transaction, all, options.n_samples);
        copy_evidence(transaction, all);
        copy_verdicts(transaction, all);
        transaction.exec("insert into verdict_check (job_id) select job_id from verdict");
        copy_noise(transaction, all, random);
        for (const Made& one : all) {
            if (one.state != "running") continue;
            transaction.exec_params(kRun, one.id);
            transaction.exec_params(kRunAttempt, one.id,
                                    nlohmann::json(seed::fingerprint(0)).dump());
        }
        transaction.exec(kSequences);
    });
    seed_series(options.url, options.seed);
    connection.transact([](Transaction& transaction) { transaction.exec("analyze"); });
}

}  // namespace steady
