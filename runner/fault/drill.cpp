// A fault-injection run. Order and times of the faults come from the seed; when they hit the
// workers does not, since the processes are real.
#include "runner/fault/drill.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>

#include "runner/fault/parts.h"
#include "runner/platform/clock.h"
#include "runner/queue/submit.h"
#include "runner/storage/migrate.h"
#include "runner/storage/private_cluster.h"

namespace steady {
namespace {

using drill::Place;

enum class Fault { worker, child, freeze, server };

struct Slot {  // one place for a worker process
    int host = 0;
    pid_t pid = -1;
    double thaw_s = 0;  // frozen until then; 0: running
};

class FaultRun {
public:
    explicit FaultRun(const FaultOptions& options) : options_(options), random_(options.seed) {
        place_.folder = scratch_dir() + "/steady-drill-" + random_hex(6);
        make_directories(place_.folder);
    }
    ~FaultRun() {
        for (Slot& slot : slots_) kill_worker(slot);
        try {
            stop_private_cluster(place_.folder);
        } catch (const Error& error) {
            say(error.what());
        }
        std::error_code error;
        if (keep_files_)
            say("files of the drill are kept in " + place_.folder);
        else
            std::filesystem::remove_all(place_.folder, error);
    }
    FaultRun(const FaultRun&) = delete;
    FaultRun& operator=(const FaultRun&) = delete;

    FaultReport run();

private:
    void say(const std::string& line) const {
        if (options_.progress) options_.progress(line);
    }
    double pick(double low, double high) {
        return std::uniform_real_distribution<double>(low, high)(random_);
    }
    Slot& any_slot() {
        return slots_[std::uniform_int_distribution<std::size_t>(0, slots_.size() - 1)(random_)];
    }
    void start_server() {
        place_.url = private_cluster_url({.base_dir = place_.folder, .idle_stop_s = 600});
    }
    void start_worker(Slot& slot);
    void kill_worker(Slot& slot) const;
    void thaw_due();
    void kill_child();
    void kill_server();
    void inject(Fault fault);
    std::vector<Fault> faults();
    void keep_queue_filled();
    int unfinished();

