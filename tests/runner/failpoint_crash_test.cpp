// Deterministic crashes: every named place of the queue's code dies four times, as by kill -9, and
// a fresh worker must end the job with one verdict and every value in place. Built with
// STEADY_FAILPOINTS; the test itself never passes a failpoint, its forks do.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runner/platform/files.h"
#include "runner/queue/submit.h"
#include "runner/queue/worker.h"
#include "runner/record/record_json.h"
#include "tests/support/throwaway_database.h"

namespace steady {
namespace {

constexpr int kDied = 137;

const std::vector<std::string> kPoints{"submitting",
                                       "submitted",
                                       "rescued",
                                       "locked",
                                       "registered",
                                       "replayed",
                                       "before_reclaim",
                                       "reclaimed",
                                       "before_claim",
                                       "claimed",
                                       "spool_opened",
                                       "loaded",
                                       "before_fingerprint",
                                       "fingerprint_stored",
                                       "before_evidence",
                                       "evidence_stored",
                                       "measured",
                                       "spooling",
                                       "spooled",
                                       "before_put_pair",
                                       "pair_stored",
                                       "marked",
                                       "renewing",
                                       "renewed",
                                       "ran",
                                       "before_finish",
                                       "finished",
                                       "spool_removed",
                                       "before_stop",
                                       "stopped"};

class FailpointTest : public ::testing::Test {
protected:
    ~FailpointTest() override {
        std::error_code error;
        std::filesystem::remove_all(folder_, error);
    }

    // One worker's life in a fork: submits, works one job. The exit code.
    int live(const std::string& spec_id, const std::string& fail) {
        const pid_t pid = ::fork();
        if (pid == 0) {
            ::setenv("STEADY_FAIL", fail.c_str(), 1);
            try {
                work(spec_id, fail);
            } catch (const std::exception& error) {
                fmt::print(stderr, "{}: {}\n", fail, error.what());
                ::_exit(1);
            }
            ::_exit(0);
        }
        int status = 0;
        ::waitpid(pid, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

    void work(const std::string& spec_id, const std::string& fail) const {
        const bool give_up_once = fail.find("stop") != std::string::npos;
        WorkerOptions options;
        options.url = database_.url();
        options.times = {.lease_s = 10, .renew_s = 0.02, .fence_s = 8};
        options.host = "failinghost0";
        options.host_lock_path = folder_ + "/lock";
        options.spool_dir = folder_ + "/spool";
        options.host_lock_wait_s = 5;
        Worker worker(options);
        Store person({.url = database_.url(), .role = DatabaseRole::owner, .client = "person"});
        submit_experiment(person, example_spec(spec_id));
        worker.work_one([&](Job& job) -> JobResult {
            job.put_fingerprint({{"kernel", "1"}});
            job.sink->put_correctness(protocol::CorrectnessReply{});
            for (const auto& pair : job.store->load_pairs(job.lease.job)) {
                if (pair.sealed) continue;
                job.sink->put_pair(measured(pair));
                ::usleep(8000);  // so that renewals happen in between
                if (give_up_once) throw Error{"the engine went away", kExitInternal};
            }
            // However slow the machine is, it renews before it ends.
            if (fail.starts_with("renew")) ::sleep(30);
            return {.how = JobResult::How::decided,
                    .verdict = "accept",
                    .analysis_json = nlohmann::json(Analysis{}).dump(),
                    .sentence = "Yes."};
        });
    }

    void hurry() const {  // the back-off after a crash is not what is tested
        pqxx::connection connection(database_.url());
        pqxx::work work(connection);
        work.exec("update steady.job set run_after = clock_timestamp() where state = 'queued'");
        work.commit();
    }

    void expect_whole(const std::string& spec_id) {
        for (int i = 0; i < 10; ++i) {
            hurry();
            EXPECT_EQ(live(spec_id, ""), 0);
            pqxx::connection connection(database_.url());
            pqxx::work work(connection);
            const auto row = work.exec_params1(
                "select j.state, (select count(*) from steady.verdict v where v.job_id = "
                "j.job_id), "
                "(select count(*) from steady.official_value o where o.job_id = j.job_id), "
                "(select count(*) from steady.pair p where p.job_id = j.job_id and p.epoch is "
                "null) "
                "from steady.job j join steady.experiment e using (exp_id) where e.spec_id = $1",
                spec_id);
            if (std::string(row[0].c_str()) != "done") continue;
            EXPECT_EQ(row[1].as<int>(), 1);
            EXPECT_EQ(row[2].as<int>(), 12 * 2 * (4 + 1)) << "12 pairs, 2 arms, 4 + 1 values";
            EXPECT_EQ(row[3].as<int>(), 0);
            return;
        }
        ADD_FAILURE() << spec_id << " did not end";
    }

    ThrowawayDatabase database_;
    std::string folder_ = [] {
        const std::string path = scratch_dir() + "/steady-fail-" + random_hex(6);
        make_directories(path);
        return path;
    }();
};

TEST_F(FailpointTest, EveryNamedPlaceDiesFourTimesAndNothingIsLost) {
    int n_crashes = 0;
    for (std::size_t i = 0; i < kPoints.size(); ++i) {
        SCOPED_TRACE(kPoints[i]);
        const auto id = [&](char part) { return fmt::format("fail-{:02}-{}", i, part); };
        const std::string first = kPoints[i] + ":1", second = kPoints[i] + ":2";
        // once; at its second passage where it has one; twice in a row
        EXPECT_EQ(live(id('a'), first), kDied);
        expect_whole(id('a'));
        const bool again = live(id('b'), second) == kDied;
        EXPECT_TRUE(again || live(id('c'), first) == kDied);
        expect_whole(id('b'));
        EXPECT_EQ(live(id('d'), first), kDied);
        hurry();  // dies again, unless the job was over: then a new job does
        EXPECT_TRUE(live(id('d'), first) == kDied || live(id('e'), first) == kDied);
        expect_whole(id('d'));
        n_crashes += 4;
    }
    fmt::print("{} places, {} crashes\n", kPoints.size(), n_crashes);
    EXPECT_GE(kPoints.size(), 25U);
}

}  // namespace
}  // namespace steady
