// The page's queries besides single records: lists, queue, machines, kernels, earlier attempts.
// Each function takes a transaction and reads rows that are already decided; a page view computes
// no statistics except the spread of a machine's A/A noise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runner/record/record.h"
#include "runner/record/runs.h"
#include "runner/storage/pqxx.h"

namespace steady::page {

// Filters of the list; empty means all. Rows older than `before` (a ListRow::cursor), 0: newest.
struct ListQuery {
    std::string verdict, state, owner, metric, host, text;
    std::int64_t before = 0;
    int limit = 50;
    bool suite = false;  // also what Steady asks: standing suite, self-tests, bisections
};

struct ListRow {
    std::int64_t cursor = 0;
    std::string id, owner, claim, model, state, verdict, reason, sentence, metric, host, prediction;
    std::optional<double> effect;  // fraction, + is faster
    Interval interval;
    int pairs = 0, pairs_max = 0;
    std::string submitted_at, decided_at;  // ISO 8601, UTC
    std::string note, journal_path;
    std::string file;          // of a shipped record that is not in this database, else empty
    std::string question_sha;  // of a finding; it stands for all runs of the question:
    std::vector<Run> runs;
};

struct ListPage {
    std::vector<ListRow> rows;
    std::int64_t next = 0;  // 0: no more
};

struct QueueRow {
    std::string id, owner, claim, state, host, worker, note;
    int priority = 0, crashes = 0, pairs_done = 0, pairs_max = 0;
    std::string queued_at, began_at, lease_until;
    std::vector<std::string> need_tags;
    bool cancel_asked = false;
    std::string progress;  // evidence "progress": JSON {effect, interval: [low, high]}, or empty
};

struct HostNoise {
    std::string metric, mode, gpu, at;  // gpu: its model; empty: the CPU
    int pairs = 0;
    double sigma_d = 0;  // robust standard deviation of A/A pair values, log ratio
};

struct HostDetail {
    std::string name, seen_at, running;  // running: id of the experiment, or empty
    std::vector<std::string> tags;
    bool draining = false;
    std::string fingerprint;  // JSON object of its latest attempt, or empty
    std::vector<HostNoise> noise;
};

// One row of a stored profile. champion_of: the accepted experiment whose candidate it was.
struct KernelRow {
    std::string op, variant, model, experiment, arm, at, host, reason, accepted_by;
    std::vector<std::string> shapes;  // that this model gives the op
    double calls_per_token = 0, ns_per_token = 0, bytes_per_token = 0;
    // Of the memory, in the same profile; 0: not measured, or less than the op itself moves.
    double read_gb_per_s = 0;
};

struct OwnerRow {
    std::string owner;
    int experiments = 0, accepted = 0, rejected = 0, inside = 0, above = 0, below = 0;
};

struct PairEvent {
    int gate = 0, number = 0;
    std::string kind, discarded;
};

struct Events {
    std::string state, verdict, reason, progress;
    int n_pairs = 0;               // sealed so far
    std::vector<PairEvent> pairs;  // those after `since`, in order of sealing
};

// Text in `text` is cut into words; each must begin a word of the experiment file.
ListPage list(pqxx::transaction_base& transaction, const ListQuery& query);
std::vector<ListRow> journal(pqxx::transaction_base& transaction, const std::string& words,
                             int limit);
std::vector<QueueRow> queue(pqxx::transaction_base& transaction, int limit);
std::vector<HostDetail> hosts(pqxx::transaction_base& transaction);
// The latest measurement of every op and variant, from the last 40 profiles.
std::vector<KernelRow> kernels(pqxx::transaction_base& transaction);
// Over the latest 2000 experiments.
std::vector<OwnerRow> owners(pqxx::transaction_base& transaction);
int queue_depth(pqxx::transaction_base& transaction);
// Nullopt: no experiment has exactly this id.
std::optional<Events> events(pqxx::transaction_base& transaction, const std::string& id, int since);

}  // namespace steady::page
