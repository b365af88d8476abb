// Commits of the project's repository and an engine built from each: what `steady track` measures.
#pragma once

#include <string>
#include <vector>

namespace steady {

struct Commit {
    std::string sha;      // 40 hex digits
    std::string subject;  // first line of its message
    std::string date;     // of the commit, ISO 8601, UTC
    int position = 0;     // commits before it on the first-parent line
};

class Repository {
public:
    // The repository that holds `root`. Throws Error when git is missing or there is none.
    explicit Repository(std::string root);

    // A revision, or all commits of a range "A..B" (newest first). Throws Error naming what git
    // says.
    std::vector<Commit> commits(const std::string& revisions) const;
    // The latest n commits of the first-parent line of HEAD, newest first.
    std::vector<Commit> latest(int n) const;
    // Address of "origin", else of the only remote, else empty.
    std::string remote() const;

    // Path of steady-engine of that commit: built in a worktree under the state directory, which is
    // removed afterwards; kept for the next time. Holds the host lock, so that no measurement runs
    // beside a build. Throws Error with the last lines of a failed build.
    std::string engine(const Commit& commit, bool quiet) const;

private:
    std::string git(const std::vector<std::string>& arguments) const;
    std::vector<Commit> describe(const std::string& shas) const;

    std::string root_;
};

}  // namespace steady
