// Programs of several tests ask at once, so a lock is held while the first one makes it; what is
// renamed into place is whole.
#include "tests/support/ready_cluster.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "kernels/base/error.h"
#include "runner/base/sha256.h"
#include "runner/platform/files.h"
#include "runner/platform/process.h"
#include "runner/storage/cluster_server.h"
#include "runner/storage/migrate.h"
#include "runner/storage/pqxx.h"
#include "runner/storage/private_cluster.h"

namespace steady {

namespace {

namespace fs = std::filesystem;

// Of all that decides what lies in the data directory.
std::string name_of_schema(const cluster::Layout& layout) {
    std::string all = layout.bin;
    for (const char* file :
         {"/runner/storage/cluster_server.cpp", "/tests/support/ready_cluster.cpp"}) {
        all += read_file(STEADY_SOURCE_DIR + std::string(file));
    }
    return sha256_hex(all + schema_hash()).substr(0, 12);
}

void copy_all(const fs::path& from, const fs::path& to) {
    ChildOptions options;
    options.argv = {"/bin/cp", "-a", "--reflink=auto", from.string(), to.string()};
    options.directory = "/";
    const ChildEnd end = run_child(options, 120);
    if (!end.ok()) throw Error{"cp: " + end.describe(), kExitInternal};
}

// Two fifths of the files that every test would copy, and no test needs them.
void drop_what_nobody_needs(const std::string& url) {
    pqxx::connection connection(url);
    pqxx::nontransaction work(connection);
    work.exec("alter database template0 is_template false");
    work.exec("drop database template0");
    work.exec("drop database postgres");
}

void make(const fs::path& folder) {
    const std::string fresh = fmt::format("{}.new-{}", folder.string(), random_hex(4));
    const std::string url = private_cluster_url({.base_dir = fresh, .idle_stop_s = 60});
    migrate(url);
    drop_what_nobody_needs(url);
    stop_private_cluster(fresh);
    const cluster::Layout layout = cluster::find_layout(fresh);
    fs::remove(layout.log_path);
    fs::remove_all(layout.socket_dir);
    fs::rename(fresh, folder);
}

// The cluster that is copied from: /tmp/steady-ready-UID/HASH. One of another schema that nobody
// has used for a day is removed.
fs::path ready_cluster() {
    const fs::path all = fmt::format("/tmp/steady-ready-{}", ::geteuid());
    make_directories(all.string());
    struct stat info {};
    if (::lstat(all.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != ::geteuid())
        throw Error{all.string() + " is not a folder of this user: remove it"};
    const fs::path folder = all / name_of_schema(cluster::find_layout((all / "none").string()));
    const Fd lock{::open((all / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
    while (::flock(lock.get(), LOCK_EX) != 0 && errno == EINTR) {
    }
    std::error_code ignored;
    if (!fs::exists(folder)) {
        for (const auto& old : fs::directory_iterator(all)) {
            const auto age = fs::file_time_type::clock::now() - old.last_write_time();
            if (old.is_directory() && age > std::chrono::hours(24))
                fs::remove_all(old.path(), ignored);
        }
        make(folder);
    }
    fs::last_write_time(folder, fs::file_time_type::clock::now(), ignored);
    return folder;
}

}  // namespace

void give_ready_cluster(const std::string& state_dir, Fsync fsync) {
    make_directories(state_dir);
    const cluster::Layout layout = cluster::find_layout(state_dir);
    copy_all(ready_cluster() / ("pg" + layout.version), layout.home);
    if (fsync == Fsync::on) return;
    std::ofstream config(layout.data + "/postgresql.conf", std::ios::app);
    config << "fsync = off\nfull_page_writes = off\n";
}

void end_cluster(const std::string& state_dir) {
    const ClusterStatus status = private_cluster_status(state_dir);
    std::error_code ignored;
    fs::remove(fs::path(state_dir) / "cluster.use", ignored);  // ends the idle timer
    if (status.running) ::kill(status.pid, SIGQUIT);
    for (int i = 0; i < 2000 && private_cluster_status(state_dir).running; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    fs::remove_all(status.socket_dir, ignored);
}

}  // namespace steady
