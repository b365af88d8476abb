// How the store grows and how fast it stays: fills an empty private database with made-up
// experiments and prints sizes, rates and the page's queries as rows of a table.
// Usage: measure_store EMPTY_DIRECTORY EXPERIMENTS SAMPLE_ROWS
// The directory should lie on the disk that is to be judged; it is removed afterwards.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "runner/platform/files.h"
#include "runner/storage/dashboard_queries.h"
#include "runner/storage/migrate.h"
#include "runner/storage/private_cluster.h"
#include "runner/storage/store.h"
#include "tests/support/seed_records.h"

using steady::Transaction;

namespace {

using steady::Connection;
using steady::Store;

double seconds(const std::function<void()>& body) {
    const auto began = std::chrono::steady_clock::now();
    body();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

void print_sizes(Connection& connection) {
    connection.transact([](Transaction& work) {
        const auto row = work.exec1(
            "select (select count(*) from steady.sample), "
            "(select coalesce(sum(cardinality(vals)), 0) from steady.sample), "
            "pg_relation_size('steady.sample') / 1e6, pg_indexes_size('steady.sample') / 1e6, "
            "pg_total_relation_size('steady.pair') / 1e6, "
            "pg_total_relation_size('steady.evidence') / 1e6, "
            "pg_total_relation_size('steady.experiment') / 1e6, "
            "pg_total_relation_size('steady.verdict') / 1e6, "
            "pg_database_size(current_database()) / 1e6");
        fmt::print("sample rows {}, values {}\n", row[0].c_str(), row[1].c_str());
        const char* const names[] = {"sample, table", "sample, index",   "pair, all",
                                     "evidence, all", "experiment, all", "verdict, all",
                                     "database"};
        for (int i = 0; i < 7; ++i) {
            fmt::print("| {} | {:.0f} MB |\n", names[i], row[i + 2].as<double>());
        }
    });
}

void print_query(const char* what, Connection& connection,
                 const std::function<void(Transaction&, int)>& query) {
    std::vector<double> ms;
    for (int i = 0; i < 105; ++i) {
        const double s =
            seconds([&] { connection.transact([&](Transaction& work) { query(work, i); }); });
        if (i >= 5) ms.push_back(1000 * s);
    }
    std::sort(ms.begin(), ms.end());
    fmt::print("| {} | {:.1f} ms | {:.1f} ms |\n", what, ms[50], ms[94]);
}

void print_queries(Connection& connection, int n_experiments) {
    using namespace steady::page;
    fmt::print("| query | median | p95 |\n");
    std::vector<std::string> ids;
    connection.transact([&](Transaction& work) {
        for (const auto& row : work.exec("select name from steady.experiment where spec_id <> "
                                         "'measuring' order by exp_id")) {
            ids.emplace_back(row[0].c_str());
        }
    });
    const auto id = [&](int i) { return ids[static_cast<std::size_t>(i) * 7919U % ids.size()]; };
    const char* const verdicts[] = {"accept", "reject", "inconclusive", "invalid"};
    print_query("overview, newest 50", connection, [](Transaction& work, int) { list(work, {}); });
    print_query("list by verdict, any page", connection, [&](Transaction& work, int i) {
        ListQuery query;
        query.verdict = verdicts[i % 4];
        query.before = 1 + (i * 7919) % n_experiments;
        list(work, query);
    });
    print_query("search by words", connection, [](Transaction& work, int i) {
        const char* const words[] = {"experts fused", "attention", "cache", "rows", "nothing-like"};
        ListQuery query;
        query.text = words[i % 5];
        list(work, query);
    });
    print_query("journal search", connection,
                [](Transaction& work, int i) { journal(work, i % 2 == 0 ? "" : "fused", 50); });
    print_query("queue", connection, [](Transaction& work, int) { queue(work, 50); });
    print_query("hosts and their noise", connection, [](Transaction& work, int) { hosts(work); });
    print_query("kernels", connection, [](Transaction& work, int) { kernels(work); });
    print_query("owners", connection, [](Transaction& work, int) { owners(work); });
    print_query("events of one experiment", connection,
                [&](Transaction& work, int i) { events(work, id(i), 0); });
    Store store(connection.options());
    print_query("whole record with all samples", connection,
                [&](Transaction&, int i) { store.load_record(id(i)); });
}

// Pairs of two arms and two metrics, 64 values each, the way a worker stores them: one commit each.
void print_writes(const std::string& url) {
    Connection owner({.url = url, .role = steady::DatabaseRole::owner, .client = "measure"});
    std::int64_t host = 0, job = 0;
    constexpr int kPairs = 500;
    owner.transact([&](Transaction& work) {
        host = work.exec1("select steady.register_host('measuring', '{}')")[0].as<std::int64_t>();
        job =
            work.exec1(
                    "select o_job from steady.submit('measuring', sha256('1'), sha256('2'), '{}', "
                    "1, false, 100, '{}', array(select 0 from generate_series(1, 500)), "
                    "array(select 'measure' from generate_series(1, 500)), "
                    "array(select generate_series(0, 499)), "
                    "array(select '1' from generate_series(1, 500)))")[0]
                .as<std::int64_t>();
    });
    Store store({.url = url, .role = steady::DatabaseRole::worker, .client = "measure"});
    const auto lease = store.claim(steady::random_uuid(), host, 3600, job);
    steady::Pair pair;
    std::mt19937_64 random(1);
    const auto fill = [&](auto& arm) {
        for (const char* metric : {"token_ns", "block_ns"}) {
            arm[metric].clear();
            for (int i = 0; i < 64; ++i)
                arm[metric].push_back(1e6 + static_cast<double>(random() % 100000) / 7);
        }
    };
    double renewals_s = 0;
    const double s = seconds([&] {
        for (int i = 0; i < kPairs; ++i) {
            pair.number = i;
            fill(pair.a);
            fill(pair.b);
            store.put_pair(*lease, pair);
            renewals_s += seconds([&] { store.renew(*lease, 3600); });
        }
    });
    fmt::print("| pair stored and sealed (4 rows, 256 values, one commit) | {:.1f} ms |\n",
               1000 * (s - renewals_s) / kPairs);
    fmt::print("| lease renewed (one commit) | {:.1f} ms |\n", 1000 * renewals_s / kPairs);
    fmt::print("| search for expendable samples | {:.0f} ms |\n",
               1000 * seconds([&] {
                   Store gc({.url = url,
                             .role = steady::DatabaseRole::owner,
                             .client = "gc",
                             .statement_timeout_ms = 600000});
                   gc.expendable_samples(180);
               }));
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        fmt::print(stderr, "usage: measure_store EMPTY_DIRECTORY EXPERIMENTS SAMPLE_ROWS\n");
        return 2;
    }
    const std::string directory = argv[1];
    const int n_experiments = std::stoi(argv[2]);
    int code = 0;
    try {
        std::string url;
        const double first_s = seconds(
            [&] { url = steady::private_cluster_url({.base_dir = directory, .idle_stop_s = 0}); });
        steady::migrate(url);
        steady::stop_private_cluster(directory);
        const double warm_s = seconds(
            [&] { url = steady::private_cluster_url({.base_dir = directory, .idle_stop_s = 0}); });
        fmt::print("| first start | {:.0f} ms |\n| warm start | {:.0f} ms |\n", 1000 * first_s,
                   1000 * warm_s);
        const double load_s = seconds([&] {
            steady::seed_records(
                {.url = url, .n_experiments = n_experiments, .n_samples = std::stoll(argv[3])});
        });
        fmt::print("| loaded in | {:.1f} s |\n", load_s);
        Connection connection({.url = url,
                               .role = steady::DatabaseRole::owner,
                               .client = "measure",
                               .statement_timeout_ms = 600000});
        print_sizes(connection);
        print_writes(url);
        print_queries(connection, n_experiments);
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        code = 1;
    }
    steady::stop_private_cluster(directory);
    std::error_code error;
    std::filesystem::remove_all(directory, error);
    return code;
}
