// The configuration of dashboard/DEPLOY.md, started for real: nginx ends TLS in front of the page.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "runner/platform/files.h"
#include "runner/platform/process.h"
#include "tests/dashboard/fake_source.h"

namespace steady::web {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr const char* kNginx = "/usr/sbin/nginx";
constexpr const char* kOpenssl = "/usr/bin/openssl";

std::string documented_configuration() {
    std::ifstream file(std::string(STEADY_SOURCE_DIR) + "/dashboard/DEPLOY.md");
    std::stringstream text;
    text << file.rdbuf();
    const std::string page = text.str(), fence = "```nginx\n";
    const std::size_t begin = page.find(fence) + fence.size();
    return page.substr(begin, page.find("```", begin) - begin);
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
    ASSERT_NE(text.find(from), std::string::npos) << "the guide no longer says " << from;
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
        text.replace(at, from.size(), to);
    }
}

// A port that was free a moment ago.
int free_port() { return RunningDashboard().port(); }

ServeOptions behind_proxy() {
    ServeOptions options;
    options.proxies = {"127.0.0.1"};
    options.hosts = {"bench.example"};
    return options;
}

class BehindNginx : public ::testing::Test {
protected:
    void SetUp() override {
        for (const char* program : {kNginx, kOpenssl}) {
            if (::access(program, X_OK) != 0) GTEST_SKIP() << "SKIPPED: no " << program;
        }
        fs::create_directories(folder_);
        make_certificate();
        write_configuration();
        ChildOptions options;
        options.argv = {kNginx, "-p", folder_, "-c", folder_ + "/nginx.conf"};
        options.term_grace_s = 0.3;
        nginx_ = std::make_unique<Child>(options);
        for (int i = 0; i < 100 && tls("GET /healthz HTTP/1.1").empty(); ++i) ::usleep(50000);
    }
    void TearDown() override {
        nginx_.reset();
        std::error_code error;
        fs::remove_all(folder_, error);
    }

    void make_certificate() const {
        ChildOptions options;
        options.argv = {kOpenssl,   "req",
                        "-x509",    "-newkey",
                        "rsa:2048", "-nodes",
                        "-keyout",  folder_ + "/key.pem",
                        "-out",     folder_ + "/cert.pem",
                        "-days",    "2",
                        "-subj",    "/CN=bench.example",
                        "-addext",  "subjectAltName=DNS:bench.example"};
        const ChildEnd end = run_child(options, 60);
        ASSERT_TRUE(end.ok()) << end.describe();
    }

    void write_configuration() {
        std::string site = documented_configuration();
        replace_all(site, "listen 443 ssl", fmt::format("listen 127.0.0.1:{} ssl", tls_port_));
        replace_all(site, "listen 80", fmt::format("listen 127.0.0.1:{}", plain_port_));
        replace_all(site, "/etc/steady/tls/fullchain.pem", folder_ + "/cert.pem");
        replace_all(site, "/etc/steady/tls/key.pem", folder_ + "/key.pem");
        replace_all(site, "127.0.0.1:8642", fmt::format("127.0.0.1:{}", server_.port()));
        std::ofstream(folder_ + "/site.conf") << site;
        std::string temporary;
        for (const char* what : {"client_body", "proxy", "fastcgi", "uwsgi", "scgi"}) {
            temporary += fmt::format("{}_temp_path {}/{};\n", what, folder_, what);
        }
        std::ofstream(folder_ + "/nginx.conf")
            << (::geteuid() == 0 ? "user root;\n" : "")
            << fmt::format(
                   "daemon off;\npid {0}/pid;\nerror_log {0}/error.log;\n"
                   "events {{}}\nhttp {{\naccess_log off;\n{1}include {0}/site.conf;\n}}\n",
                   folder_, temporary);
    }

    // One request over TLS; empty while nobody listens. lines: the request line and more headers.
    std::string tls(const std::string& lines, const std::string& body = "") const {
        ChildOptions options;
        options.argv = {kOpenssl,
                        "s_client",
                        "-quiet",
                        "-connect",
                        fmt::format("127.0.0.1:{}", tls_port_),
                        "-servername",
                        "bench.example",
                        "-CAfile",
                        folder_ + "/cert.pem",
                        "-verify_return_error",
                        "-ign_eof"};
        Child child(options);
        const std::string request = fmt::format(
            "{}\r\nHost: bench.example\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{}", lines,
            body.size(), body);
        child.write_line(request);
        return child.finish(10).out;
    }

    std::string folder_ = scratch_dir() + "/steady-nginx-" + random_hex(6);
    int tls_port_ = free_port(), plain_port_ = free_port();
    RunningDashboard server_{{}, behind_proxy()};
    std::unique_ptr<Child> nginx_;
};

TEST_F(BehindNginx, TheGuidesConfigurationServesThePage) {
    const std::string health = tls("GET /healthz HTTP/1.1");
    EXPECT_EQ(status_of(health), 200) << health << read_line_or_empty(folder_ + "/error.log");
    EXPECT_THAT(health, HasSubstr("Strict-Transport-Security"));
    EXPECT_THAT(tls("GET / HTTP/1.1"), HasSubstr("<!doctype html>"));

    // Every request comes from loopback now, and none of them is local.
    EXPECT_EQ(status_of(tls("GET /index.json HTTP/1.1")), 401);
    EXPECT_EQ(status_of(tls("GET /index.json HTTP/1.1\r\nX-Forwarded-For: 127.0.0.1")), 401);
    EXPECT_EQ(status_of(tls("GET /index.json HTTP/1.1\r\nAuthorization: Bearer read-token")), 200);
    EXPECT_EQ(status_of(exchange(server_.port(), get_request("/index.json"))), 401);

    const std::string origin =
        "\r\nOrigin: https://bench.example\r\nContent-Type: application/json";
    EXPECT_EQ(status_of(tls("POST /api/experiments HTTP/1.1" + origin, "{}")), 401);
    EXPECT_EQ(
        status_of(tls(
            "POST /api/experiments HTTP/1.1\r\nAuthorization: Bearer submit-token" + origin, "{}")),
        422)
        << "the file has errors, but the right and the origin are accepted";
    EXPECT_EQ(status_of(tls("GET /healthz HTTP/1.1\r\nOrigin: https://evil.example")), 403);
    EXPECT_THAT(tls("GET /metrics HTTP/1.1"), HasSubstr("steady_refused_writes_total"))
        << "for this machine";

    const std::string plain =
        exchange(static_cast<std::uint16_t>(plain_port_),
                 "GET /x/a HTTP/1.1\r\nHost: bench.example\r\nConnection: close\r\n\r\n");
    EXPECT_EQ(status_of(plain), 301);
    EXPECT_THAT(plain, HasSubstr("https://bench.example/x/a"));
}

}  // namespace
}  // namespace steady::web
