// What hostile clients send over raw sockets: each is refused with the right status, costs the
// server nothing that lasts, and leaves it answering others.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "tests/dashboard/fake_source.h"
#include "tests/support/sample_record.h"

#ifdef __SANITIZE_ADDRESS__
// Freed memory is held back for a while, 256 MB by default: more than the bounds below.
extern "C" const char* __asan_default_options() { return "quarantine_size_mb=8"; }
#endif

namespace steady::web {
namespace {

using ::testing::HasSubstr;
using namespace std::string_literals;

long resident_kb() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmRSS:")) return std::stol(line.substr(6));
    }
    return 0;
}

class Attack : public ::testing::Test {
protected:
    static HttpLimits quick_limits() {
        HttpLimits limits;
        limits.header_deadline_ms = 300;
        limits.request_deadline_ms = 500;
        limits.answer_deadline_ms = 500;
        limits.event_interval_ms = 20;
        limits.heartbeat_ms = 40;
        limits.connections = 60;
        return limits;
    }
    int status(const std::string& bytes) { return status_of(exchange(server_.port(), bytes)); }
    void expect_alive() {
        EXPECT_EQ(status_of(exchange(server_.port(), get_request("/healthz"))), 200);
    }
    void TearDown() override { expect_alive(); }

    explicit Attack(const ServeOptions& options = {}, const HttpLimits& limits = quick_limits())
        : server_(limits, options) {}
    RunningDashboard server_;
};

class PrivateAttack : public Attack {
protected:
    static ServeOptions private_reads() {
        ServeOptions options;
        options.private_reads = true;
        return options;
    }
    static HttpLimits many_connections() {
        HttpLimits limits = quick_limits();
        limits.connections = 800;
        return limits;
    }
    PrivateAttack() : Attack(private_reads(), many_connections()) {}
};

