// Limits that hold for a child and everything that it starts together, and one end for all of them.
// The means is what the machine has: a transient scope of systemd, a control group of our own, or
// nothing, and then limits hold per process only.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runner/platform/process.h"

namespace steady {

enum class TreeKind { none, cgroup_v1, cgroup_v2, systemd_scope };

struct TreeMeans {
    TreeKind kind = TreeKind::none;
    bool memory = false;                     // the limit of memory holds for the whole tree
    bool processes = false;                  // and that of the number of processes
    std::vector<std::string> start_words{};  // systemd_scope: what starts one, without limits
    std::vector<std::string>
        folders{};      // of control groups: ours are made in them, or appear there
    std::string why{};  // why nothing better is used here; empty: nothing is better

    bool whole() const { return memory && processes; }
};

// "memory and processes of the whole tree, by a systemd scope", "per process only: …".
std::string describe(const TreeMeans& means);

// Runs a command and waits for its end.
using ScopeTrial = std::function<ChildEnd(const std::vector<std::string>& argv)>;

// Tries them, the best first: systemd's scope, a group in the own one's folder (v2, then v1).
// `root` holds proc/, sys/ and run/ of a machine that is not this one; its groups are only looked
// at.
TreeMeans find_tree_means(const std::string& root, const ScopeTrial& trial);

// This machine's, found once per process.
const TreeMeans& tree_means();

struct TreeLimits {
    std::uint64_t memory_bytes = 0;  // resident and in memory file systems, no swap; 0: no limit
    int processes = 512;             // and threads
};

// The group of one child, made before it starts. What is left in it is killed at the end.
class ProcessTree {
public:
    ProcessTree(const TreeMeans& means, const TreeLimits& limits);
    ~ProcessTree();
    ProcessTree(const ProcessTree&) = delete;
    ProcessTree& operator=(const ProcessTree&) = delete;

    // Stands before the child's own arguments.
    const std::vector<std::string>& words() const { return words_; }
    // The child writes itself into these files before it runs: SpawnPlan::join.
    const std::vector<std::string>& join() const { return join_; }

private:
    std::vector<std::string> words_, join_, groups_;
    bool made_by_us_ = false;
};

}  // namespace steady
