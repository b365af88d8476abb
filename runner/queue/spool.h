// A worker's results on its own disk, written and fsynced before they go to the database: neither
// an unreachable database nor a worker that dies between measuring and storing costs a measured
// pair. One file per attempt; it is removed when all of it is stored.
#pragma once

#include <cstdint>
#include <string>

#include "runner/platform/files.h"
#include "runner/storage/store.h"

namespace steady {

// This machine cannot take a result now: its disk is full, or fails. Says nothing about the job.
struct HostTrouble : Error {
    explicit HostTrouble(const std::string& what) : Error(what, kExitInternal) {}
};

constexpr std::uint64_t kMostSpoolBytes = std::uint64_t{1} << 30U;  // of one attempt
constexpr std::size_t kMostKeptSpools = 100;                        // fenced off, kept to be read
constexpr std::uint64_t kMostKeptBytes = std::uint64_t{256} << 20U;

class Spool {
public:
    // Opens <directory>/<job>-<epoch>.jsonl. Throws HostTrouble when it cannot be written.
    Spool(const std::string& directory, const Lease& lease,
          std::uint64_t most_bytes = kMostSpoolBytes);

    // Appends and fsyncs one pair; returns its number in the file. Throws Error when the attempt
    // would fill the disk.
    int add(const Pair& pair, const std::string& next_coins);
    void mark_stored(int number);

    void remove();            // everything is stored
    void keep_as_evidence();  // the lease is lost: moved to <directory>/kept
    const std::string& path() const { return path_; }

private:
    bool write_line(const std::string& line);
    void append(const std::string& line);
    std::string directory_, path_;
    Fd fd_;
    int n_ = 0;
    bool torn_ = false;  // the last line has no end
    std::uint64_t bytes_ = 0, most_bytes_;
};

// Sends what earlier attempts of this machine left behind, under their own lease: accepted while
// that lease still stands, fenced off otherwise. Call it with the host lock held, before reclaim().
// Returns the number of pairs that were accepted.
int replay_spools(const std::string& directory, Store& store);

}  // namespace steady
