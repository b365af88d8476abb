// Seven hosts with networks of their own: three workers, a primary database, its synchronous
// replica, the page behind TLS, and a client. Packets are lost and late, hosts are cut off beyond
// their lease, workers are killed, the primary dies and the replica takes over; two workers and the
// replica have clocks that are an hour wrong. Afterwards the answers are checked as after
// `steady fault-test`, and the client's requests are counted by how they ended. The last test takes
// the synchronous away and must find losses.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "runner/platform/clock.h"
#include "runner/platform/process.h"
#include "runner/storage/cluster_server.h"
#include "runner/storage/migrate.h"
#include "runner/storage/private_cluster.h"
#include "tests/support/fault_team.h"
#include "tests/support/replica.h"
#include "tests/support/virtual_network.h"

namespace steady {
namespace {

namespace fs = std::filesystem;

constexpr int kWorkers = 3, kPrimary = 3, kReplica = 4, kPage = 5, kClient = 6, kHosts = 7;
constexpr int kPairsOfAJob = 120;  // so that most faults meet a job under way
constexpr double kLease_s = 6;     // renewals and new connections take several slow round trips
constexpr int kSkew_s[kWorkers] = {3600, -3600, 0}, kReplicaSkew_s = 3600;
constexpr const char* kNginx = "/usr/sbin/nginx";
constexpr const char* kOpenssl = "/usr/bin/openssl";

int from_environment(const char* name, int otherwise) {
    const char* set = std::getenv(name);
    return set == nullptr ? otherwise : std::atoi(set);
}

void write_file(const std::string& path, const std::string& text, bool more = false) {
    std::ofstream file(path, more ? std::ios::app : std::ios::trunc);
    ASSERT_TRUE(file << text << std::flush) << path;
}

class Hosts : public ::testing::Test {
protected:
    void SetUp() override {
        if (const std::string why = VirtualNetwork::why_not(); !why.empty()) {
            GTEST_SKIP() << "SKIPPED: " << why;
        }
        seed_ = static_cast<std::uint64_t>(from_environment("STEADY_HOSTS_SEED", 1));
        network_ = std::make_unique<VirtualNetwork>(kHosts, seed_);
        fs::create_directories(base_);
        clock_ = base_ + "/skewed_clock.so";
        fs::copy_file(STEADY_BIN_DIR "/../lib/libskewed_clock.so", clock_);
        make_primary();
    }
    void TearDown() override {
        for (const pid_t pid : helpers_) ::kill(pid, SIGTERM);
        for (const pid_t pid : helpers_) ::waitpid(pid, nullptr, 0);
        remove_pair(base_);
    }

    // Runs life in a process on that host; returns its pid.
    pid_t start_on(int host, const std::function<void()>& life) {
        const pid_t pid = ::fork();
        if (pid != 0) return pid;
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        network_->enter(host);
        try {
            life();
        } catch (const std::exception& error) {
            fmt::print(stderr, "host {}: {}\n", host, error.what());
            ::_exit(1);
        }
        ::_exit(0);
    }
    void run_on(int host, const std::function<void()>& life) {
        int status = -1;
        const pid_t pid = start_on(host, life);
        while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
        ASSERT_EQ(status, 0) << "on host " << host;
    }

