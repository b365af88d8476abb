// Worker processes of the kill harness on any database, for tests that bring their own faults.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "runner/fault/parts.h"

namespace steady {

class Team {
public:
    Team();
    ~Team();  // kills the workers, removes the folder
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    const std::string& folder() const { return place_.folder; }
    void submit(const std::string& url, int n_jobs, int n_pairs = 20);
    // A worker of the drill on that host, which reaches the database by that URL.
    void start(const std::string& url, int host);
    // Any other life for a worker process.
    void start(const std::function<void()>& life);
    // A worker of that host is started by the test itself.
    void knows_host(int host);
    void kill_all();

    int unfinished(const std::string& url);  // jobs; back-off after crashes is cut short on the way
    bool wait_until_done(const std::string& url, double most_s);
    int acknowledged() const;  // pairs that workers were told are stored
    // As after the drill: answers read back through this URL.
    FaultReport check(const std::string& url);

private:
    drill::Place place_;
    FaultOptions options_;
    std::vector<pid_t> workers_;
    int n_submitted_ = 0;
};

}  // namespace steady
