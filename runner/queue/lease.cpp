// The fence uses the boot clock, which continues while the machine is suspended: after a suspension
// the worker notices first that its lease has expired.
#include "runner/queue/lease.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "runner/platform/clock.h"
#include "runner/platform/failpoint.h"

namespace steady {
namespace {

// Sleeps until `done` is raised (true), or `other` is, or the time is over (false).
bool was_raised(const StopSignal& done, const StopSignal* other, double seconds) {
    std::array<pollfd, 2> entries{
        {{done.fd(), POLLIN, 0}, {other != nullptr ? other->fd() : -1, POLLIN, 0}}};
    ::poll(entries.data(), entries.size(), static_cast<int>(std::ceil(seconds * 1000)));
    return entries[0].revents != 0;
}

}  // namespace

LeaseKeeper::LeaseKeeper(const ConnectionOptions& options, Lease lease, LeaseTimes times,
                         double claimed_at_s, StopSignal& stop, const StopSignal* shutdown)
    : options_(options),
      lease_(std::move(lease)),
      times_(times),
      stop_(stop),
      last_good_s_(claimed_at_s),
      claimed_at_s_(claimed_at_s),
      shutdown_(shutdown),
      renewer_([this] { renew_until_done(); }),
      fence_([this] { watch_fence(); }) {}

LeaseKeeper::~LeaseKeeper() {
    done_.raise();
    renewer_.join();
    fence_.join();
}

double LeaseKeeper::seconds_left() const {
    return lost_ ? 0 : std::max(0.0, last_good_s_ + times_.fence_s - boottime_s());
}

void LeaseKeeper::renew_once(Store& store) {
    const double began = boottime_s();
    try {
        failpoint("renewing");
        const bool please_stop = store.renew(lease_, times_.lease_s);
        failpoint("renewed");
        last_good_s_ = began;
        if (please_stop && !cancelled_.exchange(true)) stop_.raise();
    } catch (const LeaseLost&) {
        lost_ = true;
    } catch (const Error&) {
        store.connection().drop();  // away: the fence decides how long we may hope
    }
}

void LeaseKeeper::watch_fence() {
    const StopSignal* shutdown = shutdown_;
    for (;;) {
        const double left = seconds_left();
        if (left <= 0) {
            lost_ = true;
            stop_.raise();
            return;
        }
        const bool capped = times_.most_s > 0 && !overdue_;
        const double allowed =
            capped ? std::max(0.0, claimed_at_s_ + times_.most_s - boottime_s()) : left;
        if (was_raised(done_, shutdown, std::min(left, allowed))) return;
        if (capped && boottime_s() >= claimed_at_s_ + times_.most_s) {
            overdue_ = true;
            stop_.raise();  // the lease is kept until the end is stored
        }
        if (shutdown != nullptr && shutdown->raised()) {
            stop_.raise();
            shutdown = nullptr;  // once is enough; the lease is still kept
        }
    }
}

void LeaseKeeper::renew_until_done() {
    ConnectionOptions options = options_;
    options.patience_s = 0;
    // Two tries fit before the fence.
    options.statement_timeout_ms = static_cast<int>(times_.fence_s / 2 * 1000);
    Store store(options);
    double pause_s = times_.renew_s;
    while (!was_raised(done_, nullptr, pause_s) && !lost_) {
        const double before = last_good_s_;
        renew_once(store);
        pause_s = last_good_s_ > before ? times_.renew_s : times_.renew_s / 4;
    }
}

}  // namespace steady
