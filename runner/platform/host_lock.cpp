// The lock file is world-writable on purpose: different users of one machine must exclude each
// other. It is opened without O_CREAT first, since kernels refuse that for files of others in
// sticky directories.
#include "runner/platform/host_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "runner/base/sha256.h"
#include "runner/platform/settings.h"
#include "runner/spec/spec.h"

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

struct OpenLock {
    Fd fd;
    std::string path;
};

OpenLock open_first(const std::string& given) {
    std::vector<std::string> paths{"/run/lock/steady.host.lock", "/tmp/steady.host.lock"};
    if (const std::string set = setting("host_lock"); !set.empty()) paths = {set};
    if (!given.empty()) paths = {given};
    for (const auto& path : paths) {
        if (Fd fd = open_lock(path)) return {std::move(fd), path};
    }
    throw Error{
        fmt::format("cannot open the host lock {}: {}; set STEADY_HOST_LOCK to a file that "
                    "every user of this machine may write",
                    fmt::join(paths, " or "), std::strerror(errno))};
}

std::string boot_id() { return read_line_or_empty("/proc/sys/kernel/random/boot_id"); }

bool is_uuid(const std::string& text) {
    return text.size() == 36 && text.find_first_not_of("0123456789abcdef-") == std::string::npos;
}

}  // namespace

std::optional<HostLock> HostLock::acquire(double timeout_s, const std::string& path,
                                          const StopSignal* stop,
                                          const std::function<void(const std::string&)>& message) {
    auto [fd, opened] = open_first(path);
    const auto give_up =
        std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout_s);
    bool told = !message;
    while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
        if (std::chrono::steady_clock::now() >= give_up) return std::nullopt;
        if (!std::exchange(told, true)) {
            message(
                fmt::format("another measurement runs on this machine (lock {}): waiting for "
                            "its end, at most {:.0f} minutes",
                            opened, timeout_s / 60));
        }
        pollfd entry{stop != nullptr ? stop->fd() : -1, POLLIN, 0};
        if (::poll(&entry, 1, 20) == 1) return std::nullopt;
    }
    return HostLock{std::move(fd)};
}

// The boot's id goes with it: a machine cloned from this one's disk has the file, but another boot.
std::vector<std::string> HostLock::predecessors() const {
    std::array<char, 256> text{};
    const ssize_t n = ::pread(fd_.get(), text.data(), text.size() - 1, 0);
    std::istringstream in(std::string(text.data(), n > 0 ? static_cast<std::size_t>(n) : 0));
    std::string boot, worker;
    if (!(in >> boot >> worker) || boot != boot_id() || !is_uuid(worker)) return {};
    return {worker};
}

void HostLock::set_holder(const std::string& worker) const {
    const std::string text = boot_id() + " " + worker + "\n";
    if (::ftruncate(fd_.get(), 0) != 0 ||
        ::pwrite(fd_.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
        throw Error{fmt::format("cannot write the host lock: {}", std::strerror(errno)),
                    kExitInternal};
    }
}

std::string host_name() {
    if (const std::string set = setting("host_name"); !set.empty()) return set;
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
