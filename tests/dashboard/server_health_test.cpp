// What the page says about itself, who counts as local, and what strangers cannot make grow.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "tests/dashboard/fake_source.h"

namespace steady::web {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Request get(const std::string& target, const std::string& peer = "127.0.0.1") {
    Request request;
    request.method = "GET";
    request.target = target;
    request.headers["host"] = "localhost";
    request.peer = peer;
    return request;
}

Response ask(App& app, Request request) {
    const auto source = fake_source()();
    if (auto quick = app.quick(request)) return *quick;
    return app.work(request, source.get());
}

nlohmann::json health_of(App& app) {
    return nlohmann::json::parse(ask(app, get("/healthz.json")).body);
}

TEST(Health, IsOkOnlyWhenItIs) {
    App app;
    EXPECT_EQ(health_of(app)["status"], "degraded") << "nobody has asked the database yet";
    EXPECT_EQ(ask(app, get("/readyz")).status, 503);
    app.note_probe_sent();
    app.note_probe(service::State{}, "", 1);
    EXPECT_EQ(health_of(app)["status"], "ok");
    EXPECT_EQ(ask(app, get("/readyz")).status, 200);
    app.note_probe({}, "the database does not answer", 0);
    EXPECT_EQ(health_of(app)["status"], "degraded");
    EXPECT_EQ(ask(app, get("/healthz")).status, 200) << "a restart would not help";
    EXPECT_EQ(ask(app, get("/readyz")).status, 503);
    EXPECT_THAT(ask(app, get("/readyz")).body, HasSubstr("does not answer"));
}

TEST(Health, StuckThreadsAreAReasonToRestart) {
    App app;
    app.options.stuck_s = 60;
    app.note_probe(service::State{}, "", 1);
    app.note_probe_sent();
    EXPECT_EQ(ask(app, get("/healthz")).status, 200);
    app.options.stuck_s = 0.05;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    app.note_probe_sent();
    EXPECT_EQ(ask(app, get("/healthz")).status, 503);
    EXPECT_EQ(health_of(app)["status"], "failing");
    app.note_probe(service::State{}, "", 1);
    EXPECT_EQ(ask(app, get("/healthz")).status, 200);
}

TEST(Health, WhatAnOperatorShouldKnowIsSaid) {
    App app;
    app.note_probe_sent();
    service::State state;
    state.replay_lag_s = 300;
    state.lease_overdue_s = 120;
    app.note_probe(state, "", 1);
    const auto health = health_of(app);
    EXPECT_EQ(health["status"], "degraded");
    EXPECT_THAT(health["troubles"].dump(), HasSubstr("300 s behind"));
    EXPECT_THAT(health["troubles"].dump(), HasSubstr("120 s"));
    EXPECT_EQ(ask(app, get("/readyz")).status, 200) << "requests are answered";
}

TEST(Health, MetricsHoldQueueLeasesFailuresDiskAndDatabase) {
    App app;
    app.options.state_dir = "/tmp";
    EXPECT_THAT(ask(app, get("/metrics")).body, HasSubstr("steady_database_up 0"));
    EXPECT_THAT(ask(app, get("/metrics")).body, Not(HasSubstr("steady_queue_depth")));
    app.note_probe_sent();
    service::State state;
    state.queued = 7;
    state.lease_left_s = 12.5;
    state.crashed_1h = 3;
    state.database_bytes = 123456789;
    state.replay_lag_s = 1.5;
    state.host_free_bytes = 4000000000;
    app.note_probe(state, "", 2);
    const std::string text = ask(app, get("/metrics")).body;
    for (const char* line :
         {"steady_database_up 1\n", "steady_queue_depth 7\n", "steady_lease_left_seconds 12.5\n",
          "steady_attempts_ended_last_hour{how=\"crashed\"} 3\n", "steady_disk_free_bytes ",
          "steady_database_bytes 123456789\n", "steady_database_replay_lag_seconds 1.5\n",
          "steady_worker_disk_free_bytes 4000000000\n", "steady_database_answer_seconds 0.002\n",
          "steady_shared_answers_bytes ", "steady_wrong_tokens_total 0\n"}) {
        EXPECT_THAT(text, HasSubstr(line));
    }
}

TEST(Reads, ThroughAProxyNobodyIsLocal) {
    App open;
    EXPECT_EQ(ask(open, get("/index.json")).status, 200);
    for (const char* name : {"x-forwarded-for", "forwarded", "x-real-ip", "via"}) {
        Request foreign = get("/index.json");
        foreign.headers[name] = "for=203.0.113.9";
        const Response response = ask(open, foreign);
        EXPECT_EQ(response.status, 401) << name;
        EXPECT_THAT(response.body, HasSubstr("--behind-proxy")) << name;
    }
    open.options.public_reads = true;
    Request foreign = get("/index.json");
    foreign.headers["via"] = "1.1 somewhere";
    EXPECT_EQ(ask(open, foreign).status, 200);
}

TEST(Reads, AskedForPrivatelyNeedATokenOnLoopbackToo) {
    ServeOptions options;
    options.private_reads = true;
    RunningDashboard server({}, options);
    EXPECT_EQ(status_of(exchange(server.port(), get_request("/index.json"))), 401);
    EXPECT_EQ(
        status_of(exchange(server.port(),
                           get_request("/index.json", "Authorization: Bearer read-token\r\n"))),
        200);
}

TEST(Reads, TheClientIsTheLastAddressThatIsNoProxy) {
    AppOptions options;
    options.proxies = {"10.0.0.2", "10.0.0.3"};
    const auto client = [&](const std::string& peer, const std::string& list) {
        Request request = get("/", peer);
        if (!list.empty()) request.headers["x-forwarded-for"] = list;
        const auto refused = find_client(request, options);
        return refused ? std::to_string(refused->status) : request.peer;
    };
    EXPECT_EQ(client("10.0.0.2", "203.0.113.9"), "203.0.113.9");
    EXPECT_EQ(client("::ffff:10.0.0.2", "203.0.113.9"), "203.0.113.9");
    EXPECT_EQ(client("10.0.0.2", "127.0.0.1, 203.0.113.9"), "203.0.113.9")
        << "the first is a claim";
    EXPECT_EQ(client("10.0.0.2", "203.0.113.9, 10.0.0.3"), "203.0.113.9");
    EXPECT_EQ(client("10.0.0.2", "<script>"), "400");
    EXPECT_EQ(client("203.0.113.9", "10.0.0.2"), "403") << "past the proxy";
    EXPECT_EQ(client("127.0.0.1", ""), "127.0.0.1");
}

TEST(Reads, ATokenThatCameInClearIsRefused) {
    App app;
    app.options.proxies = {"10.0.0.2"};
    app.options.reads_need_token = true;
    Request request = get("/index.json", "10.0.0.2");
    request.headers["x-forwarded-for"] = "203.0.113.9";
    request.headers["x-forwarded-proto"] = "http";
    request.headers["authorization"] = "Bearer read-token";
    EXPECT_EQ(ask(app, request).status, 403);
    request.headers["x-forwarded-proto"] = "https";
    EXPECT_EQ(ask(app, request).status, 200);
}

TEST(Reads, GuessingTokensIsSlow) {
    App app;
    app.options.reads_need_token = true;
    app.options.wrong_tokens_per_minute = 3;
    const auto guess = [&](const std::string& peer, const std::string& token) {
        Request request = get("/index.json", peer);
        request.headers["authorization"] = "Bearer " + token;
        return ask(app, request).status;
    };
    for (int i = 0; i < 3; ++i) EXPECT_EQ(guess("203.0.113.9", fmt::format("guess-{}", i)), 401);
    EXPECT_EQ(guess("203.0.113.9", "read-token"), 429);
    EXPECT_EQ(guess("203.0.113.10", "read-token"), 200) << "others are not shut out";
    EXPECT_EQ(app.traffic.wrong_tokens.load(), 3u);
}

TEST(Reads, ManyGuessersDoNotFillMemory) {
    App app;
    for (int i = 0; i < 20000; ++i) app.may_guess(fmt::format("203.0.{}.{}", i / 250, i % 250));
    EXPECT_TRUE(app.guesses_too_much("a new one")) << "while the table is full, nobody may guess";
}

// Bodies are short and keys long here: both count.
TEST(SharedAnswers, StayWithinTheirRoomWhateverIsAsked) {
    App app;
    std::size_t most = 0;
    for (int i = 0; i < 6000; ++i) {
        const std::string words = fmt::format("{:06}", i) + std::string(6000, 'x');
        EXPECT_EQ(ask(app, get("/experiments.json?q=" + words)).status, 200);
        most = std::max(most, app.shared_bytes());
    }
    EXPECT_GT(most, std::size_t{4} << 20U);
    EXPECT_LE(most, std::size_t{16} << 20U);
}

TEST(Serve, AWideBindWithoutTlsIsRefusedWithWords) {
    ServeOptions options;
    options.address = "0.0.0.0";
    options.port = 0;
    const auto refusal = [&] {
        try {
            serve(options);
        } catch (const std::exception& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_THAT(refusal(), HasSubstr("no TLS"));
    EXPECT_THAT(refusal(), HasSubstr("--behind-proxy"));
    options.proxies = {"proxy.example"};
    EXPECT_THAT(refusal(), HasSubstr("allowed IPv4 or IPv6 addresses"));
    options.proxies = {"10.0.0.2"};
    options.private_reads = options.public_reads = true;
    EXPECT_THAT(refusal(), HasSubstr("choose one"));
}

}  // namespace
}  // namespace steady::web
