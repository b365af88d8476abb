// Both tests of failover use it: two servers on one host, and seven hosts in networks of their own.
#include "tests/support/replica.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "kernels/base/error.h"
#include "runner/platform/clock.h"
#include "runner/storage/pqxx.h"
#include "runner/storage/private_cluster.h"

namespace steady {

std::string ask(const std::string& url, const std::string& query) {
    pqxx::connection connection(url);
    pqxx::nontransaction work(connection);
    const auto found = work.exec(query);
    return found.empty() || found[0][0].is_null() ? "" : found[0][0].c_str();
}

bool until(double most_s, const std::function<bool()>& holds) {
    const double give_up = boottime_s() + most_s;
    while (boottime_s() < give_up) {
        try {
            if (holds()) return true;
        } catch (const pqxx::failure&) {  // not yet
        }
        ::usleep(50'000);
    }
    return false;
}

SpawnPlan base_backup(const cluster::Layout& replica, const std::string& host) {
    SpawnPlan plan;
    plan.argv = {replica.bin + "/pg_basebackup",
                 "-h",
                 host,
                 "-U",
                 "steady",
                 "-D",
                 replica.data,
                 "-R",
                 "-X",
                 "stream",
                 "-c",
                 "fast"};
    plan.env = {{"PATH", "/usr/bin:/bin"}, {"LC_ALL", "C"}};
    plan.directory = "/";
    plan.run_as = replica.run_as;
    return plan;
}

void run_to_end(const SpawnPlan& plan) {
    int status = -1;
    const pid_t pid = spawn(plan);
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (status != 0) throw Error{plan.argv[0] + " failed"};
}

bool stream(const std::string& primary_url, bool synchronous) {
    if (synchronous) {
        ask(primary_url, "alter system set synchronous_standby_names = '*'");
        ask(primary_url, "select pg_reload_conf()");
    }
    return until(30, [&] {
        return ask(primary_url,
                   "select max(sync_state) from pg_stat_replication where state = 'streaming'") ==
               (synchronous ? "sync" : "async");
    });
}

void remove_pair(const std::string& base) {
    std::error_code error;
    for (const char* part : {"/one", "/two"}) {
        if (!std::filesystem::exists(base + part, error)) continue;
        try {
            stop_private_cluster(base + part);
        } catch (const Error& failure) {
            fmt::print(stderr, "{}\n", failure.what());
        }
    }
    std::filesystem::remove_all(base, error);
}

}  // namespace steady
