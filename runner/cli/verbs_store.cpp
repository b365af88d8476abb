// Verbs on the store: fault test, tokens, requeue and priority, retention.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kernels/base/error.h"
#include "runner/cli/jobs.h"
#include "runner/cli/records.h"
#include "runner/cli/verbs.h"
#include "runner/fault/drill.h"
#include "runner/platform/token.h"

namespace steady {
namespace {

bool on_or_off(const Arguments& arguments, const std::string& name) {
    const std::string value = arguments.get(name, "on");
    if (value != "on" && value != "off") {
        throw Error(fmt::format("--{}: found \"{}\", allowed on or off", name, value));
    }
    return value == "on";
}

constexpr const char* kScopes[] = {"read", "submit", "cancel", "commands", "admin"};

std::vector<std::string> scopes_from(const std::string& text) {
    std::vector<std::string> scopes;
    std::stringstream in(text);
    for (std::string scope; std::getline(in, scope, ',');) {
        if (std::find(std::begin(kScopes), std::end(kScopes), scope) == std::end(kScopes)) {
            throw Error(
                fmt::format("--scopes: found \"{}\", allowed {}", scope, fmt::join(kScopes, ", ")));
        }
        scopes.push_back(scope);
    }
    if (scopes.empty()) {
        throw Error(fmt::format("--scopes: found nothing, allowed {}", fmt::join(kScopes, ", ")));
    }
    return scopes;
}

std::string days_from_now(long long days) {
    const std::time_t then = std::time(nullptr) + days * 86400;
    std::tm utc{};
    ::gmtime_r(&then, &utc);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return text;
}

std::string tokens_text(const std::vector<Token>& tokens) {
    std::string text;
    for (const Token& token : tokens) {
        const std::string scopes = fmt::format("{}", fmt::join(token.scopes, ","));
        text += fmt::format("{:<24} {:<28} {}\n", token.name, scopes,
                            token.revoked              ? "revoked"
                            : token.expires_at.empty() ? "does not expire"
                                                       : "until " + token.expires_at);
    }
    if (text.empty()) return "no tokens yet; `steady token create NAME` makes one";
    text.pop_back();
    return text;
}

// A record's host is gone: its run ends where it is, and a new one of the same file may go
// anywhere.
int requeue_afresh(const Arguments& arguments, Store& store, const std::string& id) {
    const Record record = store.load_record(id);
    if (record.state == "running") {
        throw Error(fmt::format("{} is running; `steady cancel {}` first", id, id));
    }
    if (record.state == "queued") store.cancel(id);
    SubmitOptions options;
    options.fresh_rerun = true;
    const Submitted fresh = submit_experiment(store, record.spec, options);
    return print(arguments, {{"id", fresh.id}, {"state", fresh.state}, {"instead_of", id}},
                 fmt::format("{} queued for any host, instead of {}", fresh.id, id));
}

}  // namespace

int verb_fault_test(const Arguments& arguments) {
    FaultOptions options;
    options.kills = static_cast<int>(arguments.number("kills", 200, 1, 100000));
    options.seed = static_cast<std::uint64_t>(arguments.number("seed", 1, 0, 1LL << 62));
    options.synchronous_commit = on_or_off(arguments, "synchronous-commit");
    options.most_s = 600 + 3.0 * options.kills;
    if (!arguments.has("quiet")) {
        options.progress = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
    }
    const FaultReport report = run_fault_drill(options);
    std::string text = report.text();
    while (!text.empty() && text.back() == '\n') text.pop_back();
    text += fmt::format("\nseed        {}", options.seed);
    if (!options.synchronous_commit) {
        text += report.samples_lost > 0
                    ? "\nWith synchronous_commit off losses are right: the drill sees them."
                    : "\nWith synchronous_commit off losses were expected: try another seed.";
    }
    nlohmann::json json = nlohmann::json::parse(report.json());
    json["seed"] = options.seed;
    json["synchronous_commit"] = options.synchronous_commit;
    print(arguments, json, text);
    return report.sound() ? kExitOk : kExitInternal;
}

int verb_token_create(const Arguments& arguments) {
    const NewToken made = make_token();
    Token token;
    token.name = arguments.words[0];
    token.sha256 = made.sha256;
    token.scopes = scopes_from(arguments.get("scopes", "read"));
    if (arguments.has("days"))
        token.expires_at = days_from_now(arguments.number("days", 0, 1, 3650));
    Store store = open_store(arguments);
    for (const Token& known : store.list_tokens()) {
        if (known.name != token.name) continue;
        throw Error(fmt::format("token \"{}\" exists{}; choose another name", token.name,
                                known.revoked ? " (revoked)" : ""));
    }
    store.create_token(token);
    return print(
        arguments,
        {{"name", token.name},
         {"scopes", token.scopes},
         {"expires_at", token.expires_at},
         {"token", made.text}},
        fmt::format("{}\nShown this once; only its hash is stored. Scopes: {}. Send it as\n"
                    "Authorization: Bearer {}",
                    made.text, fmt::join(token.scopes, ", "), made.text));
}

int verb_token_list(const Arguments& arguments) {
    const std::vector<Token> tokens = open_store(arguments).list_tokens();
    nlohmann::json json = nlohmann::json::array();
    for (const Token& token : tokens) {
        json.push_back({{"name", token.name},
                        {"scopes", token.scopes},
                        {"created_at", token.created_at},
                        {"expires_at", token.expires_at},
                        {"revoked", token.revoked}});
    }
    return print(arguments, {{"tokens", json}}, tokens_text(tokens));
}

int verb_token_revoke(const Arguments& arguments) {
    const std::string& name = arguments.words[0];
    if (!open_store(arguments).revoke_token(name)) {
        throw Error(fmt::format("no valid token \"{}\"; `steady token list` names them", name));
    }
    return print(arguments, {{"name", name}, {"revoked", true}}, name + " is revoked");
}

int verb_audit_log(const Arguments& arguments) {
    Store store = open_store(arguments);
    const int limit = static_cast<int>(arguments.number("limit", 50, 1, 100000));
    const std::string of = arguments.words.empty() ? "" : arguments.words[0];
    nlohmann::json json = nlohmann::json::array();
    std::string text;
    for (const service::Audit& one : service::audit_log(store.connection(), limit, of)) {
        json.push_back({{"at", one.at},
                        {"actor", one.actor},
                        {"login", one.login},
                        {"what", one.what},
                        {"subject", one.subject},
                        {"detail", one.detail}});
        text += fmt::format("{}  {:<20} {:<16} {}{}\n", one.at, one.actor, one.what, one.subject,
                            one.detail.empty() ? "" : " (" + one.detail + ")");
    }
    if (text.empty()) text = of.empty() ? "nothing yet\n" : "nothing about " + of + "\n";
    text.pop_back();
    return print(arguments, {{"entries", json}}, text);
}

int verb_requeue(const Arguments& arguments) {
    Store store = open_store(arguments);
    const std::string id = store.resolve(arguments.words[0]);
    if (arguments.has("fresh-host")) return requeue_afresh(arguments, store, id);
    const std::string before = store.load_record(id).state;
    if (before != "failed" && before != "cancelled") {
        throw Error(fmt::format("{} is {}: only a failed or cancelled job is queued again. {}", id,
                                before,
                                before == "done" ? fmt::format("`steady rerun {}` repeats it", id)
                                                 : "`steady queue` shows where it stands"));
    }
    const std::string state = store.requeue(id);
    return print(arguments, {{"id", id}, {"state", state}},
                 fmt::format("{}: {} again; sealed pairs are kept", id, state));
}

int verb_priority(const Arguments& arguments) {
    int priority = 0;
    const std::string& word = arguments.words[1];
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), priority);
    if (error != std::errc() || end != word.data() + word.size() || std::abs(priority) > 100) {
        throw Error(fmt::format("{} is not a priority: -100 to 100, higher first", word));
    }
    Store store = open_store(arguments);
    const std::string id = store.resolve(arguments.words[0]);
    const std::string state = store.load_record(id).state;
    if (state != "queued") {
        throw Error(
            fmt::format("{} is {}: only a waiting job comes earlier or later; `steady "
                        "queue` shows them",
                        id, state));
    }
    store.set_priority(id, priority);
    return print(arguments, {{"id", id}, {"priority", priority}},
                 fmt::format("{}: priority {}; `steady queue` shows the order", id, priority));
}

