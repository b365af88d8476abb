// The order matters: the host lock first (it proves that no other worker measures here), then
// leftovers of an earlier worker, then the claim; at the end the verdict, and only then the lock is
// released.
#include "runner/queue/worker.h"

#include <fmt/format.h>
#include <poll.h>

#include "runner/base/text.h"
#include "runner/platform/clock.h"
#include "runner/platform/disk.h"
#include "runner/platform/failpoint.h"
#include "runner/queue/sink.h"
#include "runner/storage/migrate.h"
#include "runner/storage/service.h"

namespace steady {
void Job::put_fingerprint(const Fingerprint& fingerprint) const {
    failpoint("before_fingerprint");
    const auto differing = store->put_fingerprint(lease, fingerprint);
    failpoint("fingerprint_stored");
    if (differing.empty()) return;
    throw HostChanged{
        fmt::format("the host changed since this experiment began ({}): its pairs cannot be mixed; "
                    "`steady rerun {}` starts anew",
                    fmt::join(differing, ", "), lease.id)};
}

Worker::Worker(WorkerOptions options)
    : options_(std::move(options)), worker_(random_uuid()), store_(connection_options()) {
    if (options_.host.empty()) options_.host = host_name();
    if (options_.spool_dir.empty()) options_.spool_dir = state_dir() + "/spool";
}

ConnectionOptions Worker::connection_options() const {
    ConnectionOptions options;
    options.url = options_.url;
    options.role = DatabaseRole::worker;
    options.client = worker_;
    options.patience_s = options_.times.fence_s;
    options.synchronous_commit = options_.synchronous_commit;
    return options;
}

void Worker::say(const std::string& line) const {
    if (options_.message) options_.message(line);
}

bool Worker::shutting_down() const {
    return options_.shutdown != nullptr && options_.shutdown->raised();
}

// Settles what a predecessor on this host left. The host lock is held.
void Worker::greet(const HostLock& lock) {
    host_ = store_.register_host(options_.host, options_.tags);
    failpoint("registered");
    service::report_host(store_.connection(), host_, disk_space(options_.spool_dir).free_bytes);
    if (const int n = replay_spools(options_.spool_dir, store_); n > 0) {
        say(fmt::format("{} measured pairs of an earlier worker were still accepted", n));
    }
    failpoint("replayed");
    failpoint("before_reclaim");
    if (const int n = store_.reclaim(host_, worker_, lock.predecessors()); n > 0) {
        say(fmt::format("took back {} job that an earlier worker on this host left", n));
    }
    failpoint("reclaimed");
    try {
        lock.set_holder(worker_);
    } catch (const Error& error) {
        throw HostTrouble{error.what()};
    }
}

void Worker::open_spool_folder() const {
    try {
        make_directories(options_.spool_dir);
    } catch (const Error& error) {
        throw HostTrouble{error.what()};
    }
}

// Another machine may carry this one's name: two made from one image do.
std::string Worker::shared_host() {
    const std::string other = service::running_on(store_.connection(), host_);
    if (other.empty()) return "";
    return fmt::format(
        "host {} runs {} under another worker whose lease stands, though nobody "
        "measures on this machine. If another machine has the same machine id (a "
        "cloned image), give this one a name of its own with STEADY_HOST_NAME",
        options_.host, other);
}

Worked Worker::work_one(const RunJob& run, std::optional<std::int64_t> only_job) {
    store_.connection().set_patience(options_.times.fence_s);
    refuse_newer_schema(store_.connection());
    store_.rescue();
    failpoint("rescued");
    const auto lock = HostLock::acquire(options_.host_lock_wait_s, options_.host_lock_path,
                                        options_.shutdown, options_.message);
    if (!lock && shutting_down()) {
        return {WorkEnd::released, "", "stopped while another benchmark ran on this machine"};
    }
    if (!lock) return {WorkEnd::host_busy, "", "another benchmark runs on this machine"};
    failpoint("locked");
    open_spool_folder();
    const std::string trouble = space_trouble(disk_space(options_.spool_dir), options_.spool_dir);
    if (!trouble.empty()) {
        return {WorkEnd::nothing, "", trouble};
    }
    greet(*lock);
    const double claimed_at_s = boottime_s();
    failpoint("before_claim");
    const auto lease = store_.claim(worker_, host_, options_.times.lease_s, only_job);
    if (!lease) return {WorkEnd::nothing, "", shared_host()};
    failpoint("claimed");
    return run_claimed(*lease, claimed_at_s, lock->fd(), run);
}

Worked Worker::run_claimed(const Lease& lease, double claimed_at_s, int lock_fd,
                           const RunJob& run) {
    StopSignal stop;
    LeaseKeeper keeper(connection_options(), lease, options_.times, claimed_at_s, stop,
                       options_.shutdown);
    try {
        Spool spool(options_.spool_dir, lease);
        failpoint("spool_opened");
        Job job;
        job.record = store_.load_record(lease.id);
        failpoint("loaded");
        LeasedSink sink(store_, lease, job.record, keeper, spool);
        job.store = &store_;
        job.lease = lease;
        job.sink = &sink;
        job.stop = &stop;
        job.should_stop = [&] { return stop.raised(); };
        job.host_lock_fd = lock_fd;
        job.host = options_.host;
        const JobResult result = run(job);
        failpoint("ran");
        if (keeper.lost()) throw LeaseLost{lease_note()};
        store_.connection().set_patience(keeper.seconds_left());
        if (result.how == JobResult::How::stopped || keeper.cancelled()) {
            const Worked ended = end_without_verdict(lease, keeper);
            spool.remove();
            return ended;
        }
        failpoint("before_finish");
        store_.finish(lease, result.verdict, result.reason, result.analysis_json, result.sentence);
        failpoint("finished");
        spool.remove();
        failpoint("spool_removed");
        return {WorkEnd::decided, lease.id, ""};
    } catch (const Error& error) {
        return end_with_error(lease, keeper, error);
    } catch (const std::exception& error) {
        // The job's fault or a library's: the worker lives on.
        return end_with_error(lease, keeper, Error{error.what(), kExitInternal});
    }
}

std::string Worker::overdue_note(const Lease& lease) const {
    return fmt::format(
        "ran longer than the {:g} hours that one attempt may take (worker --max-hours); `steady "
        "requeue {}` goes on from its sealed pairs",
        options_.times.most_s / 3600, lease.id);
}

std::string Worker::lease_note() const {
    return fmt::format(
        "the lease was lost while measuring: it was not renewed within {:g} s (the process was "
        "stopped, the machine slept, or the database was out of reach), or the job was taken from "
        "this worker. Every stored pair is kept, and the next attempt goes on from there",
        options_.times.fence_s);
}

// Cancelled, shut down, or over its time: what is sealed stays.
Worked Worker::end_without_verdict(const Lease& lease, const LeaseKeeper& keeper) {
    if (keeper.cancelled()) {
        store_.stop(lease, "cancelled", "cancelled while running");
        return {WorkEnd::cancelled, lease.id, ""};
    }
    if (keeper.overdue()) {
        const std::string note = overdue_note(lease);
        store_.stop(lease, "failed", note);
        return {WorkEnd::failed, lease.id, note};
    }
    store_.stop(lease, "released", "the worker was shut down");
    return {WorkEnd::released, lease.id, ""};
}

// LeaseLost and a database that stayed away leave everything to the rescue; the spool stays too.
Worked Worker::end_with_error(const Lease& lease, const LeaseKeeper& keeper, const Error& error) {
    std::string note = safe_line(error.what());
    if (dynamic_cast<const LeaseLost*>(&error) != nullptr || keeper.lost()) note = lease_note();
    const bool strained = dynamic_cast<const DatabaseStrained*>(&error) != nullptr ||
                          dynamic_cast<const HostTrouble*>(&error) != nullptr;
    if (keeper.lost() || dynamic_cast<const LeaseLost*>(&error) != nullptr ||
        (!strained && dynamic_cast<const DatabaseGone*>(&error) != nullptr)) {
        return {WorkEnd::lease_lost, lease.id, note};
    }
    std::string how = "crashed";  // tried again, at most five times without progress
    if (keeper.cancelled() || dynamic_cast<const JobCancelled*>(&error) != nullptr) {
        how = "cancelled";
    } else if (strained) {
        how = "postponed";
    } else if (keeper.overdue() && error.exit_code == kExitInterrupted) {
        how = "failed";
        note = overdue_note(lease);
    } else if (error.exit_code == kExitUsage) {
        how = "failed";  // wrong here and now, and so again
    } else if (error.exit_code == kExitInterrupted || shutting_down()) {
        how = "released";
    }
    try {
        store_.connection().set_patience(keeper.seconds_left());
        failpoint("before_stop");
        const std::string state = store_.stop(lease, how, note);
        failpoint("stopped");
        if (state == "cancelled") return {WorkEnd::cancelled, lease.id, note};
        if (state == "failed") return {WorkEnd::failed, lease.id, note};
        if (how == "postponed") return {WorkEnd::postponed, lease.id, note};
        return {how == "released" ? WorkEnd::released : WorkEnd::requeued, lease.id, note};
    } catch (const Error& second) {
        return {WorkEnd::lease_lost, lease.id, fmt::format("{} ({})", note, second.what())};
    }
}

// Says how it ended and calls decided. False: the next job may be looked for at once.
bool Worker::pause_after(const Worked& worked, const Decided& decided) {
    if (!worked.note.empty() && worked.note != said_) {
        say(worked.id.empty() ? worked.note : fmt::format("{}: {}", worked.id, worked.note));
    }
    said_ = worked.id.empty() ? worked.note : "";  // a trouble that lasts is said once
    if (worked.end == WorkEnd::decided && decided) {
        try {
            decided(store_, worked.id);
        } catch (const std::exception& error) {
            say(fmt::format(
                "{}: the verdict is stored, its entry could not be written: {}; `steady "
                "journal --write` writes what is missing",
                worked.id, safe_line(error.what())));
        }
    }
    return worked.end == WorkEnd::nothing || worked.end == WorkEnd::host_busy ||
           worked.end == WorkEnd::postponed;
}

void Worker::work(const RunJob& run, const Decided& decided) {
    while (!shutting_down()) {
        try {
            const Worked worked = work_one(run);
            if (!pause_after(worked, decided)) continue;
            if (options_.once && worked.end != WorkEnd::postponed) return;
            if (options_.idle) options_.idle();
        } catch (const DatabaseGone& gone) {
            if (options_.once) throw;
            say(gone.what());
        } catch (const HostTrouble& trouble) {
            if (options_.once) throw;
            say(trouble.what());
        }
        pollfd entry{options_.shutdown != nullptr ? options_.shutdown->fd() : -1, POLLIN, 0};
        ::poll(&entry, 1, static_cast<int>(options_.poll_s * 1000));
    }
}

}  // namespace steady