    const FaultOptions& options_;
    std::mt19937_64 random_;
    Place place_;
    std::vector<Slot> slots_;
    FaultReport report_;
    int n_submitted_ = 0;
    bool keep_files_ = false;
};

void FaultRun::start_worker(Slot& slot) {
    slot.thaw_s = 0;
    slot.pid = ::fork();
    if (slot.pid == 0) drill::live_as_worker(place_, slot.host, options_);
}

void FaultRun::kill_worker(Slot& slot) const {
    if (slot.pid <= 0) return;
    ::kill(slot.pid, SIGKILL);
    ::waitpid(slot.pid, nullptr, 0);
    slot.pid = -1;
}

void FaultRun::thaw_due() {
    for (Slot& slot : slots_) {
        if (slot.thaw_s > 0 && boottime_s() >= slot.thaw_s) {
            ::kill(slot.pid, SIGCONT);
            slot.thaw_s = 0;
        }
    }
}

// Children live for milliseconds: look until there is one, at any worker.
void FaultRun::kill_child() {
    for (int look = 0; look < 200; ++look) {
        for (const Slot& slot : slots_) {
            std::ifstream children(fmt::format("/proc/{}/task/{}/children", slot.pid, slot.pid));
            if (pid_t child = 0; children >> child) {
                ::kill(child, SIGKILL);
                ++report_.child_kills;
                return;
            }
        }
        ::usleep(500);
    }
}

void FaultRun::kill_server() {
    const auto status = private_cluster_status(place_.folder);
    if (!status.running) return;
    ::kill(status.pid, SIGKILL);
    ::waitpid(status.pid, nullptr, 0);
    ++report_.server_kills;
    start_server();
}

void FaultRun::inject(Fault fault) {
    Slot& slot = any_slot();
    switch (fault) {
        case Fault::worker:
            kill_worker(slot);
            start_worker(slot);
            ++report_.worker_kills;
            return;
        case Fault::child:
            kill_child();
            return;
        case Fault::freeze:
            if (slot.thaw_s > 0) return;
            ::kill(slot.pid, SIGSTOP);
            slot.thaw_s = boottime_s() + 1.3 * drill::kTimes.lease_s;
            ++report_.freezes;
            return;
        case Fault::server:
            kill_server();
            return;
    }
}

std::vector<Fault> FaultRun::faults() {
    const int freezes = options_.freezes >= 0 ? options_.freezes : options_.kills / 5;
    const int servers = options_.server_kills >= 0 ? options_.server_kills : options_.kills / 8;
    std::vector<Fault> all;
    for (int i = 0; i < options_.kills; ++i) {
        all.push_back(i % 4 == 3 ? Fault::child : Fault::worker);
    }
    all.insert(all.end(), static_cast<std::size_t>(freezes), Fault::freeze);
    all.insert(all.end(), static_cast<std::size_t>(servers), Fault::server);
    std::shuffle(all.begin(), all.end(), random_);
    return all;
}

// Every submit is made twice: it must be one job. Back-off after crashes is cut short, since the
// drill's crashes say nothing about the jobs.
void FaultRun::keep_queue_filled() {
    Store store(
        {.url = place_.url, .role = DatabaseRole::owner, .client = "drill", .patience_s = 10});
    const auto enough = 2 * static_cast<std::size_t>(options_.hosts) + 2;
    while (store.list_queue().size() < enough) {
        const auto parsed = parse_spec(drill::spec_text(++n_submitted_, options_.pairs), "");
        if (!parsed.spec) throw Error{"the drill's own spec is refused", kExitInternal};
        const auto first = submit_experiment(store, *parsed.spec);
        const auto again = submit_experiment(store, *parsed.spec);
        if (first.job != again.job) throw Error{"one submit made two jobs", kExitInternal};
    }
    store.connection().transact([](pqxx::transaction_base& work) {
        work.exec(
            "update steady.job set max_crashes = 1000000, "
            "run_after = least(run_after, clock_timestamp() + '300 ms') "
            "where state = 'queued'");
    });
}

int FaultRun::unfinished() {
    Store store(
        {.url = place_.url, .role = DatabaseRole::owner, .client = "drill", .patience_s = 10});
    store.connection().transact([](pqxx::transaction_base& work) {
        work.exec(
            "update steady.job set run_after = clock_timestamp() where state = 'queued' "
            "and run_after > clock_timestamp() + '300 ms'");
    });
    return static_cast<int>(store.list_queue().size());
}

FaultReport FaultRun::run() {
    const double began_s = boottime_s();
    start_server();
    migrate(place_.url);
    keep_queue_filled();
    for (int host = 0; host < options_.hosts; ++host) {
        for (int i = 0; i < options_.workers_per_host; ++i) slots_.push_back({.host = host});
    }
    for (Slot& slot : slots_) start_worker(slot);
    const auto all = faults();
    for (std::size_t i = 0; i < all.size(); ++i) {
        ::usleep(static_cast<useconds_t>(1e6 * pick(0.05, 0.35)));
        thaw_due();
        inject(all[i]);
        if (i % 4 == 0) keep_queue_filled();
        if (i % 20 == 19) say(fmt::format("{} of {} faults", i + 1, all.size()));
    }
    // without durable commits nothing needs to end: the loss is what is looked for
    while (options_.synchronous_commit && unfinished() > 0 &&
           boottime_s() - began_s < options_.most_s) {
        thaw_due();
        ::usleep(100'000);
    }
    for (Slot& slot : slots_) kill_worker(slot);
    drill::check(place_, options_, report_);
    report_.seconds = boottime_s() - began_s;
    keep_files_ = !report_.sound() && options_.synchronous_commit;
    return report_;
}

}  // namespace

namespace drill {

std::string spec_text(int number, int pairs) {
    return fmt::format(
        R"({{"id":"drill-{:06}","owner":"drill","hypothesis":{{)"
        R"("claim":"Nothing is lost when anything is killed",)"
        R"("because":"results are acknowledged after the commit",)"
        R"("predict":{{"metric":"decode_tps","change":["+1%","+2%"]}}}},)"
        R"("subject":{{"program":"steady-engine","model":"none.gguf","workload":"none",)"
        R"("threads":1}},"arms":{{"A":{{"steps":{{"moe":"unfused"}}}},)"
        R"("B":{{"steps":{{"moe":"fused"}}}}}},"expect_diff":["steps.moe"],)"
        R"("gates":[{{"id":"tokens","level":"correctness","role":"guard",)"
        R"("need":{{"top1_agree":">=0.9"}}}},)"
        R"({{"id":"decode","level":"model","role":"decides","metric":"decode_tps"}}],)"
        R"("schedule":{{"mode":"duet","pairs":{{"max":{}}},"aa_pairs":2}}}})",
        number, std::max(10, pairs));
}

}  // namespace drill

FaultReport run_fault_drill(const FaultOptions& options) { return FaultRun(options).run(); }

}  // namespace steady