int verb_unpin(const Arguments& arguments) {
    Store store = open_store(arguments);
    const std::string id = store.resolve(arguments.words[0]);
    const std::string state = store.load_record(id).state;
    if (state == "running" || state == "done") {
        throw Error(fmt::format("{} is {}: only a waiting, failed or cancelled job leaves its host",
                                id, state));
    }
    const int n = store.unpin(id);
    return print(
        arguments, {{"id", id}, {"pairs_set_aside", n}},
        fmt::format("{}: any host may take it; {} sealed pair{} no longer count{} and will "
                    "be measured anew",
                    id, n, n == 1 ? "" : "s", n == 1 ? "s" : ""));
}

int verb_gc(const Arguments& arguments) {
    if (!arguments.has("older-than")) {
        throw Error(
            "steady gc needs an age: --older-than DAYS, for example 180. It removes samples of "
            "undecided and superseded experiments and those that never counted; --dry-run lists");
    }
    const int days = static_cast<int>(arguments.number("older-than", 0, 1, 36500));
    const bool dry = arguments.has("dry-run");
    Store store = open_store(arguments);
    nlohmann::json json = nlohmann::json::array();
    std::string text;
    std::int64_t rows = 0, bytes = 0;
    for (const Expendable& one : store.expendable_samples(days)) {
        const std::int64_t n = dry ? one.rows : store.drop_samples(one.id, one.why);
        rows += n;
        bytes += one.bytes;
        json.push_back({{"id", one.id},
                        {"why", one.why},
                        {"rows", n},
                        {"values", one.values},
                        {"bytes", one.bytes}});
        text += fmt::format("{:<32} {:<12} {:>9} rows {:>9.1f} MB\n", one.id, one.why, n,
                            static_cast<double>(one.bytes) / 1e6);
    }
    text += fmt::format("{} {} rows, about {:.1f} MB{}", dry ? "would remove" : "removed", rows,
                        static_cast<double>(bytes) / 1e6,
                        dry ? "" : "; verdicts, analyses and evidence stay");
    return print(arguments, {{"dry_run", dry}, {"removed", json}, {"rows", rows}, {"bytes", bytes}},
                 text);
}

}  // namespace steady
