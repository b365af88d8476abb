// The fault run: real workers on a real PostgreSQL are killed, frozen and restarted at random.
// Afterwards the answers are checked, not only that nothing crashed: every sample
// that a worker was told is stored must be there, every job must have one verdict, and no two
// children may have measured on one host at the same time. `steady fault-test` runs it; a short
// version runs in CI.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace steady {

struct FaultOptions {
    int kills = 200;        // kill -9 of workers (three of four) and of their children
    int freezes = -1;       // SIGSTOP beyond the lease, SIGCONT; -1: a fifth of kills
    int server_kills = -1;  // kill -9 of the postmaster; -1: an eighth of kills
    std::uint64_t seed = 1;
    int hosts = 2, workers_per_host = 2;
    int pairs = 20;                  // measured pairs of each job
    bool synchronous_commit = true;  // off must lose samples: it guards the harness itself
    double lease_s = 2;              // longer where the network is slow
    double most_s = 600;             // gives up on unfinished jobs after this
    std::function<void(const std::string&)> progress;
};

struct FaultReport {
    int worker_kills = 0, child_kills = 0, freezes = 0, server_kills = 0;
    int jobs = 0, jobs_done = 0, jobs_resumed = 0;
    std::int64_t samples_acknowledged = 0, samples_lost = 0, samples_wrong = 0;
    std::int64_t samples_official = 0, samples_expected = 0, samples_of_dead_epochs = 0;
    int verdicts = 0, duplicate_verdicts = 0, journal_rows = 0;
    int child_runs = 0, child_overlaps = 0, attempt_overlaps = 0;
    int stale_writes_fenced = 0;
    double seconds = 0;

    bool sound() const;        // nothing lost, doubled, overlapping or unfinished
    std::string text() const;  // for people, one figure a line
    std::string json() const;
};

// Needs PostgreSQL's programs; makes its own cluster under scratch_dir() and removes it.
FaultReport run_fault_drill(const FaultOptions& options);

}  // namespace steady
