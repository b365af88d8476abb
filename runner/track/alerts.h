// An alert and its words: for people, for chat programs, for mail. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace steady::alerts {

// A series whose change of level belongs to an alert.
struct Member {
    std::string series, metric, host, repository, branch, forge, question;
    double shift = 0;  // log units, below zero is slower
    double p = 1;
    std::string cause, confirmation, confirmed_by;
    bool gone = false;  // later points no longer show it
};

struct Alert {
    std::int64_t id = 0;
    std::string kind;            // change, verdict, failure
    std::string subject;         // of a change repository:branch, else the experiment's id
    bool slower = false;         // of a change
    std::string before, commit;  // of a change: the culprit lies in before..commit
    std::string at, state, owner, note, triaged_by, deliveries;
    std::string claim, verdict, reason, host;  // of a verdict or a failure
    std::vector<Member> members;               // of a change, the largest shift first
};

std::string title(const Alert& alert);    // one line
std::string again(const Alert& alert);    // the command that shows it again
std::string message(const Alert& alert);  // title, members, command; a few lines

nlohmann::json json(const Alert& alert);

// What a channel sends. slack: {"text"} with Slack's marks. matrix: an m.room.message event with
// plain and HTML text. json: json() and the message.
enum class Shape { json, slack, matrix };
Shape shape_of(const std::string& name);  // throws Error naming what is allowed
std::string body(const Alert& alert, Shape shape);

// A whole mail for `sendmail -t`. Throws Error for an address that is none.
std::string mail(const Alert& alert, const std::string& to);

}  // namespace steady::alerts
