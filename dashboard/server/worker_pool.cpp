// Threads that wait for the database. A Source that failed is discarded and built anew.
#include "dashboard/server/worker_pool.h"

#include <algorithm>
#include <chrono>

namespace steady::web {
namespace {

std::int64_t now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

}  // namespace

WorkerPool::WorkerPool(int n_threads, std::size_t max_waiting, MakeSource make_source)
    : make_source_(std::move(make_source)), max_waiting_(max_waiting) {
    for (int i = 0; i < n_threads; ++i) threads_.emplace_back([this] { work(); });
}

WorkerPool::~WorkerPool() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        jobs_.clear();
    }
    wake_.notify_all();
}

bool WorkerPool::submit(Job job) {
    {
        const std::lock_guard lock(mutex_);
        if (stopping_ || jobs_.size() >= max_waiting_) return false;
        jobs_.push_back(std::move(job));
    }
    wake_.notify_one();
    return true;
}

std::size_t WorkerPool::waiting() const {
    const std::lock_guard lock(mutex_);
    return jobs_.size();
}

// Requests during the pause are answered "unavailable" at once instead of piling up.
bool WorkerPool::connect(std::unique_ptr<Source>& source) {
    if (source) return true;
    if (now_ns() < retry_at_ns_) return false;
    try {
        source = make_source_();
    } catch (const std::exception&) {
        source.reset();
    }
    database_up_ = source != nullptr;
    if (source) {
        pause_ms_ = 50;
        retry_at_ns_ = 0;
        return true;
    }
    retry_at_ns_ = now_ns() + std::int64_t{pause_ms_} * 1'000'000;
    pause_ms_ = std::min(2000, pause_ms_ * 2);
    return false;
}

void WorkerPool::work() {
    std::unique_ptr<Source> source;
    connect(source);
    for (;;) {
        Job job;
        {
            std::unique_lock lock(mutex_);
            wake_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
            if (stopping_) return;
            job = std::move(jobs_.front());
            jobs_.pop_front();
        }
        // A connection that died while idle shows itself on first use: one more try, then give up.
        for (int attempt = 0; attempt < 2; ++attempt) {
            try {
                job(connect(source) ? source.get() : nullptr);
                break;
            } catch (const SourceUnavailable&) {
                source.reset();
                database_up_ = false;
                retry_at_ns_ = 0;
                if (attempt == 1) job(nullptr);
            }
        }
    }
}

}  // namespace steady::web
