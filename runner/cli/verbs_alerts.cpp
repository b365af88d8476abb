// The alerts: what is open, sending them, what people make of them.
#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "kernels/base/error.h"
#include "runner/base/text.h"
#include "runner/cli/alert_channels.h"
#include "runner/cli/records.h"
#include "runner/cli/verbs.h"
#include "runner/storage/alert_store.h"

namespace steady {
namespace {

constexpr int kShownAlerts = 200;

void check_alert_state(const std::string& state) {
    for (const char* one : {"new", "acknowledged", "fixed", "wrong"}) {
        if (state == one) return;
    }
    throw Error(fmt::format("state: found \"{}\", allowed new, acknowledged, fixed, wrong", state));
}

}  // namespace

int verb_alerts_list(const Arguments& arguments) {
    const std::string state = arguments.get("state");
    if (!state.empty()) check_alert_state(state);
    Store store = open_store(arguments);
    std::vector<alerts::Alert> all;
    store.connection().transact([&](Transaction& transaction) {
        alerts::gather(transaction, {});
        all = alerts::list(transaction, state, kShownAlerts);
    });
    nlohmann::json rows = nlohmann::json::array();
    std::string text;
    for (const alerts::Alert& one : all) {
        rows.push_back(alerts::json(one));
        text += fmt::format("{:>4}  {:<12}  {}\n      {}\n", one.id, one.state,
                            escape_line(alerts::title(one)), escape_line(alerts::again(one)));
    }
    if (text.empty()) text = state.empty() ? "no alerts\n" : "no alerts with that state\n";
    text.pop_back();
    return print(arguments, {{"alerts", rows}}, text);
}

int verb_alerts_send(const Arguments& arguments) {
    if (!has_alert_channel(arguments)) {
        throw Error(
            "no channel is set: set STEADY_WEBHOOK to an address, or STEADY_ALERTS_MAIL to a mail "
            "address; `steady alerts list` only shows them");
    }
    const AlertsSent sent = send_alerts(arguments);
    print(arguments, {{"sent", sent.sent}, {"failed", sent.failed}, {"failure", sent.failure}},
          fmt::format("sent {}, failed {}", sent.sent, sent.failed));
    if (sent.failed > 0) throw Error(sent.failure, kExitInternal);
    return kExitOk;
}

int verb_alerts_set(const Arguments& arguments) {
    const long long id = std::strtoll(arguments.words[0].c_str(), nullptr, 10);
    if (id <= 0) {
        throw Error(
            fmt::format("ID: found \"{}\", allowed a number that `steady alerts list` shows",
                        arguments.words[0]));
    }
    check_alert_state(arguments.words[1]);
    const char* user = std::getenv("USER");
    Store store = open_store(arguments);
    std::string state;
    store.connection().transact([&](Transaction& transaction) {
        state = alerts::triage(transaction, id, arguments.words[1], arguments.get("owner"),
                               arguments.get("note"), user == nullptr ? "" : user);
    });
    if (state.empty()) throw Error(fmt::format("no alert {}: see steady alerts list", id));
    return print(arguments, {{"id", id}, {"state", state}}, fmt::format("alert {}: {}", id, state));
}

}  // namespace steady
