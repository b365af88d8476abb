// Four workers on two hosts that do anything at any time: they go on long after their lease, repeat
// calls whose answers they did not see, restart under new names, never look at a clock. The
// database is the real one; time passes by moving its instants back. Every answer must be the
// model's, and so must every row whenever they are compared. The seed is printed;
// STEADY_SIMULATION_SEED runs one seed, STEADY_SIMULATION_STEPS=100000 is the long version.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "runner/base/sha256.h"
#include "runner/platform/files.h"
#include "runner/storage/pqxx.h"
#include "tests/runner/queue_model.h"
#include "tests/support/throwaway_database.h"

namespace steady {
namespace {

using queue_model::Answer;
using queue_model::JobRow;
using queue_model::Queue;

constexpr int kWorkers = 4, kHosts = 2, kPairs = 4;
// No sum of ticks comes near the end of a lease; both are far above the real time that passes.
constexpr double kLease_s = 35000, kTick_s = 10000;

struct Belief {  // what a worker thinks it holds
    std::int64_t job = 0, epoch = 0;
    std::string worker;
};

class Simulation {
public:
    Simulation(const std::string& url, std::uint64_t seed)
        : connection_(url), work_(connection_), random_(seed), seed_(seed) {
        work_.exec("set synchronous_commit = off");
        for (int i = 0; i < kHosts; ++i) {
            hosts_.push_back(work_
                                 .exec_params1("select steady.register_host($1, '{}')",
                                               fmt::format("simulated-{}-{}", seed, i))[0]
                                 .as<std::int64_t>());
        }
        for (int i = 0; i < kWorkers; ++i) believes_.push_back({0, 0, random_uuid()});
    }

    void run(int n_steps) {
        for (int i = 0; i < n_steps && !::testing::Test::HasFailure(); ++i) {
            step();
            if (i % 400 == 399 || i + 1 == n_steps) compare_rows();
        }
        if (::testing::Test::HasFailure()) {
            fmt::print("seed {} fails after {} steps; the last were:\n", seed_, n_steps_);
            for (const auto& line : trail_) fmt::print("  {}\n", line);
        }
    }

    int steps() const { return n_steps_; }
    int refused() const { return n_refused_; }
    int verdicts() const { return n_verdicts_; }

private:
    int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }

    template <typename... Parameters>
    Answer ask(const char* query, const Parameters&... parameters) {
        try {
            const auto found = work_.exec_params(query, parameters...);
            if (found.empty() || found[0][0].is_null()) return {};
            return {"", found[0][0].c_str()};
        } catch (const pqxx::sql_error& error) {
            return {error.sqlstate(), error.what()};
        }
    }

    // answer: of the database; sometimes asked a second time, as after a lost reply.
    void expect(const std::string& what, Answer real, const Answer& model) {
        if (!real.state.empty()) {
            ++n_refused_;
            if (real.state == model.state) real.value = model.value;
        }
        trail_.push_back(fmt::format("{} → {} {}", what, real.state, real.value));
        if (trail_.size() > 30) trail_.erase(trail_.begin());
        EXPECT_EQ(real.state, model.state) << what << " " << real.value;
        EXPECT_EQ(real.value, model.value) << what;
    }

    template <typename Real, typename Model>
    void both(const std::string& what, Real real, Model model) {
        const int times = below(10) == 0 ? 2 : 1;  // the first reply was dropped
        for (int i = 0; i < times; ++i) expect(what, real(), model());
    }

    std::int64_t any_job() {
        if (queue_.jobs.empty()) return 0;
        auto it = queue_.jobs.begin();
        std::advance(it, below(static_cast<int>(queue_.jobs.size())));
        return it->first;
    }

