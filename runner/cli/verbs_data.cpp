// Verbs on the statistics and the database, and `steady serve`.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "kernels/base/error.h"
#include "runner/cli/records.h"
#include "runner/cli/verbs.h"
#include "runner/cli/workspace.h"
#include "runner/platform/files.h"
#include "runner/platform/installation.h"
#include "runner/platform/process.h"
#include "runner/platform/settings.h"
#include "runner/statistics/check/replay.h"
#include "runner/statistics/check/simulation.h"
#include "runner/statistics/check/stats_check.h"
#include "runner/storage/migrate.h"
#include "runner/storage/private_cluster.h"

namespace steady {
namespace {

nlohmann::json read_json(const std::string& path) {
    const std::string text = read_named_file(path);
    try {
        return nlohmann::json::parse(text, nullptr, true, true);
    } catch (const nlohmann::json::exception& error) {
        throw Error(fmt::format("{}: not JSON: {}", path, error.what()));
    }
}

void only_private(const Arguments& arguments) {
    const auto set = find_setting("database_url");
    if (arguments.has("db") || set) {
        throw Error(
            fmt::format("this verb manages the private database, but {} names another one. Manage "
                        "that server with its own tools, or unset it",
                        arguments.has("db") ? "--db" : set->origin));
    }
}

nlohmann::json status_json(const ClusterStatus& status) {
    return {{"exists", status.exists},   {"running", status.running}, {"pid", status.pid},
            {"version", status.version}, {"data", status.data_dir},   {"socket", status.socket_dir},
            {"log", status.log_path},    {"url", status.url}};
}

// 20261124T033000Z
std::string utc_stamp() {
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    ::gmtime_r(&now, &utc);
    char text[32];
    std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &utc);
    return text;
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
    const auto rule =
        static_cast<int>(arguments.number("rule", kLatestRule, kFirstRule, kLatestRule));
    const std::vector<OperatingPoint> points = operating_table(rule, n, seed);
    nlohmann::json rows = nlohmann::json::array();
    for (const OperatingPoint& point : points) {
        rows.push_back({{"noise", point.model},
                        {"effect", point.effect},
                        {"worth", point.delta_w},
                        {"pairs_max", point.n_max},
                        {"experiments", point.n_experiments},
                        {"accept", point.n_accept},
                        {"accept_within_30", point.n_accept_within_30},
                        {"reject", point.n_reject},
                        {"inconclusive", point.n_inconclusive},
                        {"mean_pairs", point.mean_pairs}});
    }
    return print(arguments, {{"seed", seed}, {"rule", rule}, {"rows", rows}},
                 operating_text(points, seed));
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

namespace {

// PostgreSQL's own programs, newest first: Debian's /usr/bin/pg_dump is a link to a chooser that
// goes by its own name.
std::string find_pg_dump() {
    std::vector<std::string> folders;
    std::error_code error;
    for (const std::string& base : {self_exe_dir() + "/../lib/postgresql",  // of a bundle
                                    std::string("/usr/lib/postgresql")}) {
        std::vector<std::string> found;
        for (const auto& entry : std::filesystem::directory_iterator(base, error)) {
            found.push_back((entry.path() / "bin").string());
        }
        std::sort(found.begin(), found.end(), std::greater<>());
        folders.insert(folders.end(), found.begin(), found.end());
    }
    folders.insert(folders.end(), {"/usr/local/bin", "/usr/bin"});
    for (const std::string& folder : folders) {
        if (::access((folder + "/pg_dump").c_str(), X_OK) == 0) return folder + "/pg_dump";
    }
    throw Error(
        "pg_dump is not installed, so the database cannot be dumped before it is changed: "
        "install postgresql-client, or say --no-dump when somebody else has a backup");
}

// A dump that pg_restore takes, complete or not there; an earlier one of that name stays until
// then.
void dump(const std::string& url, const std::string& path) {
    const std::string part = path + ".part";
    ChildOptions options;
    options.argv = {find_pg_dump(), "--format=custom", "--file", part, url};
    for (const char* name : {"HOME", "PGPASSFILE", "PGPASSWORD", "PGSSLMODE", "PGSSLROOTCERT"}) {
        if (const char* value = std::getenv(name)) options.env[name] = value;
    }
    options.limits.file_size.reset();
    const ChildEnd end = run_child(options, 24 * 3600);
    std::error_code none;
    if (end.ok() && std::filesystem::file_size(part, none) > 0 && !none) {
        std::filesystem::rename(part, path);
        return;
    }
    std::filesystem::remove(part, none);
    throw Error(fmt::format("the dump to {} failed: {}", path, end.describe()), kExitInternal);
}

std::string absolute_path(const std::string& path) {
    return std::filesystem::absolute(path).string();
}

// Of everything as it was before.
std::string dump_before_migrating(const Arguments& arguments, const std::string& url) {
    std::string path = arguments.get("dump");
    if (path.empty()) {
        make_directories(state_dir() + "/backups", 0700);
        path = fmt::format("{}/backups/before-migration-{}.dump", state_dir(), utc_stamp());
    }
    path = absolute_path(path);
    if (std::filesystem::exists(path)) throw Error(fmt::format("{}: exists already", path));
    try {
        dump(url, path);
    } catch (const Error& error) {
        throw Error(fmt::format("nothing was changed: {}. --dump FILE writes it elsewhere; "
                                "--no-dump goes on without one",
                                error.what()),
                    kExitInternal);
    }
    return path;
}

constexpr const char* kBackup = "steady-";  // steady-20261124T033000Z.dump

// Only after a new one is there; dumps of other names stay.
std::vector<std::string> remove_old_backups(const std::string& folder, std::size_t keep) {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        const bool ours = name.starts_with(kBackup) && name.ends_with("Z.dump") &&
                          name.size() == std::string(kBackup).size() + 21;
        if (ours) files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end(), std::greater<>());
    if (files.size() <= keep) return {};
    files.erase(files.begin(), files.begin() + static_cast<long>(keep));
    for (const std::string& file : files) std::filesystem::remove(file);
    return files;
}

}  // namespace

int verb_db_dump(const Arguments& arguments) {
    std::string path = absolute_path(arguments.words[0]);
    const long long keep = arguments.number("keep", 0, 1, 100000);
    if (arguments.has("keep")) {
        make_directories(path, 0700);
        path = fmt::format("{}/{}{}.dump", path, kBackup, utc_stamp());
    }
    if (std::filesystem::exists(path) && !arguments.has("force")) {
        throw Error(fmt::format("{}: exists already; --force overwrites it", path));
    }
    dump(database_url(arguments.get("db")), path);
    std::vector<std::string> removed;
    if (keep > 0) {
        removed = remove_old_backups(std::filesystem::path(path).parent_path().string(),
                                     static_cast<std::size_t>(keep));
    }
    std::string text = path;
    for (const std::string& file : removed) text += "\nremoved " + file;
    return print(arguments, {{"file", path}, {"removed", removed}}, text);
}

int verb_db_migrate(const Arguments& arguments) {
    const ChosenDatabase chosen = choose_database(arguments.get("db"));
    const std::vector<std::string> pending = pending_migrations(chosen.url);
    std::string dump;
    const bool fresh = !pending.empty() && pending.front().starts_with("0001");
    if (!pending.empty() && !fresh && !arguments.has("no-dump")) {
        dump = dump_before_migrating(arguments, chosen.url);
    }
    const std::size_t applied = migrate(chosen.url).size();
    return print(
        arguments, {{"applied", applied}, {"url", chosen.url}, {"dump", dump}},
        fmt::format("schema is up to date ({} migration{} applied now){}", applied,
                    applied == 1 ? "" : "s", dump.empty() ? "" : "\nas it was before: " + dump));
}

// `steady serve` becomes steady-page, so that nothing else is built or loaded with what the page
// needs.
int verb_serve(const Arguments& arguments) {
    const std::string program = part_path("steady-page");
    std::vector<std::string> words = arguments.argv;
    words.insert(words.begin(), program);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ::execv(program.c_str(), argv.data());
    throw Error(
        fmt::format("cannot start {}, the program of the page: {}. In a checkout, "
                    "`./steady serve` builds it; installed, it is part of the package steady",
                    program, std::strerror(errno)));
}

}  // namespace steady
