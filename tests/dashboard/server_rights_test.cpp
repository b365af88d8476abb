// Who may do what: every route of the table with every kind of visitor, in both modes of reading,
// and the checks on Host, Origin and Content-Type.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/dashboard/fake_source.h"
#include "tests/support/sample_record.h"

namespace steady::web {
namespace {

using ::testing::HasSubstr;

std::string filled(const Route& route) {
    std::string path = route.pattern;
    for (std::size_t open; (open = path.find('{')) != std::string::npos;) {
        const std::size_t end = path.find('}', open);
        const std::string key = path.substr(open + 1, end - open - 1);
        path.replace(open, end - open + 1,
                     key == "pair"      ? "a...b"
                     : key == "file..." ? "app.js"
                                        : key);
    }
    return path == "/index" ? "/index" : path;
}

Request make_request(const Route& route, const std::string& format, const std::string& token) {
    Request request;
    request.method = route.method;
    request.target = filled(route);
    if (format != "html" && format != "page") request.target += "." + format;
    request.headers["host"] = "127.0.0.1:8080";
    if (request.method == "POST") request.headers["content-type"] = "application/json";
    if (!token.empty()) request.headers["authorization"] = "Bearer " + token;
    request.body = "{}";
    return request;
}

int status_for(App& app, Request request) {
    const auto source = fake_source()();
    if (auto quick = app.quick(request)) return quick->status;
    return app.work(request, source.get()).status;
}

// What the scope rules say, written down apart from the code under test.
bool allowed(Scope scope, const std::string& role, bool reads_need_token) {
    if (scope == Scope::open) return true;
    if (scope == Scope::read && !reads_need_token) return true;
    if (role == "admin") return true;
    return role == name(scope);
}

TEST(Rights, EveryRouteWithEveryRole) {
    int checked = 0;
    for (const bool closed : {false, true}) {
        for (const Route& route : routes()) {
            App app;  // of its own: too many wrong tokens are refused for a while
            app.options.reads_need_token = closed;
            std::string formats = route.formats;
            const std::string last = formats.substr(formats.rfind(',') + 1);
            for (const std::string role : {"", "read", "submit", "cancel", "admin", "wrong"}) {
                const std::string token = role.empty() ? "" : role + "-token";
                const bool shell = last == "page";
                const std::string format = std::string(route.method) == "POST" ? "html" : last;
                const int status = status_for(app, make_request(route, format, token));
                const bool refused = status == 401 || status == 403;
                EXPECT_EQ(!refused, shell || allowed(route.scope, role, closed))
                    << route.method << " " << route.pattern << " as '" << role << "' closed "
                    << closed << ": " << status;
                if (refused) {
                    EXPECT_EQ(status, role.empty() || role == "wrong" ? 401 : 403);
                }
                ++checked;
            }
        }
    }
    EXPECT_GT(checked, 200);
}

TEST(Rights, PagesAreShellsWithoutData) {
    App app;
    app.options.reads_need_token = true;
    Request request;
    request.method = "GET";
    request.target = "/x/some-id";
    request.headers["host"] = "localhost";
    const auto response = app.quick(request);
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, 200);
    EXPECT_THAT(response->body, ::testing::Not(HasSubstr("some-id")));
}

struct HostCase {
    const char *host, *origin;
    int status;
};

TEST(Rights, HostAndOrigin) {
    App app;
    app.options.hosts = {"bench.example"};
    const HostCase cases[] = {{"127.0.0.1:8080", "", 200},
                              {"localhost", "", 200},
                              {"LOCALHOST:1", "", 200},
                              {"[::1]:8080", "", 200},
                              {"bench.example", "", 200},
                              {"evil.example", "", 421},
                              {"localhost.evil.example", "", 421},
                              {"127.0.0.1.evil.example", "", 421},
                              {"", "", 421},
                              {"a:b:c", "", 421},
                              {"localhost", "http://localhost", 200},
                              {"localhost", "http://evil.example", 403},
                              {"localhost", "null", 403},
                              {"localhost:1", "http://localhost:2", 403}};
    for (const HostCase& one : cases) {
        Request request;
        request.method = "GET";
        request.target = "/healthz";
        request.headers["host"] = one.host;
        if (*one.origin != 0) request.headers["origin"] = one.origin;
        const auto response = app.quick(request);
        ASSERT_TRUE(response);
        EXPECT_EQ(response->status, one.status) << one.host << " from " << one.origin;
    }
}

TEST(Rights, FormsFromOtherSitesCannotWrite) {
    App app;
    Request request;
    request.method = "POST";
    request.target = "/api/experiments";
    request.headers = {{"host", "localhost"}, {"content-type", "text/plain"}};
    EXPECT_EQ(app.quick(request)->status, 415);
    request.headers["content-type"] = "application/x-www-form-urlencoded";
    EXPECT_EQ(app.quick(request)->status, 415);
    request.headers["content-type"] = "application/json";
    request.headers["sec-fetch-site"] = "cross-site";
    EXPECT_EQ(app.quick(request)->status, 403);
}

TEST(Rights, MethodsAreTold) {
    App app;
    Request request;
    request.method = "DELETE";
    request.target = "/healthz";
    request.headers["host"] = "localhost";
    const auto response = app.quick(request);
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, 405);
    EXPECT_THAT(response->headers, ::testing::Contains(::testing::Pair("Allow", "GET, HEAD")));
}