TEST_F(Attack, FramingThatCanBeReadTwiceIsRefused) {
    const std::string head =
        "POST /api/validate HTTP/1.1\r\nHost: localhost\r\n"
        "Content-Type: application/json\r\n";
    EXPECT_EQ(status(head + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
              400);
    EXPECT_EQ(status(head + "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n"),
              400);
    EXPECT_EQ(status(head + "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}"), 400);
    EXPECT_EQ(status(head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"), 400);
    EXPECT_EQ(status(head + "Content-Length: -2\r\n\r\n{}"), 400);
    EXPECT_EQ(status(head + "Content-Length: 0x2\r\n\r\n{}"), 400);
    EXPECT_EQ(status(head + "Content-Length: 99999999999999999999999\r\n\r\n{}"), 400);
    EXPECT_EQ(status(head + "Transfer-Encoding: chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n"), 400);
    EXPECT_EQ(status(head + "Transfer-Encoding: gzip\r\n\r\n"), 501);
    EXPECT_EQ(status(head + "Content-Length : 2\r\n\r\n{}"), 400);
    EXPECT_EQ(status("GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n"), 400);
    EXPECT_EQ(status("GET / HTTP/1.1\r\n\r\n"), 400);
    EXPECT_EQ(status("GET /\r\n\r\n"), 400);
    EXPECT_EQ(status("GET / HTTP/1.1\nHost: localhost\n\n"), 400);
    EXPECT_EQ(status("GET /\0 HTTP/1.1\r\nHost: localhost\r\n\r\n"s), 400);
    EXPECT_EQ(status(head + "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}"), 415);
}

// A proxy as it comes, without a header that names its client: nobody behind it is local.
TEST_F(Attack, AProxyThatSaysNothingOpensNoReads) {
    EXPECT_EQ(status("GET /index.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
              200);
    EXPECT_EQ(status("GET /index.json HTTP/1.0\r\nHost: localhost\r\n\r\n"), 401);
    EXPECT_EQ(status("GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n"), 200);
}

TEST_F(Attack, SizesAreCapped) {
    EXPECT_EQ(status(get_request("/" + std::string(9000, 'a'))), 414);
    EXPECT_EQ(status(get_request("/" + std::string(30000, 'a'))), 414);
    EXPECT_EQ(status(get_request("/", "X-Big: " + std::string(20000, 'a') + "\r\n")), 431);
    std::string many;
    for (int i = 0; i < 120; ++i) many += "X-" + std::to_string(i) + ": 1\r\n";
    EXPECT_EQ(status(get_request("/", many)), 431);
    const std::string head =
        "POST /api/validate HTTP/1.1\r\nHost: localhost\r\n"
        "Content-Type: application/json\r\n";
    EXPECT_EQ(status(head + "Content-Length: 2000000\r\n\r\n{"), 413);
}

TEST_F(Attack, ChunkedBodyWithoutEndIsCut) {
    const long before = resident_kb();
    RawClient client(server_.port());
    client.send(
        "POST /api/validate HTTP/1.1\r\nHost: localhost\r\n"
        "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
    const std::string chunk = "10000\r\n" + std::string(65536, 'x') + "\r\n";
    int sent = 0;
    while (sent < 1024 && client.send(chunk)) ++sent;
    EXPECT_LT(sent, 200) << "64 MB were taken";
    EXPECT_LT(resident_kb() - before, 20000);
}

TEST_F(Attack, EndlessHeadersAreCut) {
    RawClient client(server_.port());
    client.send("GET / HTTP/1.1\r\nHost: localhost\r\n");
    int sent = 0;
    while (sent < 100000 && client.send("X-More: " + std::string(100, 'y') + "\r\n")) ++sent;
    EXPECT_LT(sent, 100000);
}

TEST_F(Attack, SlowClientsAreToldAndCut) {
    RawClient slow(server_.port());
    slow.send("GET / HTTP/1.1\r\nHo");
    const std::string answer = slow.receive();
    EXPECT_EQ(status_of(answer), 408) << answer;
    RawClient body(server_.port());
    body.send(
        "POST /api/validate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Content-Length: 100\r\n\r\n{");
    EXPECT_EQ(status_of(body.receive()), 408);
    RawClient silent(server_.port());
    EXPECT_EQ(silent.receive(), "");
}

TEST_F(Attack, SlowClientsDoNotSlowOthers) {
    std::vector<std::unique_ptr<RawClient>> slow;
    for (int i = 0; i < 40; ++i) {
        slow.push_back(std::make_unique<RawClient>(server_.port()));
        slow.back()->send("GET / HT");
    }
    for (int i = 0; i < 10; ++i) expect_alive();
}

TEST_F(Attack, ConnectionsAreCounted) {
    std::vector<std::unique_ptr<RawClient>> held;
    for (int i = 0; i < 60; ++i) held.push_back(std::make_unique<RawClient>(server_.port()));
    exchange(server_.port(), "");  // the server has seen all of the above
    int refused = 0;
    for (int i = 0; i < 5; ++i) refused += status(get_request("/healthz")) == 429 ? 1 : 0;
    EXPECT_GE(refused, 1);
    held.clear();
    for (int i = 0; i < 200 && status(get_request("/healthz")) != 200; ++i) usleep(10000);
}

TEST_F(Attack, PathsNeverReachFiles) {
    for (const char* target :
         {"/assets/../../etc/passwd", "/assets/..%2f..%2fetc/passwd", "/assets/%2e%2e/app.js",
          "/assets//etc/passwd", "/assets/app.js%00.css", "/assets/..%5cwindows", "/%ff%fe",
          "/x/%00", "/%", "/%zz", "/x/..%2f..", "http://evil/", "*"}) {
        const std::string answer = exchange(server_.port(), get_request(target));
        EXPECT_THAT(status_of(answer), ::testing::AnyOf(400, 404, 200)) << target;
        EXPECT_THAT(answer, ::testing::Not(HasSubstr("root:"))) << target;
        if (std::string(target).starts_with("/assets")) {
            EXPECT_NE(status_of(answer), 200) << target;
        }
    }
}

// What a client sends never begins a line of an answer's head, wherever it stood.
TEST_F(Attack, NoHeaderCanBeInjected) {
    const std::string line = "%0d%0aX-Injected:%20yes", raw = "\r\nX-Injected: yes";
    const auto head_of = [&](const std::string& bytes) {
        const std::string answer = exchange(server_.port(), bytes);
        EXPECT_NE(status_of(answer), 0) << bytes;
        return answer.substr(0, answer.find("\r\n\r\n"));
    };
    for (const std::string& target :
         {"/" + line, "/x/" + line + ".json", "/index.json?q=" + line, "/assets/app.js" + line,
          "/x/a" + line + "/events", "/journal/" + line + ".md", "/compare/a" + line + "...b"}) {
        EXPECT_THAT(head_of(get_request(target)), ::testing::Not(HasSubstr("X-Injected")))
            << target;
    }
    for (const char* name : {"If-None-Match", "Authorization", "Origin", "Accept", "Range",
                             "X-Forwarded-For", "X-Forwarded-Proto", "Cookie"}) {
        for (const std::string& value : {"\"a" + line + "\"", "a\n" + raw, "a\r" + raw}) {
            EXPECT_THAT(head_of(get_request("/index.json", name + (": " + value) + "\r\n")),
                        ::testing::Not(HasSubstr("X-Injected")))
                << name;
        }
    }
    const std::string body = "{\"id\": \"a\\r\\nX-Injected: yes\"}";
    EXPECT_THAT(head_of("POST /api/experiments HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                        "Content-Type: application/json\r\nAuthorization: Bearer submit-token\r\n"
                        "Content-Length: " +
                        std::to_string(body.size()) + "\r\n\r\n" + body),
                ::testing::Not(HasSubstr("X-Injected")));
}

TEST_F(Attack, PipelinedRequestsAreAnsweredInOrder) {
    const std::string one = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    RawClient client(server_.port());
    client.send(one + one + get_request("/nowhere"));
    const std::string all = client.receive();
    std::size_t n = 0;
    for (std::size_t at = 0; (at = all.find("HTTP/1.1 200", at)) != std::string::npos; ++at) ++n;
    EXPECT_EQ(n, 2u);
    EXPECT_THAT(all, HasSubstr("HTTP/1.1 404"));
}

TEST_F(Attack, HeadHasNoBody) {
    const std::string answer = exchange(
        server_.port(), "HEAD /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    EXPECT_EQ(status_of(answer), 200);
    EXPECT_TRUE(answer.ends_with("\r\n\r\n")) << answer;
}

TEST_F(Attack, EventStreamBeatsAndEndsWithTheReader) {
    {
        RawClient reader(server_.port());
        reader.send(get_request("/x/forever/events", "Accept: text/event-stream\r\n"));
        const std::string seen = reader.receive(": still here", 3000);
        EXPECT_THAT(seen, HasSubstr("Content-Type: text/event-stream"));
        EXPECT_THAT(seen, HasSubstr("data: {"));
        EXPECT_THAT(seen, HasSubstr(": still here"));
    }
    const std::string ended =
        exchange(server_.port(), get_request("/x/done/events", "Accept: text/event-stream\r\n"));
    EXPECT_THAT(ended, HasSubstr("\"state\":\"done\""));
}

// Not a fuzzer in depth: enough random damage to requests to show that none takes the server down.
TEST_F(Attack, RandomDamageLeavesTheServerAlive) {
    std::srand(7);
    const std::string base =
        "POST /api/validate?x=1 HTTP/1.1\r\nHost: localhost\r\n"
        "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
    for (int i = 0; i < 300; ++i) {
        std::string bytes = base;
        for (int k = std::rand() % 6; k >= 0; --k) {
            bytes[static_cast<std::size_t>(std::rand()) % bytes.size()] =
                static_cast<char>(std::rand() % 256);
        }
        RawClient client(server_.port());
        client.send(bytes);
        client.receive("\r\n\r\n", 5);
    }
}

// Asks for health until the end of its life, and says how that went.
class Healthy {
public:
    explicit Healthy(std::uint16_t port) : thread_([this, port] { ask(port); }) {}
    ~Healthy() {
        if (thread_.joinable()) end();
    }
    std::string end() {
        over_ = true;
        thread_.join();
        EXPECT_EQ(wrong_, 0) << "of " << times_ms_.size() << " questions for health";
        EXPECT_GT(times_ms_.size(), 10U);
        std::sort(times_ms_.begin(), times_ms_.end());
        const auto share = [&](double p) {
            return times_ms_[static_cast<std::size_t>(p *
                                                      static_cast<double>(times_ms_.size() - 1))];
        };
        return fmt::format(
            "health asked {} times meanwhile, always 200: p50 {:.1f} ms, p99 {:.1f} ms",
            times_ms_.size(), share(0.5), share(0.99));
    }

private:
    void ask(std::uint16_t port) {
        using Clock = std::chrono::steady_clock;
        do {
            const auto begin = Clock::now();
            wrong_ += status_of(web::exchange(port, get_request("/healthz"))) == 200 ? 0 : 1;
            times_ms_.push_back(
                std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        } while (!over_);
    }
    std::atomic<bool> over_{false};
    int wrong_ = 0;
    std::vector<double> times_ms_;
    std::thread thread_;
};

// What a machine makes up in a few seconds: every part of a request drawn, most of them wrong. The
// server goes on answering others, tells nothing that needs a token, and holds no connection and no
// more memory afterwards.
TEST_F(PrivateAttack, TenThousandRandomRequests) {
    std::mt19937 random(20261124);
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
    const auto noise = [&](std::size_t n) {
        std::string text(below(n) + 1, ' ');
        for (char& c : text) c = static_cast<char>(random() % 256);
        return text;
    };
    const std::vector<std::string> methods{"GET", "POST", "HEAD", "PUT", "get", "\0x", ""};
    const std::vector<std::string> targets{"/",
                                           "/x/last.json",
                                           "/x/%2e%2e/etc/passwd",
                                           "//",
                                           "*",
                                           "http://localhost/",
                                           "/x/%00",
                                           "/index.json?q=%ff",
                                           "/assets/../../x",
                                           "/x/a/events?since=99999999999999999999"};
    const std::vector<std::string> headers{"Host: localhost",
                                           "Host: evil.example",
                                           "Content-Length: 5",
                                           "Content-Length: -1",
                                           "Content-Length: 99999999999999999999",
                                           "Transfer-Encoding: chunked",
                                           "Transfer-Encoding: chunked, identity",
                                           "Transfer-Encoding : chunked",
                                           "Content-Type: application/json",
                                           "Authorization: Bearer x",
                                           "Expect: 100-continue",
                                           "Connection: keep-alive, close",
                                           "X-Forwarded-For: 1.2.3.4, ::1",
                                           " folded: yes",
                                           "Accept: text/event-stream",
                                           "If-None-Match: \"x\"",
                                           "Upgrade: h2c",
                                           "Range: bytes=0-"};
    const std::vector<std::string> ends{"\r\n\r\n", "\n\n", "\r\n", ""};
    const std::vector<std::string> bodies{
        "", "{}", "5\r\n{\"a\":\r\n0\r\n\r\n", "-2\r\n", "fffffffffffffffff\r\n", "[[[[[[[["};
    const auto any = [&](const auto& list) { return list[below(list.size())]; };
    const long before = resident_kb();
    Healthy health(server_.port());
    std::map<int, int> statuses;
    for (int i = 0; i < 10000; ++i) {
        std::string bytes = any(methods) + " " + (below(5) == 0 ? "/" + noise(64) : any(targets)) +
                            " HTTP/1." + std::to_string(below(3)) + "\r\n";
        for (std::size_t n = below(6); n > 0; --n) bytes += any(headers) + "\r\n";
        if (below(4) == 0) bytes += noise(32) + ": " + noise(32) + "\r\n";
        bytes += any(ends) + any(bodies) + (below(8) == 0 ? noise(512) : "");
        RawClient client(server_.port());
        client.send(bytes);
        if (i % 20 != 0) continue;
        const std::string answer = client.receive("\r\n\r\n", 100);
        ++statuses[status_of(answer)];
        EXPECT_THAT(answer, ::testing::Not(HasSubstr(accepted_record().id)));
    }
    const std::string healthy = health.end();
    const long grown = resident_kb() - before;
    EXPECT_LT(grown, 64 * 1024);
    std::string seen;
    for (const auto& [status, n] : statuses) seen += fmt::format(" {}: {}", status, n);
    fmt::print("10000 random requests, seed 20261124; {}; memory {:+} kB; statuses of 500{}\n",
               healthy, grown, seen);
}

}  // namespace
}  // namespace steady::web
