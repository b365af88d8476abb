// Texts of repositories and people reach chat programs here: each shape has its own escapes.
#include "runner/track/alerts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "kernels/base/error.h"
#include "runner/base/text.h"
#include "runner/figures/numbers.h"
#include "runner/track/track.h"

namespace steady::alerts {
namespace {

std::string replaced(const std::string& text, std::string_view what,
                     const std::vector<std::string>& by) {
    std::string out;
    for (const char c : text) {
        const std::size_t at = what.find(c);
        if (at == std::string_view::npos) {
            out += c;
        } else {
            out += by[at];
        }
    }
    return out;
}

std::string html(const std::string& text) {
    return replaced(text, "&<>\"\n", {"&amp;", "&lt;", "&gt;", "&quot;", "<br>"});
}

std::string range_of(const Alert& alert) {
    return alert.before.substr(0, 12) + ".." + alert.commit.substr(0, 12);
}

std::string repository_of(const Alert& alert) {
    return alert.subject.substr(0, alert.subject.rfind(':'));
}

std::string member_line(const Member& one) {
    std::string line = fmt::format("{} on {}: {}", one.metric, one.host,
                                   figures::percent(std::expm1(one.shift), 1));
    line += fmt::format(" ({}", one.cause);
    if (!one.confirmation.empty()) {
        line += fmt::format("; direct A/B {}: {}", one.confirmed_by, one.confirmation);
    }
    return line + ") " + one.series;
}

std::string link_of(const Alert& alert) {
    if (alert.members.empty()) return "";
    return compare_url(alert.members.front().forge, alert.before, alert.commit);
}

}  // namespace

std::string title(const Alert& alert) {
    if (alert.kind == "failure") {
        return fmt::format("Steady: {} failed{}", alert.subject,
                           alert.reason.empty() ? "" : ": " + escape_line(alert.reason));
    }
    if (alert.kind == "verdict") {
        return fmt::format("Steady: {} {}{}{}", alert.subject, alert.verdict,
                           alert.reason.empty() ? "" : ", ", alert.reason);
    }
    const std::string name = repository_of(alert);
    const double most = alert.members.empty() ? 0 : std::expm1(alert.members.front().shift);
    return fmt::format("Steady: {} became {}, {}, in {} ({} series)",
                       name.empty() ? "steady-engine" : name, alert.slower ? "slower" : "faster",
                       figures::percent(most, 1), range_of(alert), alert.members.size());
}

std::string again(const Alert& alert) {
    if (alert.kind == "failure") return "steady requeue " + alert.subject;
    if (alert.kind == "verdict") return "steady show " + alert.subject;
    for (const Member& one : alert.members) {
        if (!one.confirmed_by.empty()) return "steady rerun " + one.confirmed_by;
    }
    const std::string name = repository_of(alert);
    return name.empty() ? "steady track --commit " + range_of(alert)
                        : fmt::format("steady track --repo {} --list", name);
}

std::string message(const Alert& alert) {
    std::string out = title(alert) + "\n";
    if (!alert.claim.empty()) out += "Claim: " + escape_line(alert.claim) + "\n";
    for (const Member& one : alert.members) out += "- " + escape_line(member_line(one)) + "\n";
    const std::string link = link_of(alert);
    if (!link.empty()) out += link + "\n";
    return out + "See it again: " + again(alert);
}

nlohmann::json json(const Alert& alert) {
    nlohmann::json members = nlohmann::json::array();
    for (const Member& one : alert.members) {
        members.push_back({{"series", one.series},
                           {"metric", one.metric},
                           {"host", one.host},
                           {"repository", one.repository},
                           {"branch", one.branch},
                           {"shift", std::expm1(one.shift)},
                           {"p", one.p},
                           {"cause", one.cause},
                           {"confirmation", one.confirmation},
                           {"confirmed_by", one.confirmed_by},
                           {"gone", one.gone}});
    }
    return {{"id", alert.id},
            {"kind", alert.kind},
            {"subject", alert.subject},
            {"title", title(alert)},
            {"slower", alert.slower},
            {"before", alert.before},
            {"commit", alert.commit},
            {"compare", link_of(alert)},
            {"at", alert.at},
            {"state", alert.state},
            {"owner", alert.owner},
            {"note", alert.note},
            {"triaged_by", alert.triaged_by},
            {"deliveries", alert.deliveries},
            {"claim", alert.claim},
            {"verdict", alert.verdict},
            {"reason", alert.reason},
            {"again", again(alert)},
            {"series", std::move(members)}};
}

Shape shape_of(const std::string& name) {
    if (name.empty() || name == "json") return Shape::json;
    if (name == "slack") return Shape::slack;
    if (name == "matrix") return Shape::matrix;
    throw Error(fmt::format("alerts_shape: found \"{}\", allowed json, slack, matrix", name));
}

std::string body(const Alert& alert, Shape shape) {
    const std::string text = message(alert);
    nlohmann::json out;
    switch (shape) {
        case Shape::slack:
            out = {{"text", replaced(text, "&<>", {"&amp;", "&lt;", "&gt;"})}};
            break;
        case Shape::matrix:
            out = {{"msgtype", "m.text"},
                   {"body", text},
                   {"format", "org.matrix.custom.html"},
                   {"formatted_body", html(text)}};
            break;
        case Shape::json:
            out = json(alert);
            out["text"] = text;
            break;
    }
    return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string mail(const Alert& alert, const std::string& to) {
    const auto plain = [](char c) {
        return static_cast<unsigned char>(c) > 0x20 && c != ',' && c != ';' && c != 0x7f;
    };
    if (to.find('@') == std::string::npos || to.front() == '-' ||
        !std::all_of(to.begin(), to.end(), plain)) {
        throw Error(fmt::format(
            "alerts_mail: found \"{}\", allowed an address like kim@example.org", escape_line(to)));
    }
    std::string subject;
    for (const char c : title(alert)) {
        subject +=
            static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e ? '?' : c;
    }
    return fmt::format(
        "To: {}\nSubject: {}\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n"
        "Content-Transfer-Encoding: 8bit\nAuto-Submitted: auto-generated\n\n{}\n",
        to, subject, message(alert));
}

}  // namespace steady::alerts
