// The order matters: host lock first (proof that nobody measures here), then leftovers of a
// predecessor, then the claim; at the end the verdict, and only then the lock is given back.
#include "runner/queue/worker.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/statvfs.h>

#include "runner/edges/clock.h"
#include "runner/edges/failpoint.h"
#include "runner/edges/host_lock.h"
#include "runner/pipeline/text.h"
#include "runner/queue/sink.h"

namespace steady {
namespace {

// A full disk stops PostgreSQL hard; stop taking work before that.
std::string disk_trouble(const std::string& directory) {
    struct statvfs info {};
    if (::statvfs(directory.c_str(), &info) != 0) return "";
    const double free_bytes =
        static_cast<double>(info.f_bavail) * static_cast<double>(info.f_frsize);
    const double share =
        static_cast<double>(info.f_bavail) / std::max(1.0, static_cast<double>(info.f_blocks));
    if (free_bytes > 1e9 || share > 0.05) return "";
    return fmt::format("only {:.0f} MB free in {}: no job is taken before that is more than 1 GB",
                       free_bytes / 1e6, directory);
}

}  // namespace

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
void Worker::greet() {
    host_ = store_.register_host(options_.host, options_.tags);
    failpoint("registered");
    if (const int n = replay_spools(options_.spool_dir, store_); n > 0) {
        say(fmt::format("{} measured pairs of an earlier worker were still accepted", n));
    }
    failpoint("replayed");
    failpoint("before_reclaim");
    if (const int n = store_.reclaim(host_, worker_); n > 0) {
        say(fmt::format("took back {} job that an earlier worker on this host left", n));
    }
    failpoint("reclaimed");
}

Worked Worker::work_one(const RunJob& run, std::optional<std::int64_t> only_job) {
    store_.connection().set_patience(options_.times.fence_s);
    store_.rescue();
    failpoint("rescued");
    const auto lock = HostLock::acquire(options_.host_lock_wait_s, options_.host_lock_path);
    if (!lock) return {WorkEnd::host_busy, "", "another benchmark runs on this machine"};
    failpoint("locked");
    make_directories(options_.spool_dir);
    if (const auto trouble = disk_trouble(options_.spool_dir); !trouble.empty()) {
        return {WorkEnd::nothing, "", trouble};
    }
    greet();
    const double claimed_at_s = boottime_s();
    failpoint("before_claim");
    const auto lease = store_.claim(worker_, host_, options_.times.lease_s, only_job);
    if (!lease) return {};
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
        if (keeper.lost()) throw LeaseLost{"the lease was lost while measuring"};
        store_.connection().set_patience(keeper.seconds_left());
        if (result.how == JobResult::How::stopped || keeper.cancelled()) {
            const bool by_person = keeper.cancelled();
            store_.stop(lease, by_person ? "cancelled" : "released",
                        by_person ? "cancelled while running" : "the worker was shut down");
            spool.remove();
            return {by_person ? WorkEnd::cancelled : WorkEnd::released, lease.id, ""};
        }
        failpoint("before_finish");
        store_.finish(lease, result.verdict, result.reason, result.analysis_json, result.sentence);
        failpoint("finished");
        spool.remove();
        failpoint("spool_removed");
        return {WorkEnd::decided, lease.id, ""};
    } catch (const Error& error) {
        return end_with_error(lease, keeper, error);
    }
}

// LeaseLost and a database that stayed away leave everything to the rescue; the spool stays too.
Worked Worker::end_with_error(const Lease& lease, const LeaseKeeper& keeper, const Error& error) {
    const std::string note = escape_line(redact(error.what()));
    if (keeper.lost() || dynamic_cast<const LeaseLost*>(&error) != nullptr ||
        dynamic_cast<const DatabaseGone*>(&error) != nullptr) {
        return {WorkEnd::lease_lost, lease.id, note};
    }
    std::string how = "crashed";  // tried again, at most five times without progress
    if (keeper.cancelled() || dynamic_cast<const JobCancelled*>(&error) != nullptr) {
        how = "cancelled";
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
        return {how == "released" ? WorkEnd::released : WorkEnd::requeued, lease.id, note};
    } catch (const Error& second) {
        return {WorkEnd::lease_lost, lease.id, fmt::format("{} ({})", note, second.what())};
    }
}

void Worker::work(const RunJob& run,
                  const std::function<void(Store&, const std::string&)>& decided) {
    while (!shutting_down()) {
        try {
            const Worked worked = work_one(run);
            if (!worked.note.empty()) {
                say(worked.id.empty() ? worked.note
                                      : fmt::format("{}: {}", worked.id, worked.note));
            }
            if (worked.end == WorkEnd::decided && decided) decided(store_, worked.id);
            if (worked.end != WorkEnd::nothing && worked.end != WorkEnd::host_busy) continue;
            if (options_.once) return;
            if (options_.idle) options_.idle();
        } catch (const DatabaseGone& gone) {
            if (options_.once) throw;
            say(gone.what());
        }
        pollfd entry{options_.shutdown != nullptr ? options_.shutdown->fd() : -1, POLLIN, 0};
        ::poll(&entry, 1, static_cast<int>(options_.poll_s * 1000));
    }
}

}  // namespace steady
