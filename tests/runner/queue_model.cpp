// See queue_model.h.
#include "tests/runner/queue_model.h"

#include <fmt/format.h>

#include <algorithm>

namespace steady::queue_model {
namespace {

const Answer kLost{"ST001", ""};

PairRow* find(JobRow& job, int number, int attempt) {
    for (PairRow& pair : job.pairs) {
        if (pair.number == number && pair.attempt == attempt) return &pair;
    }
    return nullptr;
}

}  // namespace

void Queue::submit(std::int64_t job, int priority, int n_pairs) {
    JobRow row;
    row.priority = priority;
    row.queued_at = now;
    row.run_after = now;
    for (int i = 0; i < n_pairs; ++i) row.pairs.push_back({.number = i});
    jobs[job] = row;
}

bool Queue::held(const JobRow& job, const std::string& worker, std::int64_t epoch) const {
    return job.state == "running" && job.worker == worker && job.epoch == epoch &&
           job.lease_until > now;
}

std::string Queue::end(JobRow& job, const std::string& how, double back_off_s) {
    if (how == "crashed" || how == "lease lost") ++job.crashes;
    job.state = job.cancel || how == "cancelled"                    ? "cancelled"
                : how == "failed" || job.crashes >= job.max_crashes ? "failed"
                                                                    : "queued";
    job.worker.clear();
    job.host = 0;
    job.run_after = now + back_off_s;
    const bool measured = std::any_of(job.pairs.begin(), job.pairs.end(),
                                      [](const PairRow& pair) { return pair.epoch != 0; });
    if (!measured) job.pin = 0;
    return job.state;
}

Answer Queue::claim(const std::string& worker, int host, double ttl_s) {
    for (const auto& [id, job] : jobs) {
        if (job.state == "running" && job.worker == worker && job.lease_until > now) {
            return {"", fmt::format("{} {}", id, job.epoch)};
        }
    }
    JobRow* best = nullptr;
    std::int64_t best_id = 0;
    const auto rank = [&](const JobRow& job) {
        return job.priority + (now - job.queued_at) / 1800;
    };
    for (auto& [id, job] : jobs) {
        if (job.state == "running" && job.host == host) return {};
        if (job.state != "queued" || job.run_after > now) continue;
        if (job.pin != 0 && job.pin != host) continue;
        if (best == nullptr || rank(job) > rank(*best)) {
            best = &job;
            best_id = id;
        }
    }
    if (best == nullptr) return {};
    best->state = "running";
    ++best->epoch;
    best->worker = worker;
    best->host = best->pin = host;
    best->lease_until = now + ttl_s;
    best->attempts[best->epoch] = worker;
    return {"", fmt::format("{} {}", best_id, best->epoch)};
}

Answer Queue::renew(std::int64_t id, const std::string& worker, std::int64_t epoch, double ttl_s) {
    JobRow& job = jobs.at(id);
    if (!held(job, worker, epoch)) return kLost;
    job.lease_until = now + ttl_s;
    return {"", job.cancel ? "t" : "f"};
}

Answer Queue::put_pair(std::int64_t id, const std::string& worker, std::int64_t epoch, int number,
                       int attempt, bool discard) {
    JobRow& job = jobs.at(id);
    if (!held(job, worker, epoch)) return kLost;
    PairRow* pair = find(job, number, attempt);
    if (pair->epoch != 0) {
        return pair->epoch == epoch && pair->discarded == discard ? Answer{} : Answer{"ST003", ""};
    }
    pair->samples[epoch] = true;
    pair->epoch = epoch;
    pair->discarded = discard;
    job.crashes = 0;
    if (discard && attempt < 2 && find(job, number, attempt + 1) == nullptr) {
        job.pairs.push_back({.number = number, .attempt = attempt + 1});
    }
    return {};
}

Answer Queue::finish(std::int64_t id, const std::string& worker, std::int64_t epoch) {
    JobRow& job = jobs.at(id);
    if (job.verdict_epoch == epoch && job.attempts.at(epoch) == worker) return {};
    if (!held(job, worker, epoch)) return kLost;
    if (job.cancel) return {"ST004", ""};
    for (const PairRow& open : job.pairs) {
        const bool other_try =
            std::any_of(job.pairs.begin(), job.pairs.end(), [&](const PairRow& p) {
                return p.number == open.number && p.epoch != 0 && !p.discarded;
            });
        if (open.epoch != 0 || other_try) continue;
        for (const PairRow& later : job.pairs) {
            if (later.number > open.number && later.epoch != 0) return {"ST005", ""};
        }
    }
    job.verdict_epoch = epoch;
    job.state = "done";
    job.worker.clear();
    job.host = 0;
    return {};
}

Answer Queue::stop(std::int64_t id, const std::string& worker, std::int64_t epoch,
                   const std::string& how) {
    JobRow& job = jobs.at(id);
    if (!held(job, worker, epoch)) return kLost;
    return {"", end(job, how, how == "crashed" ? 2 << job.crashes : how == "postponed" ? 60 : 0)};
}

Answer Queue::rescue() {
    int n = 0;
    for (auto& [id, job] : jobs) {
        if (job.state != "running" || job.lease_until > now) continue;
        end(job, "lease lost", 2 << job.crashes);
        ++n;
    }
    return {"", std::to_string(n)};
}

Answer Queue::reclaim(int host, const std::string& worker, const std::string& predecessor) {
    int n = 0;
    for (auto& [id, job] : jobs) {
        if (job.state != "running" || job.host != host || job.worker == worker) continue;
        if (job.worker != predecessor && job.lease_until > now) continue;
        end(job, "crashed", (1 << job.crashes) - 1);
        ++n;
    }
    return {"", std::to_string(n)};
}

Answer Queue::cancel(std::int64_t id) {
    JobRow& job = jobs.at(id);
    if (job.state == "queued" || job.state == "running") job.cancel = true;
    if (job.state == "queued") job.state = "cancelled";
    return {"", job.state};
}

Answer Queue::requeue(std::int64_t id) {
    JobRow& job = jobs.at(id);
    if (job.state == "failed" || job.state == "cancelled") {
        job.state = "queued";
        job.cancel = false;
        job.crashes = 0;
        job.run_after = job.queued_at = now;
    }
    return {"", job.state};
}

Answer Queue::set_priority(std::int64_t id, int priority) {
    JobRow& job = jobs.at(id);
    if (job.state != "queued") return {"ST005", ""};
    job.priority = priority;
    return {"", std::to_string(priority)};
}

Answer Queue::unpin(std::int64_t id) {
    JobRow& job = jobs.at(id);
    if (job.state == "running" || job.state == "done") return {"ST005", ""};
    int n = 0;
    for (PairRow& pair : job.pairs) {
        if (pair.epoch == 0) continue;
        n += pair.discarded ? 0 : 1;
        pair.epoch = 0;
        pair.discarded = false;
    }
    job.pin = 0;
    return {"", std::to_string(n)};
}

}  // namespace steady::queue_model