    // A server of a host: its directory, its unix socket for this test, its address for the others.
    void start_database(const cluster::Layout& layout, int host, int skew_s) {
        run_on(host, [&] {
            SpawnPlan plan = cluster::server_plan(layout);
            plan.env["LD_PRELOAD"] = clock_;
            plan.env["STEADY_CLOCK_SKEW_S"] = std::to_string(skew_s);
            spawn(plan);
        });
        ASSERT_TRUE(until(30, [&] { return ask(layout.url("postgres"), "select 1") == "1"; }));
    }
    void make_primary() {
        const std::string url = private_cluster_url({.base_dir = base_ + "/one", .idle_stop_s = 0});
        migrate(url);
        primary_ = cluster::find_layout(base_ + "/one");
        stop_private_cluster(base_ + "/one");
        write_file(primary_.data + "/postgresql.conf",
                   fmt::format("listen_addresses = '*'\nwal_sender_timeout = 5s\n"
                               "tcp_user_timeout = 5s\n"),
                   true);
        write_file(primary_.data + "/pg_hba.conf",
                   "host all all 10.77.0.0/24 trust\nhost replication all 10.77.0.0/24 trust\n",
                   true);
        start_database(primary_, kPrimary, 0);
    }
    void make_replica(bool synchronous) {
        replica_ = cluster::find_layout(base_ + "/two");
        cluster::prepare_directories(replica_);
        run_on(kReplica,
               [&] { run_to_end(base_backup(replica_, VirtualNetwork::address(kPrimary))); });
        start_database(replica_, kReplica, kReplicaSkew_s);
        ASSERT_TRUE(stream(url_of(primary_), synchronous));
    }
    static std::string url_of(const cluster::Layout& layout) { return layout.url("steady"); }
    static std::string both() {
        return fmt::format("postgresql://steady@{},{}/steady?target_session_attrs=read-write",
                           VirtualNetwork::address(kPrimary), VirtualNetwork::address(kReplica));
    }

    void start_worker(int host) {
        workers_[host] = start_on(host, [&] {
            ::setenv("LD_PRELOAD", clock_.c_str(), 1);
            ::setenv("STEADY_CLOCK_SKEW_S", std::to_string(kSkew_s[host]).c_str(), 1);
            const std::string program = STEADY_BIN_DIR "/steady-drill-worker",
                              number = std::to_string(host), lease = std::to_string(kLease_s);
            ::execl(program.c_str(), program.c_str(), team_.folder().c_str(), both().c_str(),
                    number.c_str(), lease.c_str(), nullptr);
            throw Error{"cannot start " + program};
        });
        helpers_.push_back(workers_[host]);
        team_.knows_host(host);
    }
    void kill_worker(int host) {
        ::kill(workers_[host], SIGKILL);
        ::waitpid(workers_[host], nullptr, 0);
        std::erase(helpers_, workers_[host]);
    }
    void promote() {
        const pid_t pid = cluster::running_postmaster(primary_);
        ASSERT_GT(pid, 0);
        ::kill(pid, SIGKILL);
        ASSERT_TRUE(until(30, [&] { return cluster::running_postmaster(primary_) == 0; }));
        cluster::end_orphans(primary_);
        ASSERT_TRUE(
            until(60, [&] { return ask(url_of(replica_), "select pg_promote(true, 60)") == "t"; }));
    }

    void start_page();
    std::map<std::string, int> answers() const;

