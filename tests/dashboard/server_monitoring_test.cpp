// The alerts and the Grafana dashboard ask for figures that /metrics has, and the operator's page
// explains each alert.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "tests/dashboard/fake_source.h"

namespace steady::web {
namespace {

using ::testing::HasSubstr;

std::string text_of(const std::string& path) {
    std::ifstream file(std::string(STEADY_SOURCE_DIR) + "/dashboard/" + path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

std::set<std::string> matches(const std::string& text, const std::string& pattern) {
    const std::regex wanted(pattern);
    std::set<std::string> found;
    for (std::sregex_iterator at(text.begin(), text.end(), wanted), end; at != end; ++at) {
        found.insert(at->str(1));
    }
    return found;
}

// Of an app that has heard from its database, and of a server that listens.
std::set<std::string> told_names() {
    App app;
    app.options.state_dir = "/tmp";
    app.note_probe_sent();
    service::State state;
    state.host_free_bytes = 1;
    app.note_probe(state, "", 1);
    Request request;
    request.method = "GET";
    request.target = "/metrics";
    request.headers["host"] = "localhost";
    request.peer = "127.0.0.1";
    const RunningDashboard server({}, {});
    return matches(app.quick(request)->body + exchange(server.port(), get_request("/metrics")),
                   "\n((?:steady|process)_[a-z_]+)[ {]");
}

TEST(Monitoring, AsksOnlyForFiguresThatThePageTells) {
    const std::set<std::string> told = told_names();
    for (const char* file : {"monitoring/steady.rules.yml", "monitoring/grafana.json"}) {
        const auto asked = matches(text_of(file), "\\b((?:steady|process)_[a-z_]+)\\b");
        EXPECT_GT(asked.size(), 8) << file;
        for (const std::string& name : asked)
            EXPECT_TRUE(told.contains(name)) << file << ": " << name;
    }
}

TEST(Monitoring, ThePageOfTheOperatorNamesEveryAlert) {
    const std::string page = text_of("DEPLOY.md");
    const auto alerts = matches(text_of("monitoring/steady.rules.yml"), "alert: ([A-Za-z]+)");
    EXPECT_GT(alerts.size(), 8);
    for (const std::string& alert : alerts) EXPECT_THAT(page, HasSubstr(alert));
}

TEST(Monitoring, TheDashboardIsJsonWithAQueryInEachPanel) {
    const auto board = nlohmann::json::parse(text_of("monitoring/grafana.json"));
    std::set<int> ids;
    for (const auto& panel : board.at("panels")) {
        EXPECT_TRUE(ids.insert(panel.at("id").get<int>()).second) << "an id twice";
        EXPECT_FALSE(panel.at("targets").at(0).at("expr").get<std::string>().empty());
    }
    EXPECT_GT(ids.size(), 8);
}

}  // namespace
}  // namespace steady::web
