// The processes of the private PostgreSQL. The server is started directly, not by pg_ctl, which
// polls in steps of 100 ms. Which process is ours is read from its command line: readable for any
// user even where /proc/PID/exe is not, and it names the data directory.
#include "runner/storage/cluster_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/shm.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "kernels/base/error.h"
#include "runner/platform/files.h"

namespace steady::cluster {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

std::map<std::string, std::string> server_environment() {
    return {{"PATH", "/usr/bin:/bin"}, {"LC_ALL", "C"}, {"TZ", "GMT"}};
}

// Arguments of a process; empty for a zombie, a kernel thread or no process.
std::vector<std::string> arguments_of(pid_t pid) {
    std::vector<std::string> arguments;
    std::istringstream text{[&] {
        try {
            return read_file(fmt::format("/proc/{}/cmdline", pid));
        } catch (const Error&) {
            return std::string{};
        }
    }()};
    for (std::string word; std::getline(text, word, '\0');) arguments.push_back(word);
    return arguments;
}

bool is_our_postmaster(pid_t pid, const Layout& layout) {
    const auto words = arguments_of(pid);
    if (words.empty() || fs::path(words[0]).filename() != "postgres") return false;
    return std::find(words.begin(), words.end(), layout.data) != words.end();
}

std::vector<pid_t> our_backends(const Layout& layout) {
    std::vector<pid_t> found;
    const std::string title = "postgres: " + layout.cluster_name + ":";
    std::error_code error;
    for (const auto& entry : fs::directory_iterator("/proc", error)) {
        const pid_t pid = std::atoi(entry.path().filename().c_str());
        if (pid <= 0) continue;
        const auto words = arguments_of(pid);
        // Below a bundle's loader the title follows the loader's own words.
        const bool titled = std::any_of(words.begin(), words.end(), [&](const std::string& word) {
            return word.rfind(title, 0) == 0;
        });
        // A backend that was forked a moment ago still has the postmaster's own command line.
        if (titled || is_our_postmaster(pid, layout)) found.push_back(pid);
    }
    return found;
}

pid_t pid_in_file(const Layout& layout) {
    std::ifstream file(layout.data + "/postmaster.pid");
    pid_t pid = 0;
    file >> pid;
    return file ? pid : 0;
}

// Somebody still has the shared memory of the server whose process file lies there, whose seventh
// line names it by key and number. A process that is ending has it for a moment longer than its
// command line.
bool memory_is_held(const Layout& layout) {
    std::ifstream file(layout.data + "/postmaster.pid");
    std::string line;
    for (int i = 0; i < 7; ++i) std::getline(file, line);
    std::istringstream words(line);
    std::uint64_t key = 0;
    int id = -1;
    shmid_ds segment{};
    return words >> key >> id && ::shmctl(id, IPC_STAT, &segment) == 0 &&
           static_cast<std::uint32_t>(segment.shm_perm.__key) == key && segment.shm_nattch > 0;
}

std::string tail(const std::string& path, std::size_t n_bytes) {
    const std::string text = read_line_or_empty(path);
    return text.size() <= n_bytes ? text : "…" + text.substr(text.size() - n_bytes);
}

std::string settings() {
    struct statvfs shm {};
    const bool small_shm = ::statvfs("/dev/shm", &shm) != 0 ||
                           static_cast<std::uint64_t>(shm.f_bavail) * shm.f_frsize < (256U << 20U);
    const auto memory = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                        static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    // GMT: the one name that PostgreSQL knows without the host's files of time zones.
    return fmt::format(
        "\n# Steady's own cluster: small, durable, unreachable from the network.\n"
        "listen_addresses = ''\nunix_socket_permissions = 0700\nmax_connections = 40\n"
        "shared_buffers = {}\nmin_wal_size = 32MB\nmax_wal_size = 256MB\n"
        "fsync = on\nfull_page_writes = on\nsynchronous_commit = on\n"
        "recovery_init_sync_method = syncfs\n"
        "log_min_messages = warning\nlog_line_prefix = '%m [%p] %a '\n"
        "timezone = 'GMT'\nlog_timezone = 'GMT'\n{}",
        memory > (std::uint64_t{4} << 30U) ? "128MB" : "64MB",
        small_shm ? "dynamic_shared_memory_type = mmap\nmax_parallel_workers = 0\n" : "");
}

void remove_leftovers(const Layout& layout) {
    std::error_code error;
    std::vector<fs::path> left;
    for (const auto& entry : fs::directory_iterator(layout.home, error)) {
        if (entry.path().filename().string().rfind("data.new", 0) == 0)
            left.push_back(entry.path());
    }
    for (const auto& path : left) fs::remove_all(path, error);  // a dying initdb may still write
}

void wait_for_end(pid_t pid, int timeout_s, const Layout& layout) {
    const auto give_up = steady_clock::now() + std::chrono::seconds(timeout_s);
    while (is_our_postmaster(pid, layout)) {
        ::waitpid(pid, nullptr, WNOHANG);  // when it is our own child
        if (steady_clock::now() > give_up) {
            throw Error{fmt::format("PostgreSQL (pid {}) did not stop within {} s; see {}", pid,
                                    timeout_s, layout.log_path),
                        kExitInternal};
        }
        std::this_thread::sleep_for(milliseconds(2));
    }
}

}  // namespace

