// The private PostgreSQL that Steady starts when no database is named. It lies under the state
// directory and is reached over a unix socket only; moving to a server later loses nothing.
// Starting is safe from many processes at once, after kill -9 at any point, and as root (the server
// then runs as user postgres).
#pragma once

#include <sys/types.h>

#include <string>

namespace steady {

struct ClusterOptions {
    std::string base_dir;   // empty: state_dir()
    int idle_stop_s = 300;  // stop after so long without clients; 0: keep running
};

struct ClusterStatus {
    bool exists = false, running = false;
    pid_t pid = 0;  // of the postmaster, when running
    std::string version, data_dir, socket_dir, log_path, url;
};

// Starts the cluster, or joins the one that runs, and returns the URL of its database `steady`.
// First start about 0.7 s, start of an existing one below 0.1 s. Throws Error: no PostgreSQL
// found, directory not usable, or the server's own words when it does not come up.
std::string private_cluster_url(const ClusterOptions& options = {});

// Whether that database was seen with this schema since its server started. To ask the server would
// cost it a process, a third of what a short command takes.
bool private_schema_seen(const std::string& schema);
void note_private_schema(const std::string& schema);

// What is there, without starting anything.
ClusterStatus private_cluster_status(const std::string& base_dir = {});

// Stops the server (fast shutdown) and waits for its end. False when none was running.
bool stop_private_cluster(const std::string& base_dir = {});

}  // namespace steady
