// The queue as plain memory: what the SQL functions must do, written a second time from the rules
// of runner/queue/README.md. The simulation compares every answer and, now and then, every row.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace steady::queue_model {

// An answer: a value, or the SQLSTATE of the refusal.
struct Answer {
    std::string state;  // empty: it was done
    std::string value;
    bool operator==(const Answer&) const = default;
};

struct PairRow {
    int number = 0, attempt = 0;
    std::int64_t epoch = 0;  // of the seal; 0: open
    bool discarded = false;
    std::map<std::int64_t, bool> samples;  // epochs that wrote values
};

struct JobRow {
    std::string state = "queued";
    int priority = 0, crashes = 0, max_crashes = 5;
    std::int64_t epoch = 0;
    std::string worker;
    int host = 0, pin = 0;  // 0: none
    double lease_until = 0, run_after = 0, queued_at = 0;
    bool cancel = false;
    std::vector<PairRow> pairs;
    std::map<std::int64_t, std::string> attempts;  // epoch → worker
    std::int64_t verdict_epoch = 0;                // 0: none
};

class Queue {
public:
    double now = 0;  // virtual seconds of the database's clock
    std::map<std::int64_t, JobRow> jobs;

    void submit(std::int64_t job, int priority, int n_pairs);
    // Value: "job epoch", or empty.
    Answer claim(const std::string& worker, int host, double ttl_s);
    Answer renew(std::int64_t job, const std::string& worker, std::int64_t epoch, double ttl_s);
    Answer put_pair(std::int64_t job, const std::string& worker, std::int64_t epoch, int number,
                    int attempt, bool discard);
    Answer finish(std::int64_t job, const std::string& worker, std::int64_t epoch);
    Answer stop(std::int64_t job, const std::string& worker, std::int64_t epoch,
                const std::string& how);
    Answer rescue();
    Answer reclaim(int host, const std::string& worker, const std::string& predecessor);
    Answer cancel(std::int64_t job);
    Answer requeue(std::int64_t job);
    Answer set_priority(std::int64_t job, int priority);
    Answer unpin(std::int64_t job);

private:
    bool held(const JobRow& job, const std::string& worker, std::int64_t epoch) const;
    std::string end(JobRow& job, const std::string& how, double back_off_s);
};

}  // namespace steady::queue_model
