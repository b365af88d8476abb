// Finished builds on disk, least recently used first to go:
//   trees/<key>/src         the tree; absent while it lies at its program's path
//   trees/<key>/build.json  written last: without it the build is not finished
//   trees/<key>/use         locked by every process that uses the tree; its time is the last use
//   at/<path>/              lock, src and the name of the tree that lies there
//   logs/<key>.log          of every attempt, the failed ones too
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "runner/platform/files.h"

namespace steady {

class BuildCache {
public:
    explicit BuildCache(std::string root);

    std::string tree(const std::string& key) const { return root_ + "/trees/" + key; }
    std::string log(const std::string& key) const { return root_ + "/logs/" + key + ".log"; }
    bool finished(const std::string& key) const;

    // Keeps the tree from being removed and makes it the most recently used one. It may have been
    // removed just before: ask finished() afterwards. Nothing when there is no such folder.
    std::shared_ptr<Fd> use(const std::string& key) const;

    // Removes trees that nobody uses, oldest use first, until all together have at most `limit`
    // bytes; old logs as well. Several processes may do so at once.
    void shrink(std::uint64_t limit) const;

    // Bytes of all finished trees.
    std::uint64_t bytes() const;

private:
    std::string root_;
};

// $STEADY_BUILDS, else <state>/builds.
std::string build_cache_folder();
// $STEADY_BUILDS_GB, else 20, in bytes. Throws Error when that is no positive number.
std::uint64_t build_cache_limit();

// A lock that ends with the process; nothing when somebody else keeps it. Throws Error.
std::optional<Fd> try_lock(const std::string& path);

// Bytes on disk of all that lies below.
std::uint64_t tree_bytes(const std::string& path);
// Removes a tree, its read-only folders included.
void remove_tree(const std::string& path);

}  // namespace steady
