// The order of writes makes every moment of a crash harmless: `placed` names the tree before it
// moves, build.json stands only in finished trees, and whatever lies at the path without a name is
// an unfinished build, which the next process removes.
#include "runner/programs/build/build_site.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <thread>

#include "runner/base/json_reader.h"
#include "runner/base/sha256.h"
#include "runner/base/text.h"
#include "runner/platform/tools.h"
#include "runner/programs/build/cache.h"
#include "runner/programs/build/toolchain.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kLogPart = std::size_t{1} << 20U;  // first and last bytes of each command

// Settings of the user's build tools. They pass through to builds with the caller's rights; the
// first group changes what is built and so belongs to the key.
constexpr const char* kSettings[] = {"CC",
                                     "CXX",
                                     "AR",
                                     "LD",
                                     "CFLAGS",
                                     "CXXFLAGS",
                                     "CPPFLAGS",
                                     "LDFLAGS",
                                     "RUSTFLAGS",
                                     "GOFLAGS",
                                     "CGO_ENABLED",
                                     "CMAKE_GENERATOR",
                                     "CMAKE_PREFIX_PATH",
                                     "CMAKE_BUILD_TYPE",
                                     "PKG_CONFIG_PATH",
                                     "RUSTUP_TOOLCHAIN",
                                     "JAVA_HOME"};
constexpr const char* kPlaces[] = {"PATH",
                                   "HOME",
                                   "CCACHE_DIR",
                                   "CMAKE_C_COMPILER_LAUNCHER",
                                   "CMAKE_CXX_COMPILER_LAUNCHER",
                                   "CARGO_HOME",
                                   "GOPATH",
                                   "GOCACHE",
                                   "RUSTUP_HOME",
                                   "CMAKE_BUILD_PARALLEL_LEVEL"};

std::map<std::string, std::string> own_environment(
    std::initializer_list<std::span<const char* const>> groups) {
    std::map<std::string, std::string> env;
    for (const auto& group : groups) {
        for (const char* name : group) {
            if (const char* value = std::getenv(name)) env[name] = value;
        }
    }
    return env;
}

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    for (std::size_t at = text.find(from); at != std::string::npos;
         at = text.find(from, at + to.size())) {
        text.replace(at, from.size(), to);
    }
    return text;
}

constexpr std::size_t kShownLines = 20;  // of a build's log

// The last n lines that are not empty, none longer than a line on a screen.
std::string last_lines(const std::string& text, std::size_t n) {
    std::deque<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
        lines.push_back(shorten(line, 200));
        if (lines.size() > n) lines.pop_front();
    }
    return fmt::format("{}", fmt::join(lines, "\n"));
}

std::string shown(const Revision& revision) {
    const std::string& hash = revision.commit.empty() ? revision.tree : revision.commit;
    return fmt::format("{} ({})", escape_line(revision.asked), hash.substr(0, 12));
}

// The lock of a path; waits for whoever builds or runs there.
Fd wait_for(const std::string& path, const StopSignal* stop, const std::function<void()>& waiting) {
    for (bool told = false;; told = true) {
        if (auto lock = try_lock(path)) return std::move(*lock);
        if (!told) waiting();
        pollfd entry{stop != nullptr ? stop->fd() : -1, POLLIN, 0};
        if (::poll(&entry, 1, 200) == 1) {
            throw Error("stopped while another process builds or runs this program",
                        kExitInterrupted);
        }
    }
}

std::string options_cache(const BuildOptions& options) {
    return options.cache.empty() ? build_cache_folder() : options.cache;
}

// Compilers complain on stderr, some tools on stdout.
std::string printed_last(const ChildEnd& end) {
    const std::string last = last_lines(redact(end.err.empty() ? end.out : end.err), 6);
    return last.empty() ? "it printed nothing" : "its end: " + escape_line(last);
}

}  // namespace

BuildSite::BuildSite(const Source& source, BuildOptions options)
    : source_(source), options_(std::move(options)) {
    options_.cache = options_cache(options_);
    make_directories(options_.cache);
    options_.cache = fs::canonical(options_.cache).string();
    if (options_.limit == 0) options_.limit = build_cache_limit();
    const BuildCache cache(options_.cache);
    const std::string name = sha256_hex(options_.program + '\n' + source_.root()).substr(0, 12);
    folder_ = options_.cache + "/at/" + name;
    directory_ = folder_ + "/src";
    make_directories(folder_);
    lock_ = wait_for(folder_ + "/lock", options_.stop, [&] {
        say(fmt::format("waiting: another process builds or runs {}", options_.program));
    });
    placed_ = read_line_or_empty(folder_ + "/placed");
    put_back();
}

BuildSite::~BuildSite() {
    try {
        put_back();
    } catch (const std::exception&) {
        // The next process at this path does it.
    }
}

void BuildSite::say(const std::string& line) const {
    if (options_.message) options_.message(line);
}

void BuildSite::put_back() {
    const BuildCache cache(options_.cache);
    if (fs::exists(directory_)) {
        const std::string home = placed_.empty() ? "" : cache.tree(placed_) + "/src";
        if (!placed_.empty() && cache.finished(placed_) && !fs::exists(home)) {
            fs::rename(directory_, home);
        } else {
            remove_tree(directory_);
        }
    }
    placed_.clear();
    fs::remove(folder_ + "/placed");
}

void BuildSite::place(const Build& build) {
    if (placed_ == build.key) return;
    put_back();
    write_file_atomic(folder_ + "/placed", build.key);
    placed_ = build.key;
    fs::rename(BuildCache(options_.cache).tree(build.key) + "/src", directory_);
}