// A full disk leaves no room for the log that would say so.
std::string room_left(const std::string& path) {
    constexpr double kEnough_bytes = 100e6;  // a new cluster takes 28 MB and its first WAL
    struct statvfs info {};
    if (::statvfs(path.c_str(), &info) != 0) return "";
    const double free_bytes =
        static_cast<double>(info.f_bavail) * static_cast<double>(info.f_frsize);
    if (free_bytes > kEnough_bytes) return "";
    return fmt::format(
        " (no space left: {:.0f} MB free, {:.0f} MB needed; free some, or set "
        "STEADY_STATE_DIR to another disk)",
        free_bytes / 1e6, kEnough_bytes / 1e6);
}

void make_data_directory(const Layout& layout) {
    remove_leftovers(layout);
    const std::string fresh = fmt::format("{}/data.new.{}", layout.home, random_hex(4));
    const std::string log = layout.home + "/initdb.log";
    const Fd log_fd{
        ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600)};
    SpawnPlan plan;
    plan.argv = {layout.bin + "/initdb",
                 "-D",
                 fresh,
                 "--no-sync",
                 "--no-instructions",
                 "-A",
                 "trust",
                 "--locale=C",
                 "--encoding=UTF8",
                 "--username=steady",
                 "--wal-segsize=1"};
    plan.env = server_environment();
    plan.directory = "/";
    plan.run_as = layout.run_as;
    plan.stdout_fd = plan.stderr_fd = log_fd.get();
    int status = 0;
    const pid_t pid = spawn(plan);
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        throw Error{fmt::format("initdb failed in {}: {}{}", layout.home, tail(log, 600),
                                room_left(layout.home)),
                    kExitInternal};
    }
    {
        std::ofstream config(fresh + "/postgresql.conf", std::ios::app);
        config << settings();
        if (!config.flush())
            throw Error{"cannot write " + fresh + "/postgresql.conf", kExitInternal};
    }
    const Fd directory{::open(fresh.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    ::syncfs(directory.get());
    if (::rename(fresh.c_str(), layout.data.c_str()) != 0) {
        throw Error{
            fmt::format("cannot rename {} to {}: {}", fresh, layout.data, std::strerror(errno)),
            kExitInternal};
    }
    const Fd parent{::open(layout.home.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    ::fsync(parent.get());
}

pid_t running_postmaster(const Layout& layout) {
    const pid_t pid = pid_in_file(layout);
    return pid > 0 && is_our_postmaster(pid, layout) ? pid : 0;
}

void end_orphans(const Layout& layout) {
    auto left = our_backends(layout);
    for (const pid_t pid : left) {
        ::kill(pid, SIGCONT);
        ::kill(pid, SIGQUIT);
    }
    const auto give_up = steady_clock::now() + std::chrono::seconds(5);
    while ((!left.empty() || memory_is_held(layout)) && steady_clock::now() < give_up) {
        std::this_thread::sleep_for(milliseconds(10));
        left = our_backends(layout);
    }
    if (left.empty()) return;
    std::string pids;
    for (const pid_t pid : left) pids += fmt::format(" {}", pid);
    throw Error{fmt::format("processes of a dead PostgreSQL still hold {}: kill them by hand:{}",
                            layout.data, pids),
                kExitInternal};
}

// The log of a server that starts and stops with commands grows for years.
void keep_log_small(const std::string& path) {
    constexpr std::uintmax_t kMost = 8U << 20U;
    std::error_code error;
    if (fs::file_size(path, error) > kMost && !error) fs::rename(path, path + ".old", error);
}

SpawnPlan server_plan(const Layout& layout) {
    SpawnPlan plan;
    plan.argv = {layout.bin + "/postgres",
                 "-D",
                 layout.data,
                 "-k",
                 layout.socket_dir,
                 "-c",
                 "cluster_name=" + layout.cluster_name};
    plan.env = server_environment();
    plan.directory = "/";
    plan.run_as = layout.run_as;
    plan.new_session = true;
    plan.die_with_parent = false;
    return plan;
}

pid_t start_server(const Layout& layout) {
    keep_log_small(layout.log_path);
    const Fd log_fd{::open(layout.log_path.c_str(),
                           O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600)};
    SpawnPlan plan = server_plan(layout);
    plan.stdout_fd = plan.stderr_fd = log_fd.get();
    if (const pid_t stale = pid_in_file(layout); stale > 0 && ::kill(stale, 0) == 0) {
        // A stranger has the old server's id. PostgreSQL takes this for its own ancestry and so
        // knows that the pid file is stale; deleting the file ourselves would not be safe.
        plan.env["PG_GRANDPARENT_PID"] = std::to_string(stale);
    }
    return spawn(plan);
}

int connected_clients(const Layout& layout) {
    std::ifstream table("/proc/net/unix");
    const std::string path = layout.socket_dir + "/.s.PGSQL.5432";
    int n = 0;
    for (std::string line; std::getline(table, line);) {
        std::istringstream words(line);
        std::string number, count, protocol, flags, type, state, inode, name;
        words >> number >> count >> protocol >> flags >> type >> state >> inode >> name;
        if (name == path && state == "03") ++n;  // connected; the listening socket is 01
    }
    return n;
}

void stop_server(const Layout& layout, pid_t pid) {
    ::kill(pid, SIGINT);
    wait_for_end(pid, 30, layout);
}

}  // namespace steady::cluster
