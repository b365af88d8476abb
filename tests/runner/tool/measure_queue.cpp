// How much one database takes: workers that measure nothing claim jobs, store pairs, renew and
// finish as fast as they can; then as many idle workers as a large team has poll an empty queue at
// the pace of real ones. Prints rows of a table.
// Usage: measure_queue EMPTY_DIRECTORY SECONDS [WORKERS [IDLE_WORKERS [VALUES_PER_ARM]]]
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "runner/fault/parts.h"
#include "runner/platform/files.h"
#include "runner/queue/submit.h"
#include "runner/record/record_json.h"
#include "runner/storage/cluster_server.h"
#include "runner/storage/migrate.h"
#include "runner/storage/private_cluster.h"
#include "tests/support/throwaway_database.h"

namespace {

using namespace steady;
using std::chrono::steady_clock;

constexpr int kPairs = 10;

double since(steady_clock::time_point began) {
    return std::chrono::duration<double>(steady_clock::now() - began).count();
}

class Times {
public:
    void add(double seconds) {
        const std::lock_guard lock(mutex_);
        ms_.push_back(1000 * seconds);
    }
    void print(const char* what) {
        if (ms_.empty()) return;
        std::sort(ms_.begin(), ms_.end());
        fmt::print("| {} | {} | {:.1f} ms | {:.1f} ms |\n", what, ms_.size(), ms_[ms_.size() / 2],
                   ms_[ms_.size() * 95 / 100]);
    }

private:
    std::mutex mutex_;
    std::vector<double> ms_;
};

template <typename Step>
auto timed(Times& times, Step step) {
    const auto began = steady_clock::now();
    auto answer = step();
    times.add(since(began));
    return answer;
}

struct Figures {
    Times submit, claim, pair, renew, finish, poll;
    std::atomic<long> jobs{0}, pairs{0}, values{0};
};

Store open(const std::string& url) {
    return Store({.url = url, .role = DatabaseRole::owner, .client = "measure", .patience_s = 30});
}

void submit_jobs(const std::string& url, int n, Figures& figures) {
    Store store = open(url);
    for (int i = 0; i < n; ++i) {
        const auto parsed = parse_spec(drill::spec_text(i, kPairs), "");
        timed(figures.submit, [&] { return submit_experiment(store, *parsed.spec); });
    }
}

void work(const std::string& url, int number, int n_values, double until_s,
          steady_clock::time_point began, Figures& figures) {
    Store store = open(url);
    const std::string me = random_uuid();
    const auto host = store.register_host(fmt::format("measured{:04}", number), {});
    while (since(began) < until_s) {
        const auto lease = timed(figures.claim, [&] { return store.claim(me, host, 30); });
        if (!lease) return;
        for (const Pair& planned : store.load_pairs(lease->job)) {
            const Pair pair = measured(planned, n_values);
            timed(figures.pair, [&] { return store.put_pair(*lease, pair), 0; });
            ++figures.pairs;
            figures.values += 2L * n_values;
        }
        timed(figures.renew, [&] { return store.renew(*lease, 30); });
        timed(figures.finish, [&] {
            return store.finish(*lease, "inconclusive", "", nlohmann::json(Analysis{}).dump(), "x"),
                   0;
        });
        ++figures.jobs;
    }
}

// As a worker without work: rescue and claim each 1.5 s, here with a renewal's cost beside it.
void idle(const std::string& url, int number, double seconds, Figures& figures) {
    Store store = open(url);
    const std::string me = random_uuid();
    const auto host = store.register_host(fmt::format("idle{:08}", number), {});
    const auto began = steady_clock::now();
    ::usleep(static_cast<useconds_t>(number % 100) * 15'000);
    while (since(began) < seconds) {
        timed(figures.poll, [&] {
            store.rescue();
            return store.claim(me, host, 30);
        });
        ::usleep(1'500'000);
    }
}

void in_threads(int n, const std::function<void(int)>& life) {
    std::vector<std::thread> threads;
    for (int i = 0; i < n; ++i) threads.emplace_back(life, i);
    for (std::thread& thread : threads) thread.join();
}

std::string start(const std::string& folder, int n_connections) {
    private_cluster_url({.base_dir = folder, .idle_stop_s = 0});
    stop_private_cluster(folder);
    std::ofstream(cluster::find_layout(folder).data + "/postgresql.conf", std::ios::app)
        << fmt::format("max_connections = {}\n", n_connections);
    const std::string url = private_cluster_url({.base_dir = folder, .idle_stop_s = 0});
    migrate(url);
    return url;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        fmt::print(stderr,
                   "usage: measure_queue EMPTY_DIRECTORY SECONDS [WORKERS [IDLE [VALUES]]]\n");
        return 2;
    }
    const std::string folder = argv[1];
    const double seconds = std::atof(argv[2]);
    const auto given = [&](int at, int otherwise) {
        return argc > at ? std::atoi(argv[at]) : otherwise;
    };
    const int n_workers = given(3, 8), n_idle = given(4, 100), n_values = given(5, 128);
    std::filesystem::create_directories(folder);
    const std::string url = start(folder, n_workers + n_idle + 20);
    Figures figures;
    submit_jobs(url, static_cast<int>(100 * seconds), figures);
    const auto began = steady_clock::now();
    in_threads(n_workers, [&](int i) { work(url, i, n_values, seconds, began, figures); });
    const double took_s = since(began);
    in_threads(n_idle, [&](int i) { idle(url, i, std::min(seconds, 10.0), figures); });
    fmt::print("{} workers, {:.1f} s: {:.0f} jobs/s, {:.0f} pairs/s, {:.0f} values/s\n", n_workers,
               took_s, static_cast<double>(figures.jobs) / took_s,
               static_cast<double>(figures.pairs) / took_s,
               static_cast<double>(figures.values) / took_s);
    fmt::print("| call | calls | median | p95 |\n| --- | --- | --- | --- |\n");
    figures.submit.print("submit");
    figures.claim.print("claim");
    figures.pair.print("store and commit a pair");
    figures.renew.print("renew");
    figures.finish.print("finish");
    figures.poll.print(fmt::format("poll of {} idle workers", n_idle).c_str());
    stop_private_cluster(folder);
    std::filesystem::remove_all(folder);
}
