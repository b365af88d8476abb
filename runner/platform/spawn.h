// Starting a program, and nothing else: argv only, never a shell, everything that the child may see
// is listed by the caller. Waiting and talking are in process.h; the private PostgreSQL starts its
// server with this alone.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace steady {

struct Identity {  // drop to this user before exec
    std::string name;
    uid_t uid = 0;
    gid_t gid = 0;
};

struct Limits {  // bytes, seconds, counts; absent = inherited
    std::optional<std::uint64_t> address_space, file_size, cpu_s, n_files, n_processes;
};

struct SpawnPlan {
    std::vector<std::string> argv;           // argv[0] is an absolute path
    int exec_fd = -1;                        // execute this open file instead of argv[0]
    std::map<std::string, std::string> env;  // the child's whole environment
    std::string directory;                   // empty: unchanged
    std::optional<Identity> run_as;
    Limits limits;
    int stdin_fd = -1, stdout_fd = -1, stderr_fd = -1;  // -1: /dev/null
    // Stay open in the child: the host lock, the weights' memory.
    std::vector<int> keep_fds;
    std::vector<std::string> join;  // control groups that it enters first: their cgroup.procs
    bool new_session = false;       // setsid: outlives us. Otherwise its own group
    bool die_with_parent = true;    // SIGKILL when the spawning *thread* ends
    bool no_new_privileges = true;
};

// Starts the program and returns its pid once exec has succeeded; every descriptor except 0, 1, 2
// and keep_fds is closed in it. Throws Error with the failing step and the system's reason.
pid_t spawn(const SpawnPlan& plan);

// Looks a user up by name; absent when there is none.
std::optional<Identity> find_user(const std::string& name);

}  // namespace steady
