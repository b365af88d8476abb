// A worker takes a job, runs it under its lease and stores its end. The experiment comes as a
// function. `steady run` submits and works its own job through here, so that every measurement
// takes the same locks.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runner/platform/host_lock.h"
#include "runner/queue/lease.h"
#include "runner/queue/spool.h"
#include "runner/run/executor.h"
#include "runner/storage/store.h"

namespace steady {

struct WorkerOptions {
    std::string url;
    std::vector<std::string> tags;
    LeaseTimes times;
    double poll_s = 1.5;
    std::string host;             // empty: host_name()
    std::string host_lock_path;   // empty: see HostLock
    std::string spool_dir;        // empty: <state>/spool
    double host_lock_wait_s = 0;  // how long work_one waits for another benchmark to end
    bool synchronous_commit = true;
    bool once = false;                                // work() ends when the queue is empty
    StopSignal* shutdown = nullptr;                   // finish nothing more, give the job back
    std::function<void(const std::string&)> message;  // one line for people
    std::function<void()> idle;                       // no job for now: give back what was kept
};

// A claimed job in the hands of the experiment function.
struct Job {
    Record record;  // as loaded at the start; pairs and evidence of earlier epochs
    Store* store = nullptr;
    Lease lease;
    SampleSink* sink = nullptr;        // spool first, then the database; returns after the commit
    const StopSignal* stop = nullptr;  // for the executor: cancelled, lost or shut down
    std::function<bool()> should_stop;
    int host_lock_fd = -1;  // for the executor: children inherit it
    std::string host;

    // Stores this machine's fingerprint. Throws HostChanged when sealed pairs were measured on
    // another one.
    void put_fingerprint(const Fingerprint& fingerprint) const;
};

struct HostChanged : Error {
    explicit HostChanged(const std::string& what) : Error(what) {}
};

struct JobResult {
    enum class How { decided, stopped } how = How::decided;  // stopped: should_stop() was true
    std::string verdict{}, reason{}, analysis_json{}, sentence{};
};

using RunJob = std::function<JobResult(Job&)>;

enum class WorkEnd {
    nothing,    // no job for this host now
    host_busy,  // another benchmark runs on this machine
    decided,
    cancelled,
    released,
    failed,
    requeued,
    postponed,   // database or host are in trouble; the job waits without blame
    lease_lost,  // another worker has the job now, or the database was unreachable too long
};

struct Worked {
    WorkEnd end = WorkEnd::nothing;
    std::string id, note;
};

class Worker {
public:
    explicit Worker(WorkerOptions options);

    // At most one job: the best one, or only_job. Throws DatabaseGone when there is no database.
    Worked work_one(const RunJob& run, std::optional<std::int64_t> only_job = std::nullopt);

    // Jobs until shutdown is raised; decided is called after each verdict. What it throws is said,
    // and the work goes on: a verdict is stored, whatever becomes of its entry.
    using Decided = std::function<void(Store&, const std::string&)>;
    void work(const RunJob& run, const Decided& decided);

    Store& store() { return store_; }
    const std::string& id() const { return worker_; }

private:
    ConnectionOptions connection_options() const;
    void greet(const HostLock& lock);
    void open_spool_folder() const;
    std::string shared_host();
    bool pause_after(const Worked& worked, const Decided& decided);
    Worked run_claimed(const Lease& lease, double claimed_at_s, int lock_fd, const RunJob& run);
    Worked end_without_verdict(const Lease& lease, const LeaseKeeper& keeper);
    Worked end_with_error(const Lease& lease, const LeaseKeeper& keeper, const Error& error);
    std::string overdue_note(const Lease& lease) const;
    std::string lease_note() const;
    bool shutting_down() const;
    void say(const std::string& line) const;

    WorkerOptions options_;
    std::string worker_;
    Store store_;
    std::int64_t host_ = 0;
    std::string said_;  // the latest trouble without a job
};

}  // namespace steady
