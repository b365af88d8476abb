// Queries about machines: accepts in A/A audits, injected slowdowns found, and how attempts ended.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runner/storage/pqxx.h"

namespace steady::page {

// Decided experiments of one self-test file on one machine with one verdict.
struct AuditRow {
    std::string host, spec_id, verdict, at;  // at: the latest
    int n = 0;
    std::optional<double> effect;  // mean, fraction
};
// Files of experiments/selftest: a-against-a, burn-…, gain-….
// Who submitted, cancelled, requeued or moved an experiment.
struct Deed {
    std::string at, actor, what, detail;
};
std::vector<Deed> who_did(pqxx::transaction_base& transaction, const std::string& experiment);

std::vector<AuditRow> audits(pqxx::transaction_base& transaction);

struct AttemptRow {
    std::string experiment, claim, worker, began, ended, how, state;
    int epoch = 0;
};

struct WorkerRow {
    std::string host, seen_at, running, worker, lease_until;
    std::vector<std::string> tags;
    bool draining = false;
    std::string fingerprint;            // JSON object of the latest attempt, or empty
    int done = 0, ended_otherwise = 0;  // among the latest 200 attempts
    std::vector<AttemptRow> attempts;   // the latest `limit`
};
// All machines that ever took a job, latest seen first; `host` empty: all.
std::vector<WorkerRow> workers(pqxx::transaction_base& transaction, const std::string& host,
                               int limit);

// What one run measured of a machine's own noise: its A/A pairs in one metric and mode.
struct NoiseRun {
    std::string metric, mode, model, gpu, experiment, at;  // gpu: its model; empty: the CPU
    int pairs = 0;
    double sigma_d = 0;
};
// The latest 20,000 pairs, by run, the oldest first.
std::vector<NoiseRun> noise_runs(pqxx::transaction_base& transaction, const std::string& host);

}  // namespace steady::page
