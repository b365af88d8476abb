// Commits of the project's repository and an engine built from each: what `steady track` measures.
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
    // The repository that holds `root`. Throws Error when git is missing or there is none.
    explicit Repository(const std::string& root);

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
    std::vector<Commit> describe(const std::string& shas) const;

    Source source_;
    std::unique_ptr<BuildSite> site_;
};

}  // namespace steady
