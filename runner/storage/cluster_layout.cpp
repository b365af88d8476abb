// Where the private PostgreSQL lies: binaries, data, socket, owners. Known pitfalls: a socket path
// above 107 bytes fails late and with an unclear message, /root is closed to the server's user,
// /tmp is writable for everyone, a network file system has no reliable locks.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "kernels/base/error.h"
#include "runner/base/sha256.h"
#include "runner/platform/files.h"
#include "runner/spec/spec.h"
#include "runner/storage/cluster_server.h"

namespace steady::cluster {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestSocketDir = 93;  // leaves room for "/.s.PGSQL.5432" and a lock suffix
// PostgreSQL refuses root. On a host without a user for it we take an id that neither Debian nor
// systemd gives away.
constexpr uid_t kSpareUser = 65531;
constexpr const char* kWaysOut =
    "use one of: --db URL (or STEADY_DATABASE_URL) for a PostgreSQL of yours; "
    "apt-get install postgresql; run as a user other than root";

struct Installation {
    int version = 0;
    std::string bin;
};

std::vector<Installation> installations() {
    std::vector<Installation> found;
    std::error_code error;
    for (const fs::path& folder : {fs::path(self_exe_dir()).parent_path() / "lib/postgresql",
                                   fs::path("/usr/lib/postgresql")}) {
        for (const auto& entry : fs::directory_iterator(folder, error)) {
            const int version = std::atoi(entry.path().filename().c_str());
            const auto bin = entry.path() / "bin";
            if (version > 0 && ::access((bin / "postgres").c_str(), X_OK) == 0 &&
                ::access((bin / "initdb").c_str(), X_OK) == 0) {
                found.push_back({version, bin.string()});
            }
        }
        if (!found.empty()) break;  // a bundle's own comes first and alone
    }
    std::sort(found.begin(), found.end(),
              [](const auto& x, const auto& y) { return x.version > y.version; });
    return found;
}

// Versions that already have data here, newest first.
std::vector<int> versions_with_data(const std::string& base) {
    std::vector<int> found;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(base, error)) {
        const std::string name = entry.path().filename();
        if (name.rfind("pg", 0) == 0 && fs::exists(entry.path() / "data", error)) {
            found.push_back(std::atoi(name.c_str() + 2));
        }
    }
    std::sort(found.rbegin(), found.rend());
    return found;
}

Installation choose(const std::string& base) {
    const auto installed = installations();
    if (installed.empty()) {
        throw Error{fmt::format("no PostgreSQL found under /usr/lib/postgresql; {}", kWaysOut)};
    }
    const auto with_data = versions_with_data(base);
    for (const int version : with_data) {
        for (const auto& candidate : installed) {
            if (candidate.version == version) return candidate;
        }
    }
    if (!with_data.empty()) {
        throw Error{fmt::format(
            "{}/pg{}/data needs PostgreSQL {}, but only {} is installed; install "
            "postgresql-{}, or move that directory away after a pg_dump with the old version",
            base, with_data[0], with_data[0], installed[0].version, with_data[0])};
    }
    return installed[0];
}

std::string socket_dir(const std::string& name, const std::optional<Identity>& run_as) {
    std::vector<std::string> roots;
    // Only root can create it; the services' user owns it (runner/package/units/tmpfiles.conf), and
    // its units have each a /tmp of their own. To most of them it is read-only (ProtectSystem=),
    // which keeps nobody from a socket in it.
    struct stat info {};
    const bool services = ::stat("/run/steady", &info) == 0 && info.st_uid == ::geteuid();
    if (run_as || services) roots.emplace_back("/run/steady");
    const uid_t uid = run_as ? run_as->uid : ::geteuid();
    const std::string own = fmt::format("/run/user/{}", uid);
    if (!run_as && ::access(own.c_str(), W_OK | X_OK) == 0) roots.push_back(own);
    roots.push_back(fmt::format("/tmp/steady-{}", uid));
    for (const auto& root : roots) {
        if (run_as && root == "/run/steady" && ::access("/run", W_OK | X_OK) != 0) continue;
        std::string path = root + "/" + name;
        if (path.size() <= kLongestSocketDir) return path;
    }
    throw Error{"no directory short enough for the database socket", kExitInternal};
}

