// Keeps a program that somebody else wrote away from what is not its own: the database's socket,
// Steady's state, other programs' builds, the network, the users' files and our environment. The
// means is bubblewrap (`bwrap`), put in front of the program's own arguments; what it costs, it
// costs both arms alike.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runner/platform/process.h"
#include "runner/platform/process_tree.h"

namespace steady {

struct Confinement {
    // Shown at their own paths, besides the system's read-only folders and the working directory.
    std::vector<std::string> readable, writable;
    std::map<std::string, std::string> env;  // beyond confined_environment()
    bool network = false;  // true: the host's network, with everything that the host can reach
    std::uint64_t scratch_bytes = std::uint64_t{1} << 30U;  // of /tmp; /dev/shm has as much
    std::uint64_t file_bytes = std::uint64_t{4} << 30U;     // of one file
    // All processes together where `means` can, /tmp and /dev/shm included, and always the writable
    // private memory of one; 0: no limit.
    std::uint64_t memory_bytes = 0;
    int processes = 512;  // and threads, all together
    // "1", "2-3,6": the CPUs that it begins on, and all that it starts with it. An affinity, which
    // a program could change again: it arranges a measurement and protects nothing.
    std::string cpus{};
    // Who starts it. Root gives the program a user id of its own; anybody else can only hide the
    // own one in a user namespace.
    bool by_root = started_by_root();
    const TreeMeans* means = &tree_means();  // what limits all of its processes together

    static bool started_by_root();
};

// What stands in front of the program's absolute path and arguments. `directory`, absolute, is its
// working directory; read-only unless it is in `writable`. Throws Error when a path may not be
// shown or a tool is missing.
std::vector<std::string> confinement_prefix(const Confinement& confinement,
                                            const std::string& directory);

// One start: the prefix, and the group that the child and all its processes live in.
struct ConfinedStart {
    std::vector<std::string> prefix;
    std::shared_ptr<const ProcessTree> tree;
};
ConfinedStart confined_start(const Confinement& confinement, const std::string& directory);

// "1, by affinity (taskset)", "all".
std::string describe_cpus(const Confinement& confinement);

// The whole environment of a confined program, before Confinement::env.
std::map<std::string, std::string> confined_environment();

// The same child, confined: prefix before argv, its environment handed through, its limits those of
// the confinement (lower ones set before could not be raised again).
ChildOptions confined(ChildOptions child, Confinement confinement);

// Makes a tree the confined program's own, as far as `by_root` allows: it can then be written
// there.
void give_to_confined(const std::string& tree);

// Why nothing can be confined here and how to mend it; empty when it works. Starts a program.
std::string confinement_trouble();

}  // namespace steady
