// Keeps the lease of a claimed job. A thread renews it over a connection of its own. When no
// renewal has succeeded for fence_s, counted from the *start* of the last good one, the running
// child is killed before another worker can claim the job. The fence has a thread of its own, since
// a renewal may hang in a network that drops packets.
#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "runner/platform/process.h"
#include "runner/storage/store.h"

namespace steady {

struct LeaseTimes {
    double lease_s = 30, renew_s = 5, fence_s = 20;
    double most_s = 0;  // an attempt that takes longer is ended; 0: it may take for ever
};

class LeaseKeeper {
public:
    // stop is raised when the job is to end: cancelled, lost, fenced by ourselves, overdue, or
    // because shutdown (may be null) was raised.
    LeaseKeeper(const ConnectionOptions& options, Lease lease, LeaseTimes times,
                double claimed_at_s, StopSignal& stop, const StopSignal* shutdown);
    ~LeaseKeeper();
    LeaseKeeper(const LeaseKeeper&) = delete;
    LeaseKeeper& operator=(const LeaseKeeper&) = delete;

    bool cancelled() const { return cancelled_; }
    bool lost() const { return lost_; }
    bool overdue() const { return overdue_; }  // ended because it took longer than most_s
    double seconds_left() const;               // until we must stop writing

private:
    void renew_until_done();
    void renew_once(Store& store);
    void watch_fence();

    ConnectionOptions options_;
    Lease lease_;
    LeaseTimes times_;
    StopSignal& stop_;
    std::atomic<double> last_good_s_;
    const double claimed_at_s_;
    const StopSignal* shutdown_;
    StopSignal done_;
    std::atomic<bool> cancelled_{false}, lost_{false}, overdue_{false};
    std::thread renewer_, fence_;
};

}  // namespace steady