    std::string base_ = scratch_dir() + "/steady-hosts-" + random_hex(6), clock_;
    std::uint64_t seed_ = 1;
    std::unique_ptr<VirtualNetwork> network_;
    cluster::Layout primary_, replica_;
    Team team_;
    pid_t workers_[kWorkers] = {};
    std::vector<pid_t> helpers_;
};

std::string documented_configuration(const std::string& folder) {
    std::ifstream file(STEADY_SOURCE_DIR "/dashboard/DEPLOY.md");
    std::stringstream text;
    text << file.rdbuf();
    const std::string page = text.str(), fence = "```nginx\n";
    const std::size_t begin = page.find(fence) + fence.size();
    std::string site = page.substr(begin, page.find("```", begin) - begin);
    for (const auto& [from, to] : {std::pair<std::string, std::string>{
                                       "/etc/steady/tls/fullchain.pem", folder + "/cert.pem"},
                                   {"/etc/steady/tls/key.pem", folder + "/key.pem"}}) {
        site.replace(site.find(from), from.size(), to);
    }
    return site;
}

// nginx by the guide's file, the page behind it, and a client who asks four times a second.
void Hosts::start_page() {
    for (const char* program : {kNginx, kOpenssl}) {
        if (::access(program, X_OK) == 0) continue;
        fmt::print("no {}: the drill runs without the page\n", program);
        return;
    }
    const std::string folder = base_ + "/page";
    fs::create_directories(folder);
    ChildOptions make;
    make.argv = {kOpenssl,   "req",
                 "-x509",    "-newkey",
                 "rsa:2048", "-nodes",
                 "-keyout",  folder + "/key.pem",
                 "-out",     folder + "/cert.pem",
                 "-days",    "2",
                 "-subj",    "/CN=bench.example",
                 "-addext",  "subjectAltName=DNS:bench.example"};
    ASSERT_TRUE(run_child(make, 60).ok());
    write_file(folder + "/site.conf", documented_configuration(folder));
    std::string temporary;
    for (const char* what : {"client_body", "proxy", "fastcgi", "uwsgi", "scgi"}) {
        temporary += fmt::format("{}_temp_path {}/{};\n", what, folder, what);
    }
    write_file(folder + "/nginx.conf",
               fmt::format("user root;\ndaemon off;\npid {0}/pid;\nerror_log {0}/error.log;\n"
                           "events {{}}\nhttp {{\naccess_log off;\n{1}include {0}/site.conf;\n}}\n",
                           folder, temporary));
    ChildOptions token;  // without one the page does not start behind a proxy
    token.argv = {STEADY_BIN_DIR "/steady", "token", "create", "reader", "--scopes", "read", "--db",
                  url_of(primary_)};
    ASSERT_TRUE(run_child(token, 60).ok());
    helpers_.push_back(start_on(kPage, [&] {
        ::execl(kNginx, kNginx, "-p", folder.c_str(), "-c", (folder + "/nginx.conf").c_str(),
                nullptr);
    }));
    helpers_.push_back(start_on(kPage, [&] {
        ::setenv("STEADY_STATE_DIR", (folder + "/state").c_str(), 1);
        const std::string program = STEADY_BIN_DIR "/steady";
        ::execl(program.c_str(), program.c_str(), "serve", "--db", both().c_str(), "--behind-proxy",
                "127.0.0.1", "--host", "bench.example", "--public-reads", nullptr);
    }));
    helpers_.push_back(start_on(kClient, [&] {
        for (;;) {
            ChildOptions options;
            options.argv = {kOpenssl,
                            "s_client",
                            "-quiet",
                            "-connect",
                            VirtualNetwork::address(kPage) + ":443",
                            "-servername",
                            "bench.example",
                            "-CAfile",
                            folder + "/cert.pem",
                            "-verify_return_error",
                            "-ign_eof"};
            Child child(options);
            child.write_line(
                "GET /readyz HTTP/1.1\r\nHost: bench.example\r\nConnection: close\r\n\r\n");
            const std::string reply = child.finish(5).out;
            drill::append_line(base_ + "/answers",
                               reply.rfind("HTTP/1.1 ", 0) == 0 ? reply.substr(9, 3) : "none");
            ::usleep(250'000);
        }
    }));
}

std::map<std::string, int> Hosts::answers() const {
    std::map<std::string, int> counts;
    std::ifstream file(base_ + "/answers");
    for (std::string line; std::getline(file, line);) ++counts[line];
    return counts;
}

std::string listed(const std::map<std::string, int>& counts) {
    std::string text;
    for (const auto& [what, n] : counts)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", n, what);
    return text;
}

// STEADY_HOSTS_FAULTS sets how many faults, STEADY_HOSTS_SEED their order.
TEST_F(Hosts, NothingAcknowledgedIsLostAndNothingRunsTwice) {
    ASSERT_NO_FATAL_FAILURE(make_replica(true));
    team_.submit(url_of(primary_), 6, kPairsOfAJob);
    for (int host = 0; host < kWorkers; ++host) start_worker(host);
    ASSERT_NO_FATAL_FAILURE(start_page());
    ASSERT_TRUE(until(60, [&] { return team_.acknowledged() >= 10; }));

    const int n_faults = from_environment("STEADY_HOSTS_FAULTS", 30);
    std::mt19937_64 random(seed_);
    std::map<std::string, int> done;
    const cluster::Layout* database = &primary_;
    const auto pause = [&](double low, double high) {
        ::usleep(static_cast<useconds_t>(
            1e6 * std::uniform_real_distribution<double>(low, high)(random)));
    };
    for (int i = 0; i < n_faults; ++i) {
        const int host = static_cast<int>(random() % kWorkers);
        if (i == n_faults / 2) {
            ASSERT_NO_FATAL_FAILURE(promote());
            database = &replica_;
            ++done["failover"];
        }
        switch (i % 6) {
            case 0:
                network_->isolate(host, true);
                pause(0.2, 2);
                ++done["worker cut off for a while"];
                break;
            case 1:
                network_->isolate(host, true);
                pause(1.1 * kLease_s, 1.5 * kLease_s);
                ++done["worker cut off beyond its lease"];
                break;
            case 2:
                network_->set_loss(0.2);
                pause(2, 4);
                ++done["20 % of packets lost"];
                break;
            case 3:
                network_->set_delay_ms(100);
                pause(3, 5);
                ++done["200 ms to and fro"];
                break;
            case 4:
                kill_worker(host);
                start_worker(host);
                ++done["worker killed"];
                break;
            default:
                network_->cut(kPrimary, kReplica, true);
                network_->isolate(kPage, true);
                pause(1, 3);
                ++done["replica and page cut off"];
        }
        network_->heal();
        pause(0.1, 0.5);
        if (team_.unfinished(url_of(*database)) < 4)
            team_.submit(url_of(*database), 3, kPairsOfAJob);
    }
    EXPECT_TRUE(team_.wait_until_done(url_of(*database), 300));
    if (fs::exists(base_ + "/page")) {
        const int before = answers()["200"];
        EXPECT_TRUE(until(60, [&] { return answers()["200"] > before; })) << "the page is back";
    }
    for (int host = 0; host < kWorkers; ++host) kill_worker(host);
    FaultReport report = team_.check(url_of(*database));
    report.worker_kills = done["worker killed"];
    report.server_kills = done["failover"];
    const auto packets = network_->counts();
    fmt::print("seed {}: {}\npackets: {} passed, {} lost, {} cut\nclient: {}\n{}", seed_,
               listed(done), packets.passed, packets.lost, packets.cut, listed(answers()),
               report.text());
    EXPECT_TRUE(report.sound());
    EXPECT_GT(packets.lost, 0);
    EXPECT_GT(packets.cut, 0);
    EXPECT_EQ(done["failover"], 1);
}

// The negative control: nobody waits for the replica, which is cut off when the primary dies.
TEST_F(Hosts, AReplicaThatNobodyWaitsForLosesAndTheDrillSeesIt) {
    ASSERT_NO_FATAL_FAILURE(make_replica(false));
    team_.submit(url_of(primary_), 4);
    for (int host = 0; host < kWorkers; ++host) start_worker(host);
    ASSERT_TRUE(until(60, [&] { return team_.acknowledged() >= 10; }));
    network_->cut(kPrimary, kReplica, true);
    const int before = team_.acknowledged();
    ASSERT_TRUE(until(60, [&] { return team_.acknowledged() >= before + 20; }));
    for (int host = 0; host < kWorkers; ++host) kill_worker(host);
    ASSERT_NO_FATAL_FAILURE(promote());
    const FaultReport report = team_.check(url_of(replica_));
    fmt::print("{}", report.text());
    EXPECT_GT(report.samples_lost, 0) << "the drill cannot see a loss";
}

}  // namespace
}  // namespace steady