TEST(Rights, SubmissionsAreLimitedPerToken) {
    App app;
    app.options.submits_per_minute = 3;
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(app.may_submit("one"));
    EXPECT_FALSE(app.may_submit("one"));
    EXPECT_TRUE(app.may_submit("other"));
}

TEST(Rights, WhatATokenStoresInADayIsBounded) {
    App app;
    app.options.submit_bytes_per_day = 1000;
    EXPECT_TRUE(app.may_store("one", 600));
    EXPECT_FALSE(app.may_store("one", 600));
    EXPECT_TRUE(app.may_store("one", 400));
    EXPECT_FALSE(app.may_store("one", 1));
    EXPECT_TRUE(app.may_store("other", 600));

    Request request;
    request.method = "POST";
    request.target = "/api/experiments";
    request.headers = {{"host", "localhost"},
                       {"content-type", "application/json"},
                       {"authorization", "Bearer submit-token"}};
    request.body = accepted_record().spec_text;
    const auto submit = [&] {
        const auto source = fake_source()();
        Request copy = request;
        EXPECT_FALSE(app.quick(copy));
        return app.work(copy, source.get());
    };
    const Response refused = submit();
    EXPECT_EQ(refused.status, 429) << refused.body;
    EXPECT_THAT(refused.body, HasSubstr("for one day"));
    app.options.submit_bytes_per_day = 100'000'000;
    EXPECT_EQ(submit().status, 201);
}

TEST(Rights, TheDescriptionNamesEveryRoute) {
    const auto document = nlohmann::json::parse(openapi_json());
    std::size_t operations = 0;
    for (const auto& [path, methods] : document["paths"].items()) operations += methods.size();
    EXPECT_GT(operations, routes().size());
    EXPECT_EQ(document["paths"]["/api/experiments"]["post"]["x-scope"], "submit");
    EXPECT_TRUE(document["paths"].contains("/x/{id}.json"));
    EXPECT_TRUE(document["paths"].contains("/x/{id}/figure/{name}.svg"));
}

TEST(Rights, EveryAnswerCarriesTheSecurityHeaders) {
    RunningDashboard server;
    for (const char* target :
         {"/", "/healthz", "/x/a.json", "/j/a", "/nowhere", "/assets/app.js"}) {
        const std::string answer = exchange(server.port(), get_request(target));
        EXPECT_THAT(answer, HasSubstr("Content-Security-Policy: default-src 'self'")) << target;
        EXPECT_THAT(answer, HasSubstr("frame-ancestors 'none'")) << target;
        EXPECT_THAT(answer, HasSubstr("X-Content-Type-Options: nosniff")) << target;
        EXPECT_THAT(answer, HasSubstr("Referrer-Policy: no-referrer")) << target;
        EXPECT_THAT(answer, ::testing::Not(HasSubstr("unsafe-inline"))) << target;
        EXPECT_THAT(answer, ::testing::Not(HasSubstr("Set-Cookie"))) << target;
    }
}

TEST(Rights, TheShellHasNoInlineScriptOrStyle) {
    const auto shell = exchange(RunningDashboard().port(), get_request("/"));
    EXPECT_THAT(shell, ::testing::Not(HasSubstr("<style")));
    EXPECT_THAT(shell, ::testing::Not(HasSubstr(" style=")));
    EXPECT_THAT(shell, ::testing::Not(HasSubstr("<script>")));
    EXPECT_THAT(shell, ::testing::Not(HasSubstr("https://")));
}

// A server whose database is away answers at once and says so.
TEST(Rights, DatabaseAwayIsSaid) {
    RunningDashboard server({}, {},
                            []() -> std::unique_ptr<Source> { throw SourceUnavailable("away"); });
    EXPECT_EQ(status_of(exchange(server.port(), get_request("/index.json"))), 503);
    EXPECT_THAT(exchange(server.port(), get_request("/healthz")),
                HasSubstr("\"database\":\"down\""));
}

TEST(Rights, WideBindWithoutTokenIsRefusedByServe) {
    ServeOptions options;
    options.address = "not an address";
    options.port = 0;
    EXPECT_THROW(Dashboard(options, fake_source()), std::exception);
}

// A crowd that asks before the first answer is there costs the database one question too.
TEST(Sharing, WhoWaitedGetsTheAnswerThatAnotherBrought) {
    App app;
    const auto source = fake_source()();
    int asked = 0;
    source->list = [&asked, list = source->list](const page::ListQuery& query) {
        ++asked;
        return list(query);
    };
    Request first, second;
    for (Request* request : {&first, &second}) {
        request->method = "GET";
        request->target = "/index.json";
        request->headers["host"] = "127.0.0.1:8080";
        ASSERT_FALSE(app.quick(*request));
    }
    const Response answer = app.work(first, source.get());
    EXPECT_EQ(app.work(second, source.get()).body, answer.body);
    EXPECT_EQ(asked, 1);
}

// Reads that need a token are nobody else's.
TEST(Sharing, NothingIsSharedWhereReadsNeedAToken) {
    App app;
    app.options.reads_need_token = true;
    const auto source = fake_source()();
    Request request;
    request.method = "GET";
    request.target = "/index.json";
    request.headers["host"] = "127.0.0.1:8080";
    request.headers["authorization"] = "Bearer read-token";
    ASSERT_FALSE(app.quick(request));
    EXPECT_EQ(app.work(request, source.get()).status, 200);
    request.headers.erase("authorization");
    EXPECT_FALSE(app.quick(request));
    EXPECT_EQ(app.work(request, source.get()).status, 401);
}

}  // namespace
}  // namespace steady::web
