// Joining or starting the private PostgreSQL. Everything that changes state happens under one
// flock, so that eight first starts at once make one cluster; the server outlives the process that
// started it, and a timer process stops it when it has been idle for a while.
#include "runner/storage/private_cluster.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <thread>

#include "kernels/base/error.h"
#include "runner/platform/files.h"
#include "runner/storage/cluster_server.h"
#include "runner/storage/pqxx.h"

namespace steady {
namespace {

using cluster::Layout;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kLockTimeout_s = 120;  // a first start takes 1 s; recovery may take longer
constexpr int kStartTimeout_s = 90;

// The last use is the file's mtime; the number in it is the idle limit, the longest wish wins.
void note_use(const Layout& layout, int idle_stop_s) {
    int before = -1;
    std::ifstream(layout.use_path) >> before;
    if (before == 0 || idle_stop_s == 0) {
        idle_stop_s = 0;
    } else {
        idle_stop_s = std::max(before, idle_stop_s);
    }
    std::ofstream(layout.use_path, std::ios::trunc) << idle_stop_s << '\n';
}

enum class Reach { ready, no_database, not_yet };

// database: its number, where it is ready; its files lie in data/base/NUMBER.
Reach try_connect(const std::string& url, std::string& database, std::string& reason) {
    try {
        pqxx::connection connection(url + "&connect_timeout=5");
        pqxx::nontransaction work(connection);
        database = work.exec("select oid from pg_database where datname = current_database()")[0][0]
                       .c_str();
        return Reach::ready;
    } catch (const pqxx::failure& failure) {
        reason = failure.what();
        return reason.find("does not exist") == std::string::npos ? Reach::not_yet
                                                                  : Reach::no_database;
    }
}

void create_database(const Layout& layout) {
    pqxx::connection connection(layout.url("postgres"));
    pqxx::nontransaction work(connection);
    try {
        work.exec("create database steady");
    } catch (const pqxx::sql_error& error) {
        // A starter was killed while the server was still making it: wait for that one.
        const std::string& state = error.sqlstate();
        if (state != "42P04" && state != "23505" && state != "55006") throw;
        std::this_thread::sleep_for(milliseconds(5));
    }
}

bool ended(pid_t pid, const Layout& layout) {
    return ::waitpid(pid, nullptr, WNOHANG) == pid ||
           (::kill(pid, 0) != 0 && cluster::running_postmaster(layout) == 0);
}

// What PostgreSQL writes about this life of the server: its process, when it began, its state.
std::string life_of(const Layout& layout) {
    return read_line_or_empty(layout.data + "/postmaster.pid");
}

// A connection was taken in this life, by a database that is still there. To try another would cost
// the server one more process.
bool seen_ready(const Layout& layout) {
    const std::string seen = read_line_or_empty(layout.ready_path);
    const std::string database = seen.substr(0, seen.find('\n'));
    std::error_code error;
    return !database.empty() && seen == database + '\n' + life_of(layout) &&
           std::filesystem::exists(layout.data + "/base/" + database, error);
}

void wait_until_ready(const Layout& layout, pid_t pid) {
    const auto give_up = steady_clock::now() + std::chrono::seconds(kStartTimeout_s);
    std::string database, reason;
    for (;;) {
        const Reach reach = try_connect(layout.url("steady"), database, reason);
        if (reach == Reach::ready) {
            std::ofstream(layout.ready_path, std::ios::trunc) << database << '\n'
                                                              << life_of(layout) << '\n';
            return;
        }
        if (reach == Reach::no_database) {
            create_database(layout);
            if (steady_clock::now() < give_up) continue;
        }
        if (ended(pid, layout) || steady_clock::now() > give_up) {
            std::string log = read_line_or_empty(layout.log_path);
            if (log.size() > 800) log = "…" + log.substr(log.size() - 800);
            throw Error{fmt::format("PostgreSQL in {} did not come up ({}); its log {} ends:\n{}",
                                    layout.data, reason, layout.log_path, log),
                        kExitInternal};
        }
        std::this_thread::sleep_for(milliseconds(5));
    }
}

bool data_exists(const Layout& layout) {
    std::error_code error;
    return std::filesystem::exists(layout.data + "/PG_VERSION", error);
}

}  // namespace

std::string private_cluster_url(const ClusterOptions& options) {
    const Layout layout = cluster::find_layout(options.base_dir);
    cluster::prepare_directories(layout);
    const cluster::Lock lock(layout, kLockTimeout_s);
    note_use(layout, options.idle_stop_s);
    if (const pid_t pid = cluster::running_postmaster(layout); pid != 0) {
        if (!seen_ready(layout)) wait_until_ready(layout, pid);
        return layout.url("steady");
    }
    if (!data_exists(layout)) cluster::make_data_directory(layout);
    cluster::end_orphans(layout);
    wait_until_ready(layout, cluster::start_server(layout));
    cluster::start_idle_timer(layout);
    return layout.url("steady");
}

bool private_schema_seen(const std::string& schema) {
    const Layout layout = cluster::find_layout("");
    return read_line_or_empty(layout.schema_path) ==
           schema + '\n' + read_line_or_empty(layout.ready_path);
}

void note_private_schema(const std::string& schema) {
    const Layout layout = cluster::find_layout("");
    std::ofstream(layout.schema_path, std::ios::trunc)
        << schema << '\n'
        << read_line_or_empty(layout.ready_path) << '\n';
}

ClusterStatus private_cluster_status(const std::string& base_dir) {
    const Layout layout = cluster::find_layout(base_dir);
    ClusterStatus status;
    status.exists = data_exists(layout);
    status.pid = cluster::running_postmaster(layout);
    status.running = status.pid != 0;
    status.version = layout.version;
    status.data_dir = layout.data;
    status.socket_dir = layout.socket_dir;
    status.log_path = layout.log_path;
    status.url = layout.url("steady");
    return status;
}

bool stop_private_cluster(const std::string& base_dir) {
    const Layout layout = cluster::find_layout(base_dir);
    if (!data_exists(layout)) return false;
    const cluster::Lock lock(layout, kLockTimeout_s);
    const pid_t pid = cluster::running_postmaster(layout);
    if (pid == 0) return false;
    std::error_code error;
    std::filesystem::remove(layout.use_path, error);
    cluster::stop_server(layout, pid);
    return true;
}

}  // namespace steady
