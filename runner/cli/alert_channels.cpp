// An alert reaches each channel at least once: its attempt is stored after the channel has it.
#include "runner/cli/alert_channels.h"

#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <thread>

#include "kernels/base/error.h"
#include "runner/base/sha256.h"
#include "runner/cli/jobs.h"
#include "runner/cli/records.h"
#include "runner/cli/workspace.h"
#include "runner/platform/process.h"
#include "runner/platform/settings.h"
#include "runner/platform/webhook.h"
#include "runner/storage/alert_store.h"

namespace steady {
namespace {

constexpr int kTriesNow = 3;
constexpr double kMailSeconds = 30;

using Deliver = std::function<void(const alerts::Alert&)>;

std::string webhook_url(const Arguments& arguments) {
    return arguments.has("webhook") ? arguments.get("webhook") : setting("webhook");
}

// The same for every try of one alert, different for any two alerts.
std::string message_id(const alerts::Alert& alert) {
    return "steady-" +
           sha256_hex(fmt::format("{}\n{}\n{}", alert.id, alert.at, alert.subject)).substr(0, 24);
}

// A checkout of somebody else may name a webhook; it must not get this user's token.
std::string webhook_token(const Arguments& arguments) {
    std::string token = setting("webhook_token");
    const auto named = find_setting("webhook");
    const std::string checkout = settings_files().front();
    if (!token.empty() && !arguments.has("webhook") && named &&
        named->origin.starts_with(checkout + ":")) {
        throw Error(fmt::format(
            "webhook_token is set, but the address comes from {}: allowed with a token is an "
            "address of your own, by STEADY_WEBHOOK or webhook_file in your steady.json",
            named->origin));
    }
    return token;
}

alerts::Wanted wanted_alerts() {
    const std::string on = setting("alerts_on");
    if (on.empty()) return {};
    alerts::Wanted wanted{.changes = false, .failures = false, .verdicts = false};
    for (const std::string& word : split_list(on)) {
        if (word == "change") {
            wanted.changes = true;
        } else if (word == "failure") {
            wanted.failures = true;
        } else if (word == "verdict") {
            wanted.verdicts = true;
        } else {
            throw Error(
                fmt::format("alerts_on: found \"{}\", allowed change, failure, verdict", word));
        }
    }
    return wanted;
}

void send_mail(const alerts::Alert& alert, const std::string& to) {
    const std::string program = setting("alerts_sendmail");
    ChildOptions options;
    options.argv = {program.empty() ? "/usr/sbin/sendmail" : program, "-t", "-i"};
    options.stop = &interrupt_signal();
    Child child(options);
    const std::string text = alerts::mail(alert, to);
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find('\n', at);
        if (!child.write_line(text.substr(at, end - at), kMailSeconds)) break;
        at = end + 1;
    }
    const ChildEnd ended = child.finish(kMailSeconds);
    if (!ended.ok()) throw Error(options.argv[0] + ": " + ended.describe(), kExitInternal);
}

// The message of the last failure; empty: delivered.
std::string try_now(const alerts::Alert& alert, const Deliver& deliver) {
    std::string failure;
    for (int i = 0; i < kTriesNow && !interrupt_signal().raised(); ++i) {
        if (i > 0) std::this_thread::sleep_for(std::chrono::milliseconds(250 << (2 * i)));
        try {
            deliver(alert);
            return "";
        } catch (const Error& error) {
            failure = error.what();
        }
    }
    return failure.empty() ? "stopped" : failure;
}

void send_channel(Store& store, const std::string& channel, const Deliver& deliver,
                  AlertsSent& sent) {
    std::vector<alerts::Alert> due;
    store.connection().transact(
        [&](Transaction& transaction) { due = alerts::due(transaction, channel); });
    for (const alerts::Alert& alert : due) {
        const std::string failure = try_now(alert, deliver);
        store.connection().transact([&](Transaction& transaction) {
            alerts::keep_attempt(transaction, alert.id, channel, failure);
        });
        if (failure.empty()) {
            ++sent.sent;
            continue;
        }
        ++sent.failed;
        if (sent.failure.empty()) {
            sent.failure = failure + ". It is kept; try again with: steady alerts send";
        }
        return;  // the next one would fail likewise; all stay due
    }
}

}  // namespace

bool has_alert_channel(const Arguments& arguments) {
    return !webhook_url(arguments).empty() || !setting("alerts_mail").empty();
}

void gather_alerts(const Arguments& arguments) {
    const alerts::Wanted wanted = wanted_alerts();
    Store store = open_store(arguments);
    store.connection().transact(
        [&](Transaction& transaction) { alerts::gather(transaction, wanted); });
}

AlertsSent send_alerts(const Arguments& arguments) {
    const alerts::Wanted wanted = wanted_alerts();
    const alerts::Shape shape = alerts::shape_of(setting("alerts_shape"));
    const std::string url = webhook_url(arguments), to = setting("alerts_mail");
    std::optional<WebhookAddress> webhook;
    if (!url.empty()) webhook = parse_webhook(url);
    if (!to.empty()) alerts::mail({}, to);
    Store store = open_store(arguments);
    store.connection().transact(
        [&](Transaction& transaction) { alerts::gather(transaction, wanted); });
    AlertsSent sent;
    if (webhook) {
        webhook->token = webhook_token(arguments);
        const auto post = [&](const alerts::Alert& alert) {
            const WebhookAddress address = shape == alerts::Shape::matrix
                                               ? matrix_message(*webhook, message_id(alert))
                                               : *webhook;
            send_webhook(address, alerts::body(alert, shape));
        };
        send_channel(store, "webhook", post, sent);
    }
    if (!to.empty()) {
        send_channel(
            store, "mail", [&](const alerts::Alert& alert) { send_mail(alert, to); }, sent);
    }
    return sent;
}

}  // namespace steady
