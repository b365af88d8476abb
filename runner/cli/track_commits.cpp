// git and cmake as children, by argument lists. A build gets the user's compiler settings (CC, CXX,
// CMAKE_*, CCACHE_*) and nothing else of the environment.
#include "runner/cli/track_commits.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "engine/protocol/error.h"
#include "runner/cli/jobs.h"
#include "runner/edges/files.h"
#include "runner/edges/host_lock.h"
#include "runner/edges/process.h"

namespace steady {
namespace {

namespace fs = std::filesystem;

constexpr double kGitSeconds = 120, kBuildSeconds = 3600;
constexpr int kKeptEngines = 30;

std::string program(const std::string& name) {
    for (const char* folder : {"/usr/local/bin/", "/usr/bin/", "/bin/"}) {
        if (::access((folder + name).c_str(), X_OK) == 0) return folder + name;
    }
    throw Error(fmt::format("{} is not installed, and `steady track` needs it", name));
}

std::map<std::string, std::string> build_environment() {
    std::map<std::string, std::string> env;
    for (char** one = environ; *one != nullptr; ++one) {
        const std::string text = *one;
        const std::size_t equals = text.find('=');
        const std::string name = text.substr(0, equals);
        if (name == "CC" || name == "CXX" || name == "HOME" || name.starts_with("CMAKE_") ||
            name.starts_with("CCACHE_")) {
            env[name] = text.substr(equals + 1);
        }
    }
    return env;
}

ChildEnd run_tool(std::vector<std::string> argv, const std::string& directory, double timeout_s) {
    ChildOptions options;
    argv[0] = program(argv[0]);
    options.argv = std::move(argv);
    options.env = build_environment();
    options.directory = directory;
    options.limits = {};
    options.stop = &interrupt_signal();
    options.output_cap = std::size_t{16} << 20U;
    return run_child(options, timeout_s);
}

std::string last_lines(const std::string& text, int n) {
    std::size_t at = text.size();
    for (int i = 0; i <= n && at != std::string::npos && at > 0; ++i) at = text.rfind('\n', at - 1);
    return at == std::string::npos || at == 0 ? text : text.substr(at + 1);
}

// A checkout that is gone when this is.
class Worktree {
public:
    Worktree(std::string root, std::string path) : root_(std::move(root)), path_(std::move(path)) {}
    Worktree(const Worktree&) = delete;
    Worktree& operator=(const Worktree&) = delete;
    ~Worktree() {
        try {
            run_tool({"git", "worktree", "remove", "--force", path_}, root_, kGitSeconds);
        } catch (const std::exception&) {
            // The folder goes all the same; git prunes its own list.
        }
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }

private:
    std::string root_, path_;
};

// The oldest ones beyond kKeptEngines go.
void forget_old_engines(const fs::path& folder) {
    std::vector<std::pair<fs::file_time_type, fs::path>> kept;
    for (const auto& entry : fs::directory_iterator(folder)) {
        kept.emplace_back(entry.last_write_time(), entry.path());
    }
    std::sort(kept.rbegin(), kept.rend());
    for (std::size_t i = kKeptEngines; i < kept.size(); ++i) fs::remove_all(kept[i].second);
}

void must(const ChildEnd& end, const Commit& commit, const char* step) {
    if (end.ok()) return;
    const std::string& said = end.err.empty() ? end.out : end.err;
    throw Error(fmt::format("{} of {} failed ({}): {}", step, commit.sha.substr(0, 12),
                            end.outcome(), last_lines(said.empty() ? end.describe() : said, 4)));
}

void build(const std::string& root, const Commit& commit, const std::string& tree,
           const std::string& target) {
    must(run_tool({"git", "worktree", "add", "--force", "--detach", tree, commit.sha}, root,
                  kGitSeconds),
         commit, "checkout");
    must(run_tool({"cmake", "--preset", "release"}, tree, kBuildSeconds), commit, "configuration");
    must(run_tool({"cmake", "--build", "--preset", "release", "--target", "steady-engine"}, tree,
                  kBuildSeconds),
         commit, "build");
    const std::string made = tree + "/build/release/bin/steady-engine";
    if (!fs::exists(made)) {
        throw Error(
            fmt::format("{} builds no build/release/bin/steady-engine", commit.sha.substr(0, 12)));
    }
    const std::string temporary = fmt::format("{}.{}.part", target, ::getpid());
    fs::copy_file(made, temporary, fs::copy_options::overwrite_existing);
    fs::rename(temporary, target);
}

}  // namespace

Repository::Repository(std::string root) : root_(std::move(root)) {
    git({"rev-parse", "--git-dir"});
}

std::string Repository::git(const std::vector<std::string>& arguments) const {
    std::vector<std::string> argv{"git"};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    const ChildEnd end = run_tool(argv, root_, kGitSeconds);
    if (!end.ok()) {
        throw Error(fmt::format("git {} in {}: {}", arguments.front(), root_,
                                end.err.empty() ? end.describe() : last_lines(end.err, 2)));
    }
    std::string out = end.out;
    while (!out.empty() && out.back() == '\n') out.pop_back();
    return out;
}

std::vector<Commit> Repository::describe(const std::string& shas) const {
    std::vector<Commit> out;
    std::stringstream lines(shas);
    for (std::string sha; std::getline(lines, sha);) {
        const std::string shown = git({"show", "-s", "--date=format-local:%Y-%m-%dT%H:%M:%SZ",
                                       "--format=%cd%x09%s", sha, "--"});
        const std::size_t tab = shown.find('\t');
        const std::string count = git({"rev-list", "--count", "--first-parent", sha, "--"});
        out.push_back({sha, shown.substr(tab + 1), shown.substr(0, tab), std::stoi(count) - 1});
    }
    return out;
}

std::vector<Commit> Repository::commits(const std::string& revisions) const {
    if (revisions.empty() || revisions.front() == '-') {
        throw Error(fmt::format("--commit: \"{}\" is no revision", revisions));
    }
    if (revisions.find("..") != std::string::npos) {
        return describe(git({"rev-list", "--first-parent", revisions, "--"}));
    }
    return describe(git({"rev-parse", "--verify", "--end-of-options", revisions + "^{commit}"}));
}

std::vector<Commit> Repository::latest(int n) const {
    return describe(
        git({"rev-list", "--first-parent", "--max-count=" + std::to_string(n), "HEAD", "--"}));
}

std::string Repository::remote() const {
    const std::string names = git({"remote"});
    if (names.empty()) return "";
    std::stringstream lines(names);
    std::string first, name;
    std::getline(lines, first);
    bool origin = first == "origin";
    while (std::getline(lines, name)) origin = origin || name == "origin";
    return git({"remote", "get-url", origin ? "origin" : first});
}

std::string Repository::engine(const Commit& commit, bool quiet) const {
    const fs::path engines = fs::path(state_dir()) / "track/engines";
    const fs::path target = engines / commit.sha / "steady-engine";
    if (fs::exists(target)) return target.string();
    make_directories(target.parent_path().string());
    make_directories(state_dir() + "/track/trees");
    const auto lock = HostLock::acquire(kBuildSeconds);
    if (!lock) throw Error("another measurement holds this machine for an hour", kExitInternal);
    if (!quiet) {
        fmt::print(stderr, "building {} {}\n", commit.sha.substr(0, 12), commit.subject);
    }
    const std::string tree =
        fmt::format("{}/track/trees/{}-{}", state_dir(), commit.sha.substr(0, 12), ::getpid());
    const Worktree checkout(root_, tree);
    build(root_, commit, tree, target.string());
    forget_old_engines(engines);
    return target.string();
}

}  // namespace steady