    void submit() {
        int n_open = 0;
        for (const auto& [id, job] : queue_.jobs) n_open += job.state == "done" ? 0 : 1;
        if (n_open >= 8) return;
        const std::string text = fmt::format("{{\"n\":{}}}", n_submitted_++);
        const std::string sha = sha256_hex(fmt::format("{} {}", seed_, text));
        const int priority = below(3) - 1;
        const char* query =
            "select o_job from steady.submit($4, decode($1, 'hex'), decode($1, 'hex'), $2, 1, "
            "false, $3, '{}', '{0,0,0,0}', '{measure,measure,measure,measure}', '{0,1,2,3}', "
            "'{1,0,1,0}')";
        const std::string id = fmt::format("simulated-{}", n_submitted_);
        const Answer first = ask(query, sha, text, priority, id);
        ASSERT_EQ(first.state, "") << first.value;
        EXPECT_EQ(ask(query, sha, text, priority, id), first) << "twice is once";
        queue_.submit(std::stoll(first.value), priority, kPairs);
    }

    // Done jobs are forgotten after a while, their rows stay.
    void forget() {
        if (queue_.jobs.size() < 24) return;
        for (auto it = queue_.jobs.begin(); it != queue_.jobs.end(); ++it) {
            if (it->second.state != "done") continue;
            for (Belief& belief : believes_) {
                if (belief.job == it->first) belief.job = 0;
            }
            queue_.jobs.erase(it);
            return;
        }
    }

    void pass_time() {
        const int ticks = 1 + below(below(4) == 0 ? 6 : 1);
        const double s = ticks * kTick_s;
        work_.exec_params(
            "update steady.job set lease_until = lease_until - make_interval(secs => $1), "
            "run_after = run_after - make_interval(secs => $1), "
            "queued_at = queued_at - make_interval(secs => $1) "
            "where state in ('queued', 'running')",
            s);
        queue_.now += s;
        trail_.push_back(fmt::format("{} s pass", s));
    }

    // Back-offs are seconds, real ones would end while we run: make them last until time passes.
    void hold_back_offs() {
        work_.exec(
            "update steady.job set run_after = clock_timestamp() + '5000 s' "
            "where state = 'queued' and run_after > clock_timestamp()");
    }

    void work_step(Belief& me, int host) {
        if (me.job == 0 || below(12) == 0) return claim(me, host);
        const std::int64_t job = me.job, epoch = me.epoch;
        const std::string who = fmt::format("job {} epoch {}", job, epoch);
        switch (below(10)) {
            case 0:
            case 1:
                return both(
                    "renew " + who,
                    [&] {
                        return ask(
                            "select steady.renew($1, $2::uuid, $3, make_interval(secs => $4))", job,
                            me.worker, epoch, kLease_s);
                    },
                    [&] { return queue_.renew(job, me.worker, epoch, kLease_s); });
            case 2:
                return finish(me, who);
            case 3:
                return stop(me, who);
            default:
                return put_pair(me, who);
        }
    }

    void claim(Belief& me, int host) {
        const std::int64_t host_id = hosts_[static_cast<std::size_t>(host)];
        Answer model;
        both(
            fmt::format("claim by {} on {}", me.worker.substr(0, 4), host),
            [&] {
                return ask(
                    "select o_job || ' ' || o_epoch from steady.claim($1::uuid, $2, "
                    "make_interval(secs => $3))",
                    me.worker, host_id, kLease_s);
            },
            [&] { return model = queue_.claim(me.worker, host + 1, kLease_s); });
        if (model.value.empty()) return;
        const auto space = model.value.find(' ');
        me.job = std::stoll(model.value.substr(0, space));
        me.epoch = std::stoll(model.value.substr(space + 1));
    }

