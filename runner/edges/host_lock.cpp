// The lock file is world-writable on purpose: different users of one machine must exclude each
// other. It is opened without O_CREAT first, since kernels refuse that for files of others in
// sticky directories.
#include "runner/edges/host_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "engine/protocol/error.h"
#include "runner/pipeline/spec.h"

namespace steady {
namespace {

Fd open_lock(const std::string& path) {
    Fd fd{::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW)};
    if (!fd && errno == ENOENT) {
        fd = Fd{::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666)};
        if (fd) ::fchmod(fd.get(), 0666);
        if (!fd && errno == EEXIST) {
            fd = Fd{::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW)};
        }
    }
    return fd;
}

Fd open_first(const std::string& given) {
    std::vector<std::string> paths{"/run/lock/steady.host.lock", "/tmp/steady.host.lock"};
    if (const char* set = std::getenv("STEADY_HOST_LOCK"); set != nullptr && *set != '\0') {
        paths = {set};
    }
    if (!given.empty()) paths = {given};
    for (const auto& path : paths) {
        if (Fd fd = open_lock(path)) return fd;
    }
    throw Error{
        fmt::format("cannot open the host lock {}: {}; set STEADY_HOST_LOCK to a file that "
                    "every user of this machine may write",
                    fmt::join(paths, " or "), std::strerror(errno))};
}

}  // namespace

std::optional<HostLock> HostLock::acquire(double timeout_s, const std::string& path) {
    Fd fd = open_first(path);
    const auto give_up =
        std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout_s);
    while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
        if (std::chrono::steady_clock::now() >= give_up) return std::nullopt;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return HostLock{std::move(fd)};
}

std::string host_name() {
    if (const char* set = std::getenv("STEADY_HOST_NAME"); set != nullptr && *set != '\0') {
        return set;
    }
    std::string id = read_line_or_empty("/etc/machine-id");
    if (id.empty()) id = read_line_or_empty("/var/lib/dbus/machine-id");
    if (id.empty()) {  // containers often have none: remember one of our own
        const std::string path = state_dir() + "/machine-id";
        id = read_line_or_empty(path);
        if (id.empty()) {
            id = random_hex(16);
            make_directories(state_dir());
            write_file_atomic(path, id + "\n");
        }
    }
    return host_id(id, machine_fingerprint());
}

std::string host_id(const std::string& machine_id, const Fingerprint& machine) {
    const std::string cpu = machine.at("cpu_model") + " " + machine.at("cpu_flags_sha256");
    return sha256_hex("steady host " + machine_id + " " + cpu).substr(0, 12);
}

}  // namespace steady