std::string BuildSite::key_of(const Revision& revision, const BuildRecipe& recipe,
                              const std::map<std::string, std::string>& tools) const {
    auto env = options_.confinement ? confined_environment() : own_environment({kSettings});
    for (const auto& [name, value] : recipe.env) env[name] = value;
    utsname machine{};
    ::uname(&machine);
    const nlohmann::json all{{"tree", revision.tree},
                             {"commands", recipe.commands},
                             {"env", env},
                             {"tools", tools},
                             {"path", directory_},
                             {"confined", options_.confinement.has_value()},
                             {"cpu", machine.machine}};
    return sha256_hex(all.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace))
        .substr(0, 32);
}

ChildOptions BuildSite::command(const BuildRecipe& recipe,
                                const std::vector<std::string>& words) const {
    ChildOptions options;
    const std::string jobs = std::to_string(std::max(1U, std::thread::hardware_concurrency()));
    for (const std::string& word : words) {
        options.argv.push_back(replaced(replaced(word, "{src}", directory_), "{jobs}", jobs));
    }
    options.directory = directory_;
    options.limits = {};
    options.one_stream = true;
    options.stderr_keep = kLogPart;
    options.stop = options_.stop;
    if (!options_.confinement) options.env = own_environment({kSettings, kPlaces});
    for (const auto& [name, value] : recipe.env) options.env[name] = value;
    options.env["GIT_CEILING_DIRECTORIES"] = folder_;  // no part of a repository around it
    if (options_.confinement) {
        Confinement confinement = *options_.confinement;
        confinement.writable = {directory_};
        confinement.cpus.clear();  // a build may use all of them
        return confined(options, confinement);
    }
    const auto program = find_tool(options.argv.front(), directory_);
    if (!program) {
        throw Error(
            fmt::format("{}: no such program for the build; install it, or correct \"build\"",
                        shown_text(options.argv.front())));
    }
    options.argv.front() = *program;
    return options;
}

// What the commands printed, all together. Throws BuildFailed, or Error when stopped.
std::string BuildSite::run_commands(const BuildRecipe& recipe, const Revision& revision,
                                    const std::string& log) {
    const auto begin = Clock::now();
    std::string text;
    for (const auto& words : recipe.commands) {
        const std::string line = redact(fmt::format("{}", fmt::join(words, " ")));
        const double left_s = recipe.timeout_s - seconds_since(begin);
        const ChildEnd end = run_child(command(recipe, words), std::max(left_s, 0.001));
        text += "$ " + line + "\n" + redact(end.err) + (end.err.ends_with('\n') ? "" : "\n");
        if (end.ok()) continue;
        if (end.ending == Ending::cancelled) {
            throw Error(fmt::format("the build of {} was stopped", shown(revision)),
                        kExitInterrupted);
        }
        const std::string how =
            end.ending == Ending::timeout
                ? fmt::format("took longer than {:.0f} s in all", recipe.timeout_s)
            : end.ending == Ending::exited ? fmt::format("ended with exit code {}", end.code)
                                           : "ended by " + end.outcome();
        text += fmt::format("[{}]\n", how);
        write_file_atomic(log, text);
        throw BuildFailed(fmt::format("build of {} failed: `{}` {}; log {}; {}", shown(revision),
                                      escape_line(line), how, log, printed_last(end)),
                          last_lines(text, kShownLines), log);
    }
    return text;
}

void BuildSite::make(const Revision& revision, const BuildRecipe& recipe, const std::string& log,
                     Build& build) {
    const BuildCache cache(options_.cache);
    const auto begin = Clock::now();
    put_back();
    make_directories(directory_);
    try {
        source_.extract(revision, directory_);
        if (options_.confinement) give_to_confined(directory_);
        write_file_atomic(log, run_commands(recipe, revision, log));
    } catch (const std::exception&) {
        put_back();
        throw;
    }
    build.seconds = seconds_since(begin);
    const std::string tree = cache.tree(build.key);
    if (fs::exists(tree)) remove_tree(tree);
    make_directories(tree);
    build.in_use = cache.use(build.key);
    const nlohmann::json facts{{"program", options_.program},    {"repository", source_.root()},
                               {"asked", revision.asked},        {"commit", revision.commit},
                               {"tree", revision.tree},          {"commands", recipe.commands},
                               {"tools", build.tools},           {"seconds", build.seconds},
                               {"bytes", tree_bytes(directory_)}};
    fs::rename(directory_, tree + "/src");
    write_file_atomic(tree + "/build.json",
                      facts.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

std::string log_end(const Build& build) {
    if (!fs::is_regular_file(build.log)) return "";  // of a cache that somebody thinned out
    return redact(last_lines(read_file(build.log), kShownLines));
}

Build BuildSite::build(const Revision& revision, const BuildRecipe& recipe) {
    const BuildCache cache(options_.cache);
    Build build;
    build.revision = revision;
    build.tools = toolchain(recipe.commands, recipe.env);
    build.key = key_of(revision, recipe, build.tools);
    build.log = cache.log(build.key);
    if (cache.finished(build.key)) {
        build.in_use = cache.use(build.key);
        build.from_cache = build.in_use != nullptr && cache.finished(build.key);
    }
    if (build.from_cache) {
        const auto facts = nlohmann::json::parse(
            read_line_or_empty(cache.tree(build.key) + "/build.json"), nullptr, false);
        if (facts.is_object()) build.seconds = facts.value("seconds", 0.0);
        return build;
    }
    if (!recipe.commands.empty()) {
        say(fmt::format("building {} of {}: {}", options_.program, shown(revision),
                        escape_line(revision.subject)));
    }
    make(revision, recipe, build.log, build);
    cache.shrink(options_.limit);
    return build;
}

}  // namespace steady
