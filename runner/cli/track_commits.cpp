// git as a child, by argument lists; builds by the same means as those of outside programs.
#include "runner/cli/track_commits.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "kernels/base/error.h"
#include "runner/cli/jobs.h"
#include "runner/platform/host_lock.h"

namespace steady {
namespace {

constexpr double kBuildSeconds = 3600;

BuildRecipe engine_recipe() {
    BuildRecipe recipe;
    recipe.commands = {{"cmake", "--preset", "release"},
                       {"cmake", "--build", "--preset", "release", "--target", "steady-engine"}};
    recipe.timeout_s = kBuildSeconds;
    return recipe;
}

}  // namespace

Repository::Repository(const std::string& root, const std::string& branch)
    : source_(root, &interrupt_signal()), branch_(branch) {
    if (branch_.empty()) branch_ = source_.git({"rev-parse", "--abbrev-ref", "HEAD"});
    if (branch_.front() == '-') throw Error(fmt::format("--branch: \"{}\" is no branch", branch_));
    if (branch.empty()) return;  // a repository without a commit is told where commits are needed
    verified("--branch", branch_);
}

std::string Repository::verified(const char* option, const std::string& revision) const {
    try {
        return source_.git({"rev-parse", "--verify", "--end-of-options", revision + "^{commit}"});
    } catch (const Error& error) {
        if (error.exit_code == kExitInterrupted) throw;
        throw Error(fmt::format("{}: found \"{}\", allowed: a branch, tag or commit of {}", option,
                                revision, source_.root()));
    }
}

std::string Repository::name() const {
    const std::filesystem::path folder(source_.root());
    return folder.extension() == ".git" ? folder.stem().string() : folder.filename().string();
}

std::vector<Commit> Repository::line(int most) const {
    const std::string count = source_.git({"rev-list", "--count", "--first-parent", branch_, "--"});
    int position = std::stoi(count);
    const std::string listed = source_.git(
        {"rev-list", "--first-parent", "--max-count=" + std::to_string(most), "--no-commit-header",
         "--format=%H%x09%cd%x09%s", "--date=format-local:%Y-%m-%dT%H:%M:%SZ", branch_, "--"});
    std::vector<Commit> out;
    std::stringstream lines(listed);
    for (std::string row; std::getline(lines, row);) {
        const std::size_t first = row.find('\t'), second = row.find('\t', first + 1);
        if (second == std::string::npos) continue;
        out.push_back({row.substr(0, first), row.substr(second + 1),
                       row.substr(first + 1, second - first - 1), --position});
    }
    std::reverse(out.begin(), out.end());
    return out;
}

std::string Repository::tree(const std::string& commit) const {
    return source_.git({"rev-parse", "--verify", "--end-of-options", commit + "^{tree}"});
}

std::vector<Commit> Repository::describe(const std::string& shas) const {
    std::vector<Commit> out;
    std::stringstream lines(shas);
    for (std::string sha; std::getline(lines, sha);) {
        const std::string shown =
            source_.git({"show", "-s", "--date=format-local:%Y-%m-%dT%H:%M:%SZ",
                         "--format=%cd%x09%s", sha, "--"});
        const std::size_t tab = shown.find('\t');
        const std::string count = source_.git({"rev-list", "--count", "--first-parent", sha, "--"});
        out.push_back({sha, shown.substr(tab + 1), shown.substr(0, tab), std::stoi(count) - 1});
    }
    return out;
}

std::vector<Commit> Repository::commits(const std::string& revisions) const {
    if (revisions.empty() || revisions.front() == '-') {
        throw Error(fmt::format("--commit: \"{}\" is no revision", revisions));
    }
    if (revisions.find("..") != std::string::npos) {
        return describe(source_.git({"rev-list", "--first-parent", revisions, "--"}));
    }
    return describe(verified("--commit", revisions));
}

std::vector<Commit> Repository::latest(int n) const {
    return describe(source_.git(
        {"rev-list", "--first-parent", "--max-count=" + std::to_string(n), "HEAD", "--"}));
}

std::string Repository::remote() const {
    const std::string names = source_.git({"remote"});
    if (names.empty()) return "";
    std::stringstream lines(names);
    std::string first, name;
    std::getline(lines, first);
    bool origin = first == "origin";
    while (std::getline(lines, name)) origin = origin || name == "origin";
    return source_.git({"remote", "get-url", origin ? "origin" : first});
}

std::string Repository::engine(const Commit& commit, bool quiet) {
    BuildOptions options;
    options.program = "steady-engine";
    options.stop = &interrupt_signal();
    if (!quiet) {
        options.message = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
    }
    const auto lock = HostLock::acquire(kBuildSeconds, {}, options.stop, options.message);
    if (options.stop->raised()) throw Error("stopped", kExitInterrupted);
    if (!lock) throw Error("another measurement holds this machine for an hour", kExitInternal);
    if (!site_) site_ = std::make_unique<BuildSite>(source_, options);
    const Build build = site_->build(source_.resolve(commit.sha), engine_recipe());
    site_->place(build);
    const std::string made = site_->directory() + "/build/release/bin/steady-engine";
    if (!std::filesystem::exists(made)) {
        throw Error(
            fmt::format("{} builds no build/release/bin/steady-engine", commit.sha.substr(0, 12)));
    }
    return made;
}

}  // namespace steady
