// One benchmark at a time on a machine, whatever database it belongs to: a file lock that every
// benchmark child inherits. While a child lives, even an orphaned one, the lock is held; getting it
// proves that no predecessor is left.
#pragma once

#include <optional>
#include <string>

#include "runner/edges/files.h"
#include "runner/edges/fingerprint.h"

namespace steady {

class HostLock {
public:
    // Tries for timeout_s; nothing when somebody else keeps it. Path: as given, else
    // $STEADY_HOST_LOCK, else /run/lock/steady.host.lock, else /tmp/steady.host.lock. Throws Error
    // when none can be opened.
    static std::optional<HostLock> acquire(double timeout_s, const std::string& path = {});

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
