// Builds of a program's revisions, and the one path at which all of them are built and run: the
// length of a path moves a process's memory and its speed with it, so two arms at two paths would
// differ in more than their code. A finished build waits in a cache under its key and is moved to
// that path while its arm runs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/base/error.h"
#include "runner/platform/files.h"
#include "runner/platform/process.h"
#include "runner/programs/build/source.h"
#include "runner/programs/confine/confine.h"

namespace steady {

struct BuildRecipe {
    // Run one after the other in the tree, without a shell. {src} becomes the tree's path, {jobs}
    // the number of CPUs.
    std::vector<std::vector<std::string>> commands;
    std::map<std::string, std::string> env;
    double timeout_s = 3600;  // for all commands together
};

struct BuildOptions {
    std::string program;      // names the path, together with the repository
    std::string cache;        // empty: $STEADY_BUILDS, else <state>/builds
    std::uint64_t limit = 0;  // bytes; 0: $STEADY_BUILDS_GB, else 20 GB
    // How builds run; absent: with the caller's rights. `writable` is set here.
    std::optional<Confinement> confinement;
    const StopSignal* stop = nullptr;
    std::function<void(const std::string&)> message;  // one line for people
};

struct Build {
    std::string key;  // of tree, recipe, tools, environment and path
    Revision revision;
    std::string log;  // path of what the commands printed
    std::map<std::string, std::string> tools;
    double seconds = 0;  // of the build, whenever it was made
    bool from_cache = false;
    std::shared_ptr<Fd> in_use;  // as long as it is open, the cache keeps the tree
};

// The recipe does not work on this revision: the experiment is invalid, the machine is fine.
// The last lines of what the commands of a finished build printed.
std::string log_end(const Build& build);

struct BuildFailed : Error {
    BuildFailed(const std::string& what, std::string end, std::string path)
        : Error(what), log_end(std::move(end)), log(std::move(path)) {}
    std::string log_end;  // the last lines, redacted
    std::string log;      // path of the whole, of which the middle may be left out
};

class BuildSite {
public:
    // Waits until no other process builds or runs this program here. Puts back what a killed one
    // left at the path. Throws Error (kExitInterrupted when stopped).
    BuildSite(const Source& source, BuildOptions options);
    ~BuildSite();
    BuildSite(const BuildSite&) = delete;
    BuildSite& operator=(const BuildSite&) = delete;

    // From the cache or by running the recipe. Throws BuildFailed, or Error when stopped.
    Build build(const Revision& revision, const BuildRecipe& recipe);

    // Moves that build to directory(). A process that was started earlier keeps its own tree as
    // working directory; only what it opens by absolute path is the new one's.
    void place(const Build& build);
    const std::string& directory() const { return directory_; }

private:
    std::string key_of(const Revision& revision, const BuildRecipe& recipe,
                       const std::map<std::string, std::string>& tools) const;
    void make(const Revision& revision, const BuildRecipe& recipe, const std::string& log,
              Build& build);
    std::string run_commands(const BuildRecipe& recipe, const Revision& revision,
                             const std::string& log);
    ChildOptions command(const BuildRecipe& recipe, const std::vector<std::string>& words) const;
    void put_back();
    void say(const std::string& line) const;

    const Source& source_;
    BuildOptions options_;
    std::string folder_;     // of this path: its lock and what lies there
    std::string directory_;  // folder_/src
    Fd lock_;
    std::string placed_;  // key
};

}  // namespace steady
