// Commits of a repository, and an engine built from each of Steady's own: what `steady track`
// measures.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runner/programs/build/build_site.h"

namespace steady {

struct Commit {
    std::string sha;      // 40 hex digits
    std::string subject;  // first line of its message
    std::string date;     // of the commit, ISO 8601, UTC
    int position = 0;     // commits before it on the first-parent line
};

class Repository {
public:
    // The repository that holds `root`; branch: whose line is read, empty: what is checked out.
    // Throws Error when git is missing or there is none.
    explicit Repository(const std::string& root, const std::string& branch = {});

    const std::string& root() const { return source_.root(); }
    std::string name() const;  // of its folder, without ".git"
    const std::string& branch() const { return branch_; }
    // The latest commits of the branch's line of first parents, the oldest first.
    std::vector<Commit> line(int most) const;
    std::string tree(const std::string& commit) const;

    // A revision, or all commits of a range "A..B" (newest first). Throws Error naming what git
    // says.
    std::vector<Commit> commits(const std::string& revisions) const;
    // The latest n commits of the first-parent line of HEAD, newest first.
    std::vector<Commit> latest(int n) const;
    // Address of "origin", else of the only remote, else empty.
    std::string remote() const;

    // Path of steady-engine of that commit: the same for every commit, and that commit's until the
    // next call. Builds where the cache has none, while it holds the host lock, so that no
    // measurement runs beside a build. Throws Error with the last lines of a failed build.
    std::string engine(const Commit& commit, bool quiet);

private:
    // The commit's hash. Throws Error naming the option.
    std::string verified(const char* option, const std::string& revision) const;
    std::vector<Commit> describe(const std::string& shas) const;

    Source source_;
    std::string branch_;
    std::unique_ptr<BuildSite> site_;
};

}  // namespace steady
