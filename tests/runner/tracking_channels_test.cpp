// Alerts on their way out: the real program against a server on loopback and against a script that
// stands for sendmail. The alerts are rows, since how they come about is tested elsewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/support/hook_server.h"
#include "tests/support/steady_cli.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

class TrackingChannels : public ::testing::Test {
protected:
    SteadyCli cli;

    void alert(const std::string& subject) {
        cli.run({"queue"});  // makes the database
        const CliResult done = cli.run(
            {"db", "psql", "--", "-q", "-c",
             "insert into steady.alert (kind, subject) values ('failure', '" + subject + "')"});
        ASSERT_EQ(done.code, 0) << done.err;
    }

    static nlohmann::json parsed(const std::string& body) {
        return nlohmann::json::parse(body, nullptr, false);
    }
};

TEST_F(TrackingChannels, AWebhookIsTriedAgainUntilItTookTheAlertOnce) {
    alert("parse-large-1a2b3c4d");
    HookServer server({500, 500, 500, 503});
    cli.set("STEADY_WEBHOOK", server.url());
    const CliResult failed = cli.run({"alerts", "send"});
    EXPECT_EQ(failed.code, 1) << failed.out << failed.err;
    EXPECT_THAT(failed.err, HasSubstr("status 500"));
    EXPECT_THAT(failed.err, HasSubstr("steady alerts send"));
    EXPECT_THAT(failed.err, Not(HasSubstr("s3cret")));
    EXPECT_EQ(server.bodies().size(), 3U);
    EXPECT_EQ(cli.run({"alerts", "send", "--json"}).json().at("sent"), 0) << "due in a minute";
    cli.run({"db", "psql", "--", "-q", "-c",
             "update steady.alert_delivery set next_at = clock_timestamp()"});
    EXPECT_EQ(cli.run({"alerts", "send", "--json"}).json().at("sent"), 1);
    const std::vector<std::string> bodies = server.bodies();
    ASSERT_EQ(bodies.size(), 5U) << "the fourth was refused, the fifth taken";
    EXPECT_EQ(bodies[0], bodies[2]) << "the same text each time";
    EXPECT_THAT(parsed(bodies[4]).at("text").get<std::string>(), HasSubstr("parse-large-1a2b3c4d"));
    EXPECT_EQ(cli.run({"alerts", "send", "--json"}).json().at("sent"), 0);
    EXPECT_EQ(server.bodies().size(), 5U) << "nobody is told twice";
}

TEST_F(TrackingChannels, SlackAndMatrixGetTheirOwnBodies) {
    alert("parse-<large>-1a2b3c4d");
    HookServer server;
    cli.set("STEADY_WEBHOOK", server.url());
    cli.set("STEADY_ALERTS_SHAPE", "slack");
    ASSERT_EQ(cli.run({"alerts", "send"}).code, 0);
    cli.run({"db", "psql", "--", "-q", "-c", "delete from steady.alert_delivery"});
    cli.unset("STEADY_ALERTS_SHAPE");
    cli.set("STEADY_ALERTS_SHAPE", "matrix");
    const CliResult second = cli.run({"alerts", "send"});
    ASSERT_EQ(second.code, 0) << second.err;
    const std::vector<std::string> bodies = server.bodies();
    ASSERT_EQ(bodies.size(), 2U);
    const nlohmann::json slack = parsed(bodies[0]), matrix = parsed(bodies[1]);
    EXPECT_EQ(slack.size(), 1U) << bodies[0];
    EXPECT_THAT(slack.at("text").get<std::string>(), HasSubstr("parse-&lt;large&gt;-1a2b3c4d"));
    EXPECT_EQ(matrix.at("msgtype"), "m.text") << bodies[1];
    EXPECT_THAT(matrix.at("body").get<std::string>(), HasSubstr("parse-<large>-1a2b3c4d"));
    EXPECT_THAT(matrix.at("formatted_body").get<std::string>(), HasSubstr("parse-&lt;large&gt;"));
}

TEST_F(TrackingChannels, AnAddressOfACheckoutGetsNoToken) {
    alert("parse-large-1a2b3c4d");
    HookServer server;
    std::ofstream(cli.root() / "hook") << server.url() << "\n";
    std::ofstream(cli.root() / "steady.json") << R"({"webhook_file": "hook"})";
    cli.set("STEADY_WEBHOOK_TOKEN", "syt_s3cret");
    const CliResult refused = cli.run({"alerts", "send"});
    EXPECT_EQ(refused.code, 2) << refused.out;
    EXPECT_THAT(refused.err, HasSubstr("an address of your own, by STEADY_WEBHOOK"));
    EXPECT_TRUE(server.bodies().empty());
    cli.unset("STEADY_WEBHOOK_TOKEN");
    EXPECT_EQ(cli.run({"alerts", "send"}).code, 0);
    EXPECT_EQ(server.bodies().size(), 1U);
}

TEST_F(TrackingChannels, MailGoesThroughTheProgramThatIsNamed) {
    alert("parse-large-1a2b3c4d");
    const fs::path script = cli.state() / "sendmail", letter = cli.state() / "letter";
    std::ofstream(script) << "#!/bin/sh\necho \"$@\" > " << letter.string() << "\ncat >> "
                          << letter.string() << "\n";
    fs::permissions(script, fs::perms::owner_all);
    cli.set("STEADY_ALERTS_MAIL", "team@bench.example");
    cli.set("STEADY_ALERTS_SENDMAIL", script.string());
    const CliResult sent = cli.run({"alerts", "send", "--json"});
    ASSERT_EQ(sent.code, 0) << sent.err;
    EXPECT_EQ(sent.json().at("sent"), 1);
    std::stringstream text;
    text << std::ifstream(letter).rdbuf();
    EXPECT_THAT(text.str(), HasSubstr("-t -i\n"));
    EXPECT_THAT(text.str(), HasSubstr("To: team@bench.example\n"));
    EXPECT_THAT(text.str(), HasSubstr("parse-large-1a2b3c4d"));
}

}  // namespace
}  // namespace steady
