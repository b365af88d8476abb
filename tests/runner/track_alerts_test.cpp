// The words of an alert: each channel's shape is legal, texts of others stay text, and each says
// what to run to see it again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "kernels/base/error.h"
#include "runner/track/alerts.h"

namespace steady {
namespace {

using alerts::Shape;
using ::testing::HasSubstr;
using ::testing::Not;

alerts::Alert change() {
    alerts::Alert one;
    one.id = 3;
    one.kind = "change";
    one.subject = "parser:main";
    one.slower = true;
    one.before = std::string(40, 'a');
    one.commit = std::string(40, 'b');
    one.members = {{.series = "parser-main-work-on-bench",
                    .metric = "work_items",
                    .host = "bench",
                    .repository = "parser",
                    .branch = "main",
                    .forge = "https://forge.example/t/p",
                    .question = "parser:main:work",
                    .shift = -0.03,
                    .cause = "code",
                    .confirmation = "confirmed",
                    .confirmed_by = "watch-work-bbbb-ab-12345678"}};
    return one;
}

alerts::Alert failure() {
    alerts::Alert one;
    one.kind = "failure";
    one.subject = "idea-12345678";
    one.reason = "crashed <@everyone> & \"more\"\nline";
    one.claim = "<script>x</script>";
    return one;
}

TEST(TrackAlerts, EachSaysWhatToRunAgain) {
    EXPECT_THAT(alerts::message(change()),
                HasSubstr("See it again: steady rerun watch-work-bbbb-ab-12345678"));
    EXPECT_THAT(alerts::title(change()), HasSubstr("parser became slower"));
    EXPECT_THAT(alerts::message(change()), HasSubstr("/compare/" + std::string(40, 'a')));
    EXPECT_THAT(alerts::message(failure()), HasSubstr("steady requeue idea-12345678"));
    alerts::Alert verdict = failure();
    verdict.kind = "verdict";
    verdict.verdict = "reject";
    EXPECT_THAT(alerts::message(verdict), HasSubstr("steady show idea-12345678"));
    alerts::Alert own = change();
    own.subject = ":";
    own.members[0].confirmed_by.clear();
    EXPECT_THAT(alerts::again(own), HasSubstr("steady track --commit aaaaaaaaaaaa..bbbbbbbbbbbb"));
}

TEST(TrackAlerts, TextsOfOthersStayText) {
    const auto slack = nlohmann::json::parse(alerts::body(failure(), Shape::slack));
    EXPECT_EQ(slack.size(), 1u);
    EXPECT_THAT(slack.at("text").get<std::string>(), HasSubstr("&lt;@everyone&gt; &amp;"));
    EXPECT_THAT(slack.at("text").get<std::string>(), Not(HasSubstr("<")));
    const auto matrix = nlohmann::json::parse(alerts::body(failure(), Shape::matrix));
    EXPECT_EQ(matrix.at("msgtype"), "m.text");
    EXPECT_EQ(matrix.at("format"), "org.matrix.custom.html");
    EXPECT_THAT(matrix.at("formatted_body").get<std::string>(), Not(HasSubstr("<script")));
    EXPECT_THAT(matrix.at("formatted_body").get<std::string>(), HasSubstr("<br>"));
    EXPECT_THAT(matrix.at("body").get<std::string>(), HasSubstr("<script>"));
    const auto plain = nlohmann::json::parse(alerts::body(change(), Shape::json));
    EXPECT_EQ(plain.at("series").at(0).at("confirmation"), "confirmed");
    EXPECT_NEAR(plain.at("series").at(0).at("shift").get<double>(), std::exp(-0.03) - 1, 1e-12);
}

TEST(TrackAlerts, AMailHasNoSecondHeader) {
    const std::string mail = alerts::mail(failure(), "kim@example.org");
    const std::string head = mail.substr(0, mail.find("\n\n"));
    EXPECT_THAT(mail, ::testing::StartsWith("To: kim@example.org\nSubject: Steady: idea-12345678"));
    EXPECT_EQ(std::count(head.begin(), head.end(), '\n'), 5) << head;
    for (const char* bad : {"kim", "-oX@example.org", "a@b\nBcc: c@d", "a@b,c@d", "a b@c"}) {
        EXPECT_THROW(alerts::mail(failure(), bad), Error) << bad;
    }
}

TEST(TrackAlerts, UnknownShapesAreRefused) {
    EXPECT_EQ(alerts::shape_of(""), Shape::json);
    EXPECT_EQ(alerts::shape_of("matrix"), Shape::matrix);
    EXPECT_THROW(alerts::shape_of("teams"), Error);
}

}  // namespace
}  // namespace steady
