// Verbs on the statistics, the database and the page.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "dashboard/server/serve.h"
#include "engine/protocol/error.h"
#include "runner/cli/verbs.h"
#include "runner/cli/workspace.h"
#include "runner/edges/files.h"
#include "runner/pipeline/replay.h"
#include "runner/pipeline/simulation.h"
#include "runner/pipeline/stats_check.h"
#include "runner/storage/migrate.h"
#include "runner/storage/private_cluster.h"

namespace steady {
namespace {

nlohmann::json read_json(const std::string& path) {
    const std::string text = read_file(path);
    try {
        return nlohmann::json::parse(text, nullptr, true, true);
    } catch (const nlohmann::json::parse_error& error) {
        throw Error(fmt::format("{}: not JSON: {}", path, error.what()));
    }
}

void only_private(const Arguments& arguments) {
    if (arguments.has("db") || std::getenv("STEADY_DATABASE_URL") != nullptr) {
        throw Error(
            "this verb manages the private database, but --db or STEADY_DATABASE_URL names another "
            "one. Manage that server with its own tools, or unset the variable");
    }
}

nlohmann::json status_json(const ClusterStatus& status) {
    return {{"exists", status.exists},   {"running", status.running}, {"pid", status.pid},
            {"version", status.version}, {"data", status.data_dir},   {"socket", status.socket_dir},
            {"log", status.log_path},    {"url", status.url}};
}

// This process becomes one of PostgreSQL's own programs.
[[noreturn]] void become(std::vector<std::string> words) {
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ::execvp(argv[0], argv.data());
    throw Error(fmt::format("cannot start {}: install postgresql-client", words[0]), kExitInternal);
}

}  // namespace

int verb_stats_check(const Arguments& arguments) {
    const std::vector<CheckResult> results = stats_check(read_json(arguments.words[0]));
    print(arguments, stats_check_json(results), stats_check_text(results));
    for (const CheckResult& result : results) {
        if (!result.pass) return kExitInternal;
    }
    return kExitOk;
}

int verb_stats_simulate(const Arguments& arguments) {
    const auto n = static_cast<std::size_t>(arguments.number("experiments", 4000, 10, 1000000));
    const auto seed = static_cast<std::uint64_t>(arguments.number("seed", 1, 0, 1000000000));
    const std::vector<OperatingPoint> points = operating_table(n, seed);
    nlohmann::json rows = nlohmann::json::array();
    for (const OperatingPoint& point : points) {
        rows.push_back({{"noise", point.model},
                        {"effect", point.effect},
                        {"worth", point.delta_w},
                        {"pairs_max", point.n_max},
                        {"experiments", point.n_experiments},
                        {"accept", point.n_accept},
                        {"reject", point.n_reject},
                        {"inconclusive", point.n_inconclusive},
                        {"mean_pairs", point.mean_pairs}});
    }
    return print(arguments, {{"seed", seed}, {"rows", rows}}, operating_text(points, seed));
}

int verb_replay(const Arguments& arguments) {
    const Replay replayed = replay_corpus(read_json(arguments.words[0]));
    return print(arguments, replay_json(replayed), replay_text(replayed));
}

int verb_db_start(const Arguments& arguments) {
    only_private(arguments);
    const std::string url = private_cluster_url({.base_dir = {}, .idle_stop_s = 0});
    return print(arguments, {{"url", url}}, "running: " + url);
}

int verb_db_stop(const Arguments& arguments) {
    only_private(arguments);
    const bool stopped = stop_private_cluster();
    return print(arguments, {{"stopped", stopped}}, stopped ? "stopped" : "it was not running");
}

int verb_db_status(const Arguments& arguments) {
    only_private(arguments);
    const ClusterStatus status = private_cluster_status();
    const std::string text =
        !status.exists ? "no private database yet; the first command that needs one makes it"
        : !status.running
            ? fmt::format("stopped; data in {}", status.data_dir)
            : fmt::format("running, pid {}, PostgreSQL {}\ndata {}\nlog  {}\nurl  {}", status.pid,
                          status.version, status.data_dir, status.log_path, status.url);
    return print(arguments, status_json(status), text);
}

int verb_db_url(const Arguments& arguments) {
    const std::string url = database_url(arguments.get("db"));
    return print(arguments, {{"url", url}}, url);
}

int verb_db_psql(const Arguments& arguments) {
    std::vector<std::string> words{"psql", database_url(arguments.get("db"))};
    words.insert(words.end(), arguments.words.begin(), arguments.words.end());
    become(std::move(words));
}

int verb_db_dump(const Arguments& arguments) {
    const std::string& path = arguments.words[0];
    if (std::filesystem::exists(path) && !arguments.has("force")) {
        throw Error(fmt::format("{}: exists already; --force overwrites it", path));
    }
    become({"pg_dump", "--format=custom", "--file", path, database_url(arguments.get("db"))});
}

int verb_db_migrate(const Arguments& arguments) {
    const std::string url = database_url(arguments.get("db"));
    const std::size_t applied = migrate(url).size();
    return print(arguments, {{"applied", applied}, {"url", url}},
                 fmt::format("schema is up to date ({} migration{} applied now)", applied,
                             applied == 1 ? "" : "s"));
}

int verb_serve(const Arguments& arguments) {
    ServeOptions options;
    options.database_url = database_url(arguments.get("db"), true);
    options.address = arguments.get("bind", "127.0.0.1");
    options.port = static_cast<std::uint16_t>(arguments.number("port", 8642, 0, 65535));
    options.public_reads = arguments.has("public-reads");
    std::stringstream names(arguments.get("host"));
    for (std::string name; std::getline(names, name, ',');) options.hosts.push_back(name);
    return serve(options);
}

int verb_completion(const Arguments&) {
    fmt::print("{}", completion_script(verbs()));
    return kExitOk;
}

}  // namespace steady