    void put_pair(const Belief& me, const std::string& who) {
        const JobRow& job = queue_.jobs.at(me.job);
        // mostly the next open pair, sometimes any
        std::size_t at = static_cast<std::size_t>(below(static_cast<int>(job.pairs.size())));
        if (below(6) != 0) {
            for (std::size_t i = 0; i < job.pairs.size(); ++i) {
                if (job.pairs[i].epoch == 0) {
                    at = i;
                    break;
                }
            }
        }
        const int number = job.pairs[at].number, attempt = job.pairs[at].attempt;
        const bool discard = below(12) == 0;
        const std::string a = fmt::format("{{{},{}}}", 1000 * me.epoch + number, attempt + 1);
        both(
            fmt::format("pair {} try {} of {}", number, attempt, who),
            [&] {
                return ask(
                    "select steady.put_samples($1, $2::uuid, $3, 0, 'measure', $4, $5, '{A,B}', "
                    "'{token_ns,token_ns}', array[$6, $6])::text || steady.seal_pair($1, $2::uuid, "
                    "$3, 0, 'measure', $4, $5, 2, nullif($7, ''), '1')::text",
                    me.job, me.worker, me.epoch, number, attempt, a, discard ? "noise" : "");
            },
            [&] { return queue_.put_pair(me.job, me.worker, me.epoch, number, attempt, discard); });
    }

    void finish(Belief& me, const std::string& who) {
        bool decided = false;
        both(
            "finish " + who,
            [&] {
                return ask(
                    "select steady.finish($1, $2::uuid, $3, 'accept', '', '{}', 'Yes.')::text",
                    me.job, me.worker, me.epoch);
            },
            [&] {
                const Answer model = queue_.finish(me.job, me.worker, me.epoch);
                decided |= model.state.empty();
                return model;
            });
        if (decided && below(2) == 0) me.job = 0;  // or go on and be refused
        if (decided) ++n_verdicts_;
    }

    void stop(Belief& me, const std::string& who) {
        static const char* const kHow[] = {"released", "postponed", "crashed",
                                           "crashed",  "failed",    "cancelled"};
        const std::string how = kHow[below(6)];
        expect(how + " " + who,
               ask("select steady.stop($1, $2::uuid, $3, $4, 'note')", me.job, me.worker, me.epoch,
                   how),
               queue_.stop(me.job, me.worker, me.epoch, how));
        hold_back_offs();
        if (below(2) == 0) me.job = 0;
    }

    void restart(Belief& me, int host) {
        // A machine of the same name that never saw the predecessor may start too.
        const std::string predecessor = below(4) == 0 ? random_uuid() : me.worker;
        me = {0, 0, random_uuid()};
        const std::int64_t host_id = hosts_[static_cast<std::size_t>(host)];
        both(
            fmt::format("reclaim {}", host),
            [&] {
                return ask("select steady.reclaim($1, $2::uuid, array[$3::uuid])", host_id,
                           me.worker, predecessor);
            },
            [&] { return queue_.reclaim(host + 1, me.worker, predecessor); });
        hold_back_offs();
    }

    void by_person() {
        const std::int64_t job = any_job();
        if (job == 0) return;
        switch (below(5)) {
            case 2: {
                const int priority = below(201) - 100;
                return both(
                    fmt::format("priority {} {}", job, priority),
                    [&] { return ask("select steady.set_priority($1, $2)", job, priority); },
                    [&] { return queue_.set_priority(job, priority); });
            }
            case 0:
                return both(
                    fmt::format("cancel {}", job),
                    [&] { return ask("select steady.cancel($1)", job); },
                    [&] { return queue_.cancel(job); });
            case 1:
                return both(
                    fmt::format("unpin {}", job),
                    [&] { return ask("select steady.unpin($1)", job); },
                    [&] { return queue_.unpin(job); });
            default:
                return both(
                    fmt::format("requeue {}", job),
                    [&] { return ask("select steady.requeue($1)", job); },
                    [&] { return queue_.requeue(job); });
        }
    }

    void step() {
        ++n_steps_;
        queue_.now += 1e-6;  // who is queued later is younger
        const int worker = below(kWorkers), host = worker % kHosts;
        Belief& me = believes_[static_cast<std::size_t>(worker)];
        const int what = below(100);
        if (what < 12) {
            submit();
            forget();
        } else if (what < 20) {
            pass_time();
        } else if (what < 26) {
            by_person();
        } else if (what < 29) {
            restart(me, host);
        } else if (what < 36) {
            expect("rescue", ask("select steady.rescue()"), queue_.rescue());
            hold_back_offs();
        } else {
            work_step(me, host);
        }
    }

