// One PostgreSQL data directory and the processes that work on it: where its parts lie, making it,
// starting the server, telling our server from a stranger that inherited its process id.
// Policy (locking, joining, idling) is in private_cluster.cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runner/platform/spawn.h"

namespace steady::cluster {

struct Layout {
    std::string base;                // the state directory
    std::string version;             // "15"
    std::string bin;                 // where postgres and initdb lie
    std::string home;                // base/pg15, owned by the server's user
    std::string data;                // home/data
    std::string log_path;            // home/server.log
    std::string lock_path;           // base/cluster.lock
    std::string use_path;            // base/cluster.use: idle limit; its mtime is the last use
    std::string ready_path;          // base/cluster.ready: the database and life seen ready
    std::string schema_path;         // base/cluster.schema: the schema that these were seen with
    std::string socket_dir;          // short, see find_layout
    std::string cluster_name;        // steady-<8 hex>, part of every server process's title
    std::optional<Identity> run_as;  // set when we are root

    std::string url(const std::string& database) const;
};

// Finds the newest installed PostgreSQL, or the one whose data directory already exists.
Layout find_layout(const std::string& base);

// " (no space left: …)" with the way out, when the disk of this path is full; else empty.
std::string room_left(const std::string& path);

// Makes directories with the right owners and refuses network file systems. Throws Error.
void prepare_directories(const Layout& layout);

// initdb into a directory of its own, then one rename: a data directory is whole or absent.
void make_data_directory(const Layout& layout);

// Pid of the live postmaster of this data directory, or 0.
pid_t running_postmaster(const Layout& layout);

// Ends backends that outlived a killed postmaster. Throws Error naming those that do not end.
void end_orphans(const Layout& layout);

// The server's command line, environment and user, detached from us.
SpawnPlan server_plan(const Layout& layout);

// Starts the server. Returns its pid; readiness is the caller's to poll.
pid_t start_server(const Layout& layout);

// Connected clients of this server's socket, counted from /proc/net/unix.
int connected_clients(const Layout& layout);

// A process that stops the server when it has been idle for the time in use_path.
void start_idle_timer(const Layout& layout);

// Takes the lock, waiting for other starters; throws Error after timeout_s.
class Lock {
public:
    Lock(const Layout& layout, int timeout_s);
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

private:
    int fd_ = -1;
};

// Fast shutdown and wait, at most 30 s. The caller holds the lock.
void stop_server(const Layout& layout, pid_t pid);

}  // namespace steady::cluster
