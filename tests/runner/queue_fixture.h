// One worker against a real database and a folder of its own: what every test of the queue's worker
// needs.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "runner/queue/submit.h"
#include "runner/queue/worker.h"
#include "runner/record/record_json.h"
#include "runner/storage/pqxx.h"
#include "tests/support/throwaway_database.h"

namespace steady {

class QueueTest : public ::testing::Test {
protected:
    QueueTest() { std::filesystem::create_directories(folder_); }
    ~QueueTest() override {
        std::error_code error;
        std::filesystem::remove_all(folder_, error);
    }

    WorkerOptions options() {
        WorkerOptions options;
        options.url = database_.url();
        options.times = {.lease_s = 2, .renew_s = 0.2, .fence_s = 1.2};
        options.poll_s = 0.05;
        options.host = "testhost0000";
        options.host_lock_path = folder_ + "/lock";
        options.spool_dir = folder_ + "/spool";
        return options;
    }
    Submitted submit(const std::string& id = "example-spec") {
        return submit_experiment(store_, example_spec(id));
    }
    void sql(const std::string& text) {
        pqxx::connection connection(database_.url());
        pqxx::work work(connection);
        work.exec(text);
        work.commit();
    }

    // Measures what is open, at most n pairs, in the stored order.
    JobResult measure(Job& job, int n = 1000) {
        for (const auto& pair : job.store->load_pairs(job.lease.job)) {
            if (pair.sealed) continue;
            if (n-- == 0) break;
            if (job.should_stop()) return {.how = JobResult::How::stopped};
            job.sink->put_pair(measured(pair));
            ++measured_;
        }
        return {.how = JobResult::How::decided,
                .verdict = "accept",
                .reason = "",
                .analysis_json = nlohmann::json(Analysis{}).dump(),
                .sentence = "Yes."};
    }

    ThrowawayDatabase database_;
    std::string folder_ = scratch_dir() + "/steady-queue-" + random_hex(6);
    Store store_{
        {.url = database_.url(), .role = DatabaseRole::owner, .client = "test", .patience_s = 60}};
    int measured_ = 0;
};

}  // namespace steady
