// Revisions of somebody's git repository as plain trees. Only read: neither the repository's index
// nor its objects or work trees change, so that an experiment cannot disturb its author's work.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runner/platform/process.h"

namespace steady {

struct Revision {
    std::string asked;    // as written: main, v1.4, HEAD~1, or "." for the files as they are now
    std::string commit;   // 40 hex digits; empty: "." with changes that are in no commit
    std::string tree;     // git's hash of the content
    std::string subject;  // first line of the commit's message
};

class Source {
public:
    // `path`: a work tree, a folder in it, or a bare repository. Throws Error naming what git says.
    // `project`: a folder in it in which Steady writes experiments/ and journal/; "." leaves out
    // those files where git does not track them.
    explicit Source(const std::string& path, const StopSignal* stop = nullptr,
                    const std::string& project = {});
    ~Source();
    Source(const Source&) = delete;
    Source& operator=(const Source&) = delete;

    // "." takes in changed and new files, not ignored ones. Throws Error.
    Revision resolve(const std::string& revision) const;
    // Short names of all branches and tags, newest commit first.
    std::vector<std::string> refs() const;
    // Short names of the branches and tags that contain the commit: "main", "origin/main", "v1.4".
    std::vector<std::string> refs_containing(const std::string& commit) const;
    // Writes the revision's files into an existing empty directory, without a .git. Submodules that
    // are checked out in the work tree come along at the revision's commits; others stay empty.
    void extract(const Revision& revision, const std::string& directory) const;

    // What git prints, without the last line's end. Throws Error with git's last line.
    std::string git(const std::vector<std::string>& arguments,
                    std::map<std::string, std::string> env = {}) const;

    // The work tree's top, else the bare repository: the same for every path into one repository.
    const std::string& root() const { return root_; }

private:
    std::string scratch() const;
    std::string working_tree() const;
    std::vector<std::string> changed_submodules() const;

    const StopSignal* stop_;
    std::string root_, git_dir_, objects_;
    std::vector<std::string> own_files_;  // patterns of git
    bool bare_ = false;
    mutable std::string scratch_;  // objects and index of uncommitted files
};

}  // namespace steady
