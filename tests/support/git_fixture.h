// A git repository of its own for a test, and the few git commands that tests need. The commits'
// dates and author are fixed, so that hashes are the same in every run.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "runner/platform/files.h"
#include "runner/platform/process.h"

namespace steady {

class GitFixture {
public:
    GitFixture() : folder_("/tmp/steady-git-" + random_hex(6)) {
        std::filesystem::create_directories(path());
        git({"init", "--quiet", "--initial-branch=main"});
    }
    ~GitFixture() {
        std::error_code error;
        std::filesystem::remove_all(folder_, error);
    }
    GitFixture(const GitFixture&) = delete;
    GitFixture& operator=(const GitFixture&) = delete;

    std::string path() const { return folder_ + "/repo"; }
    // Beside the repository: for caches and marks.
    std::string beside(const std::string& name) const { return folder_ + "/" + name; }

    void write(const std::string& name, const std::string& text) const {
        const std::filesystem::path file = std::filesystem::path(path()) / name;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }
    // Everything as it is; the commit's hash.
    std::string commit(const std::string& message) const {
        git({"add", "--all"});
        git({"commit", "--quiet", "--message", message});
        return git({"rev-parse", "HEAD"});
    }
    std::string git(const std::vector<std::string>& words, const std::string& in = {}) const {
        ChildOptions options;
        // No look for work in the background behind each commit.
        options.argv = {"/usr/bin/git", "-c", "protocol.file.allow=always", "-c",
                        "maintenance.auto=false"};
        options.argv.insert(options.argv.end(), words.begin(), words.end());
        options.directory = in.empty() ? path() : in;
        options.env = {{"GIT_CONFIG_GLOBAL", "/dev/null"},
                       {"GIT_AUTHOR_NAME", "A"},
                       {"GIT_AUTHOR_EMAIL", "a@example.org"},
                       {"GIT_COMMITTER_NAME", "A"},
                       {"GIT_COMMITTER_EMAIL", "a@example.org"},
                       {"GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z"},
                       {"GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z"}};
        const ChildEnd end = run_child(options, 60);
        if (!end.ok()) throw std::runtime_error("git " + words[0] + ": " + end.describe());
        return end.out.substr(0, end.out.find_last_not_of('\n') + 1);
    }

private:
    std::string folder_;
};

}  // namespace steady
