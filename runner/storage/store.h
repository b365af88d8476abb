// The record of all measurements, as functions over one connection. When a function returns, its
// change is committed; every write of a worker is fenced by its lease. Each call may be repeated
// after DatabaseGone: a repetition changes nothing. One Store belongs to one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runner/judge/analysis.h"
#include "runner/record/record.h"
#include "runner/storage/connection.h"

namespace steady {

struct Submission {
    const Spec* spec = nullptr;
    std::vector<Pair> plan;  // every pair of try 0 with its coins
    std::uint64_t seed = 0;
    bool fresh_rerun = false;            // a further run, or the one that waits or runs already
    int priority = 0;                    // -100 … 100
    std::vector<std::string> need_tags;  // host tags, or a host's name
    // What the arms' revisions are now: part of the question.
    std::map<std::string, std::string> commits;
    // The caller takes the job itself: nobody else does for an hour. Owner only.
    bool for_caller = false;
};

struct Submitted {
    std::string id;
    std::int64_t job = 0;
    bool created = false;  // false: the same file was submitted before, this is that job
    std::string state;
};

// The right to write one job's results, until it lapses.
struct Lease {
    std::int64_t job = 0, epoch = 0, host = 0;
    std::string worker, id;
};

struct ExperimentFilter {
    std::string spec_id, state, verdict, owner, host;
};

struct ExperimentRow {
    std::string id, spec_id, owner, claim, model, state, verdict, reason, metric, host, note;
    std::optional<double> effect;
    Interval interval;
    int pairs = 0;  // decided on; while running: sealed so far
    int planned = 0;
    int priority = 0;
    std::string submitted_at, decided_at;  // ISO 8601, UTC
    std::int64_t cursor = 0;
};

struct HostRow {
    std::string name, seen_at, job;  // job: id of the running experiment, or empty
    std::vector<std::string> tags;
    bool draining = false;
};

struct Token {
    std::string name, sha256;
    std::vector<std::string> scopes;  // read, submit, cancel, admin
    std::string created_at, expires_at;
    bool revoked = false;
};

// Samples that retention may remove; verdicts, analyses, evidence and pairs always stay.
struct Expendable {
    std::string id;
    std::string why;  // undecided, superseded or "dead epochs": see migrations/0061_unpin.sql
    std::int64_t rows = 0, values = 0, bytes = 0;
};

class Store {
public:
    explicit Store(ConnectionOptions options) : connection_(std::move(options)) {}

    // --- the queue ---
    Submitted submit(const Submission& submission);
    std::int64_t register_host(const std::string& name, const std::vector<std::string>& tags);
    // The best queued job for this host (or `only_job`), or nothing.
    std::optional<Lease> claim(const std::string& worker, std::int64_t host, double ttl_s,
                               std::optional<std::int64_t> only_job = std::nullopt);
    bool renew(const Lease& lease, double ttl_s);  // true: the job should stop (cancelled)
    std::string stop(const Lease& lease, const std::string& how, const std::string& note);
    int rescue();
    // Running jobs of workers that are known to be dead, or whose lease is over, go back.
    int reclaim(std::int64_t host, const std::string& worker,
                const std::vector<std::string>& predecessors);
    std::string cancel(const std::string& id);  // the state afterwards
    // failed or cancelled → queued; for_caller: as in Submission
    std::string requeue(const std::string& id, bool for_caller = false);
    void set_priority(const std::string& id, int priority);   // of a queued job
    void drain_host(const std::string& name, bool draining);  // owner only
    // Sealed pairs stop counting, any host may measure them anew. How many that were. Owner only.
    int unpin(const std::string& id);

    // --- retention (owner) ---
    std::vector<Expendable> expendable_samples(int older_than_days);
    std::int64_t drop_samples(const std::string& id, const std::string& why);  // rows removed

    // --- a worker's results ---
    // Keys in which this machine differs from the one that measured the sealed pairs.
    std::vector<std::string> put_fingerprint(const Lease& lease, const Fingerprint& fingerprint);
    // Samples and seal in one transaction. next_coins: for the repeat if this pair is discarded.
    void put_pair(const Lease& lease, const Pair& pair, const std::string& next_coins = {});
    void put_samples(const Lease& lease, const Pair& pair);  // process pairs: after each arm
    void put_evidence(const Lease& lease, const std::string& kind, const std::string& json);
    // Pair values of A against A, log ratios, by pair number: this host's history of noise.
    void put_aa(const Lease& lease, int gate, const std::string& metric, Mode mode,
                const std::string& model, const std::vector<int>& numbers,
                const std::vector<double>& d);
    void finish(const Lease& lease, const std::string& verdict, const std::string& reason,
                const std::string& analysis_json, const std::string& sentence);
    void set_journal_path(const std::string& id, const std::string& path);

    // --- reading ---
    // reference: an id, a unique prefix of one, a run's id, a spec id (its latest) or "last".
    // Throws Error that names near ids.
    std::string resolve(const std::string& reference);
    // Ids of all experiments that asked this spec's question, oldest first.
    std::vector<std::string> attempts_at(const Spec& spec,
                                         const std::map<std::string, std::string>& commits = {});
    // The newest decided run of this very file on this host; empty: none.
    std::string decided_on(const std::string& host, const Spec& spec,
                           const std::map<std::string, std::string>& commits = {});
    Record load_record(const std::string& reference, bool with_pairs = true);
    // Every planned pair with its values where sealed: what a resuming worker still has to do.
    std::vector<Pair> load_pairs(std::int64_t job, bool with_open = true);
    std::optional<std::string> load_evidence(std::int64_t job, const std::string& kind);
    // Newest first, at most `limit`, those older than `cursor` (0: from the newest).
    std::vector<ExperimentRow> list_experiments(const ExperimentFilter& filter, int limit,
                                                std::int64_t cursor = 0);
    // Waiting and running jobs in the order in which they will run.
    std::vector<ExperimentRow> list_queue();
    std::vector<HostRow> list_hosts();
    // The host's latest A/A values with this model, and on this model of GPU (noise_gpu; empty: on
    // the CPU).
    HostHistory host_history(const std::string& host, const std::string& metric, Mode mode,
                             const std::string& model, const std::string& gpu = "");

    // --- tokens (owner, except token_scopes) ---
    void create_token(const Token& token);
    std::vector<Token> list_tokens();
    bool revoke_token(const std::string& name);
    std::vector<std::string> token_scopes(const std::string& sha256);  // empty: not valid

    Connection& connection() { return connection_; }

private:
    Connection connection_;
};

// SHA-256 over what is asked, without prediction, thresholds or schedule: attempts at the same
// question find each other by it. commits: see Submission.
std::string question_sha(const Spec& spec, const std::map<std::string, std::string>& commits = {});

// Whether a record of this spec, which names no revisions, may stand at that question: today's
// hash, or the one that an earlier version of this program gave it.
bool asks(const Spec& spec, const std::string& sha);

}  // namespace steady
