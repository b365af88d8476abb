// The processes are forks without exec: start them before the test makes threads.
#include "tests/support/fault_team.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "runner/platform/clock.h"
#include "runner/queue/submit.h"

namespace steady {

Team::Team() {
    place_.folder = scratch_dir() + "/steady-team-" + random_hex(6);
    make_directories(place_.folder);
}

Team::~Team() {
    kill_all();
    std::error_code error;
    std::filesystem::remove_all(place_.folder, error);
}

void Team::submit(const std::string& url, int n_jobs, int n_pairs) {
    Store store({.url = url, .role = DatabaseRole::owner, .client = "team", .patience_s = 20});
    for (int i = 0; i < n_jobs; ++i) {
        const auto parsed = parse_spec(drill::spec_text(++n_submitted_, n_pairs), "");
        submit_experiment(store, *parsed.spec);
    }
}

void Team::start(const std::function<void()>& life) {
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        life();
        ::_exit(0);
    }
    workers_.push_back(pid);
}

void Team::start(const std::string& url, int host) {
    drill::Place place = place_;
    place.url = url;
    knows_host(host);
    start([&] { drill::live_as_worker(place, host, options_); });
}

void Team::knows_host(int host) { options_.hosts = std::max(options_.hosts, host + 1); }

void Team::kill_all() {
    for (const pid_t pid : workers_) ::kill(pid, SIGKILL);
    for (const pid_t pid : workers_) ::waitpid(pid, nullptr, 0);
    workers_.clear();
}

int Team::unfinished(const std::string& url) {
    int n = 0;
    Connection connection(
        {.url = url, .role = DatabaseRole::owner, .client = "team", .patience_s = 20});
    connection.transact([&](pqxx::transaction_base& work) {
        work.exec(
            "update steady.job set max_crashes = 1000000, run_after = clock_timestamp() "
            "where state = 'queued'");
        n = work.exec1("select count(*) from steady.job where state in ('queued', 'running')")[0]
                .as<int>();
    });
    return n;
}

bool Team::wait_until_done(const std::string& url, double most_s) {
    const double give_up = boottime_s() + most_s;
    while (boottime_s() < give_up) {
        if (unfinished(url) == 0) return true;
        ::usleep(100'000);
    }
    return false;
}

int Team::acknowledged() const {
    int n = 0;
    for (int host = 0; host < options_.hosts; ++host) {
        std::ifstream file(place_.acks(host));
        for (std::string line; std::getline(file, line);) ++n;
    }
    return n;
}

FaultReport Team::check(const std::string& url) {
    drill::Place place = place_;
    place.url = url;
    FaultReport report;
    drill::check(place, options_, report);
    return report;
}

}  // namespace steady