    void compare_rows() {
        for (const auto& [id, job] : queue_.jobs) {
            SCOPED_TRACE(fmt::format("seed {} job {}", seed_, id));
            const auto row = work_.exec_params1(
                "select state, epoch, crashes, coalesce(worker::text, ''), pin_host, "
                "(select count(*) from steady.verdict v where v.job_id = j.job_id), "
                "(select count(*) from steady.attempt a where a.job_id = j.job_id) "
                "from steady.job j where job_id = $1",
                id);
            EXPECT_EQ(row[0].c_str(), job.state);
            EXPECT_EQ(row[1].as<std::int64_t>(), job.epoch);
            EXPECT_EQ(row[2].as<int>(), job.crashes);
            EXPECT_EQ(row[3].c_str(), job.worker);
            EXPECT_EQ(row[4].is_null() ? 0 : row[4].as<std::int64_t>(),
                      job.pin == 0 ? 0 : hosts_[static_cast<std::size_t>(job.pin - 1)]);
            EXPECT_EQ(row[5].as<int>(), job.verdict_epoch != 0 ? 1 : 0);
            EXPECT_EQ(row[6].as<std::size_t>(), job.attempts.size());
            EXPECT_EQ(job.verdict_epoch != 0, job.state == "done");
            std::string real, model;
            for (const auto& pair : work_.exec_params(
                     "select pair_no, try, coalesce(p.epoch, 0), discarded is not null, "
                     "(select count(*) from steady.sample s where (s.job_id, s.pair_no, s.try) = "
                     "(p.job_id, p.pair_no, p.try)) from steady.pair p where job_id = $1 "
                     "order by 1, 2",
                     id)) {
                real += fmt::format("{}.{} {} {} {}\n", pair[0].c_str(), pair[1].c_str(),
                                    pair[2].c_str(), pair[3].as<bool>(), pair[4].c_str());
            }
            auto pairs = job.pairs;
            std::sort(pairs.begin(), pairs.end(), [](const auto& x, const auto& y) {
                return std::pair(x.number, x.attempt) < std::pair(y.number, y.attempt);
            });
            for (const auto& pair : pairs) {
                model += fmt::format("{}.{} {} {} {}\n", pair.number, pair.attempt, pair.epoch,
                                     pair.discarded, 2 * pair.samples.size());
            }
            EXPECT_EQ(real, model);
        }
    }

    pqxx::connection connection_;
    pqxx::nontransaction work_;
    std::mt19937_64 random_;
    std::uint64_t seed_;
    Queue queue_;
    std::vector<std::int64_t> hosts_;
    std::vector<Belief> believes_;
    std::vector<std::string> trail_;
    int n_submitted_ = 0, n_steps_ = 0, n_refused_ = 0, n_verdicts_ = 0;
};

int from_environment(const char* name, int otherwise) {
    const char* set = std::getenv(name);
    return set == nullptr ? otherwise : std::atoi(set);
}

TEST(QueueSimulation, EveryAnswerIsTheModels) {
    const int n_steps = from_environment("STEADY_SIMULATION_STEPS", 400);
    const int only = from_environment("STEADY_SIMULATION_SEED", 0);
    int steps = 0, refused = 0, verdicts = 0;
    for (int seed = 1; seed <= 20 && !HasFailure(); ++seed) {
        if (only != 0 && seed != only) continue;
        const ThrowawayDatabase database;
        Simulation simulation(database.url(), static_cast<std::uint64_t>(seed));
        simulation.run(n_steps);
        steps += simulation.steps();
        refused += simulation.refused();
        verdicts += simulation.verdicts();
    }
    fmt::print("{} steps, {} calls refused as they must be, {} verdicts\n", steps, refused,
               verdicts);
    EXPECT_GT(refused, 0);
    EXPECT_GT(verdicts, 0);
}

}  // namespace
}  // namespace steady
