// A few threads that may wait for the database, so that the network thread never does. Each owns a
// Source of its own; when the database goes away the source is dropped and built anew, with pauses
// that grow from 50 ms to 2 s.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "dashboard/server/source.h"

namespace steady::web {

class WorkerPool {
public:
    // A job gets the worker's source; it must not throw anything but SourceUnavailable. It is
    // called with nullptr when the database could not be reached.
    using Job = std::function<void(Source*)>;

    WorkerPool(int n_threads, std::size_t max_waiting, MakeSource make_source);
    ~WorkerPool();  // jobs that wait are dropped
    WorkerPool(const WorkerPool&) = delete;
    WorkerPool& operator=(const WorkerPool&) = delete;

    bool submit(Job job);  // false: too many wait
    std::size_t waiting() const;
    bool database_up() const { return database_up_; }

private:
    void work();
    bool connect(std::unique_ptr<Source>& source);

    MakeSource make_source_;
    std::size_t max_waiting_;
    mutable std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<Job> jobs_;
    bool stopping_ = false;
    std::atomic<bool> database_up_{false};
    std::atomic<std::int64_t> retry_at_ns_{0};
    std::atomic<int> pause_ms_{50};
    std::vector<std::jthread> threads_;
};

}  // namespace steady::web
