// One benchmark at a time on a machine, across databases: a file lock that every benchmark child
// inherits. The lock is held while a child lives, even an orphaned one; acquiring it proves that no
// earlier child is left.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runner/platform/files.h"
#include "runner/platform/fingerprint.h"
#include "runner/platform/process.h"

namespace steady {

class HostLock {
public:
    // Tries for timeout_s; nothing when somebody else keeps it. Path: as given, else
    // $STEADY_HOST_LOCK, else /run/lock/steady.host.lock, else /tmp/steady.host.lock. Throws Error
    // when none can be opened. A raised stop ends the wait; message is told once that it waits.
    static std::optional<HostLock> acquire(
        double timeout_s, const std::string& path = {}, const StopSignal* stop = nullptr,
        const std::function<void(const std::string&)>& message = {});

    // The worker that held this lock last on this machine since it started, now dead: the file says
    // so, and no other machine has this file. Empty when nobody did.
    std::vector<std::string> predecessors() const;
    void set_holder(const std::string& worker) const;

    int fd() const { return fd_.get(); }  // close-on-exec here; given to children, see keep_fds

private:
    explicit HostLock(Fd fd) : fd_(std::move(fd)) {}
    Fd fd_;
};

// Identity of this machine in the database: $STEADY_HOST_NAME, else host_id of its machine id and
// CPU. Not the host name, which people reuse and which tells too much.
std::string host_name();

// 12 hex digits of a hash. The CPU's model and features count too: machines made from one image
// may share a machine id, and one that moves to another CPU has another noise.
std::string host_id(const std::string& machine_id, const Fingerprint& machine);

}  // namespace steady