// A directory that only its owner may enter and that nobody else could have planted. One that
// still belongs to this process's user was made by a starter that has not given it away yet, or
// died before it could: any starter gives it away.
void make_private_directory(const std::string& path, const std::optional<Identity>& run_as,
                            mode_t mode) {
    const uid_t uid = run_as ? run_as->uid : ::geteuid();
    if (::mkdir(path.c_str(), mode) != 0 && errno != EEXIST) {
        throw Error{fmt::format("cannot make {}: {}{}", path, std::strerror(errno),
                                room_left(fs::path(path).parent_path()))};
    }
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
        throw Error{
            fmt::format("{} is not a directory that can be used: {}", path, std::strerror(errno))};
    }
    if (run_as && info.st_uid == ::geteuid()) {
        if (::lchown(path.c_str(), run_as->uid, run_as->gid) != 0) {
            throw Error{
                fmt::format("cannot give {} to {}: {}", path, run_as->name, std::strerror(errno))};
        }
    } else if (info.st_uid != uid) {
        throw Error{fmt::format("{} belongs to uid {}, not {}; remove it or set STEADY_STATE_DIR",
                                path, info.st_uid, uid)};
    }
    if ((info.st_mode & 0777) != mode && ::chmod(path.c_str(), mode) != 0) {
        throw Error{fmt::format("cannot set mode of {}: {}", path, std::strerror(errno))};
    }
}

void refuse_network_file_system(const std::string& path) {
    struct statfs info {};
    if (::statfs(path.c_str(), &info) != 0) return;
    const auto type = static_cast<unsigned long>(info.f_type);
    if (type == 0x6969 || type == 0x01021997 || type == 0xFF534D42) {  // NFS, 9p, CIFS
        throw Error{fmt::format(
            "{} lies on a network file system, whose locks and fsync a database cannot trust; "
            "set STEADY_STATE_DIR to a local directory, or name a server with --db URL",
            path)};
    }
}

// The server's user must be able to walk to the data directory.
void require_traversable(const std::string& path, const char* way_out) {
    for (fs::path at = path; at != at.root_path(); at = at.parent_path()) {
        struct stat info {};
        if (::stat(at.c_str(), &info) == 0 && (info.st_mode & S_IXOTH) == 0) {
            throw Error{fmt::format("{} is closed to the database's user (mode {:o}); {}",
                                    at.string(), info.st_mode & 0777, way_out)};
        }
    }
}

}  // namespace

std::string Layout::url(const std::string& database) const {
    return fmt::format("postgresql:///{}?host={}&user=steady", database, socket_dir);
}

Layout find_layout(const std::string& base_dir) {
    Layout layout;
    layout.base = fs::absolute(base_dir.empty() ? state_dir() : base_dir).lexically_normal();
    while (layout.base.size() > 1 && layout.base.back() == '/') layout.base.pop_back();
    const auto installation = choose(layout.base);
    layout.version = std::to_string(installation.version);
    layout.bin = installation.bin;
    layout.home = layout.base + "/pg" + layout.version;
    layout.data = layout.home + "/data";
    layout.log_path = layout.home + "/server.log";
    layout.lock_path = layout.base + "/cluster.lock";
    layout.use_path = layout.base + "/cluster.use";
    layout.ready_path = layout.base + "/cluster.ready";
    layout.schema_path = layout.base + "/cluster.schema";
    layout.cluster_name = "steady-" + sha256_hex(layout.data).substr(0, 8);
    if (::geteuid() == 0) {
        layout.run_as = find_user("postgres");
        if (!layout.run_as) layout.run_as = find_user("steady");
        if (!layout.run_as) layout.run_as = Identity{"steady", kSpareUser, kSpareUser};
    }
    layout.socket_dir = socket_dir(layout.cluster_name, layout.run_as);
    return layout;
}

void prepare_directories(const Layout& layout) {
    make_directories(layout.base);
    refuse_network_file_system(layout.base);
    if (layout.run_as) {
        require_traversable(layout.base,
                            "set STEADY_STATE_DIR to a directory that others may "
                            "enter, such as /var/lib/steady");
        require_traversable(layout.bin, "unpack the bundle where others may enter, such as /opt");
    }
    make_private_directory(layout.home, layout.run_as, 0700);
    const std::string parent = fs::path(layout.socket_dir).parent_path();
    if (parent == "/run/steady") {
        make_directories(parent);
    } else if (parent.rfind("/tmp/", 0) == 0) {
        make_private_directory(parent, layout.run_as, 0700);
    }
    make_private_directory(layout.socket_dir, layout.run_as, 0700);
}

Lock::Lock(const Layout& layout, int timeout_s) {
    fd_ = ::open(layout.lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd_ < 0) {
        throw Error{fmt::format("cannot open {}: {}", layout.lock_path, std::strerror(errno))};
    }
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(timeout_s);
    while (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
        if (std::chrono::steady_clock::now() > give_up) {
            ::close(fd_);
            throw Error{fmt::format("{} has been held for {} s by another process; see "
                                    "`fuser {}`",
                                    layout.lock_path, timeout_s, layout.lock_path),
                        kExitInternal};
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
}

Lock::~Lock() { ::close(fd_); }

}  // namespace steady::cluster
