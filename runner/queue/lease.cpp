// The fence uses the boot clock, which runs on while the machine is suspended: after a nap of an
// hour the first thing a worker does is notice that its lease is gone.
#include "runner/queue/lease.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "runner/edges/clock.h"
#include "runner/edges/failpoint.h"

namespace steady {

LeaseKeeper::LeaseKeeper(const ConnectionOptions& options, Lease lease, LeaseTimes times,
                         double claimed_at_s, StopSignal& stop, const StopSignal* shutdown)
    : options_(options),
      lease_(std::move(lease)),
      times_(times),
      stop_(stop),
      last_good_s_(claimed_at_s),
      shutdown_(shutdown),
      thread_([this] { run(); }) {}

LeaseKeeper::~LeaseKeeper() {
    done_.raise();
    thread_.join();
}

double LeaseKeeper::seconds_left() const {
    return lost_ ? 0 : std::max(0.0, last_good_s_ + times_.fence_s - boottime_s());
}

void LeaseKeeper::renew_once(Store& store) {
    const double began = boottime_s();
    try {
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

// Sleeps; passes a shutdown on. False when the keeper itself is to end.
bool LeaseKeeper::pause(double seconds) {
    std::array<pollfd, 2> entries{
        {{done_.fd(), POLLIN, 0}, {shutdown_ != nullptr ? shutdown_->fd() : -1, POLLIN, 0}}};
    ::poll(entries.data(), entries.size(), static_cast<int>(std::ceil(seconds * 1000)));
    if (entries[0].revents != 0) return false;
    if (entries[1].revents != 0) {
        stop_.raise();
        shutdown_ = nullptr;  // once is enough; the lease is still kept
    }
    return true;
}

void LeaseKeeper::run() {
    ConnectionOptions options = options_;
    options.patience_s = 0;
    options.statement_timeout_ms = static_cast<int>(times_.renew_s * 1000);
    Store store(options);
    double next_s = boottime_s() + times_.renew_s;
    while (pause(std::clamp(next_s - boottime_s(), 0.001, times_.renew_s))) {
        if (seconds_left() > 0 && boottime_s() >= next_s) {
            const bool was_good = seconds_left() > times_.fence_s - 2 * times_.renew_s;
            renew_once(store);
            next_s = boottime_s() + (was_good ? times_.renew_s : times_.renew_s / 4);
        }
        if (seconds_left() <= 0) {
            lost_ = true;
            stop_.raise();
            return;
        }
    }
}

}  // namespace steady
