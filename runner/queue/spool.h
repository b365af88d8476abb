// A worker's results on its own disk, before the database has them: written and fsynced first, so
// that a database that is away, or a worker that dies between measuring and storing, costs no
// measured pair. One file per attempt; it goes when all of it is stored.
#pragma once

#include <functional>
#include <string>

#include "runner/edges/files.h"
#include "runner/storage/store.h"

namespace steady {

class Spool {
public:
    // Opens <directory>/<job>-<epoch>.jsonl. Throws Error when the directory cannot be written.
    Spool(const std::string& directory, const Lease& lease);

    // Appends and fsyncs one pair; returns its number in the file.
    int add(const Pair& pair, const std::string& next_coins);
    void mark_stored(int number);

    void remove();            // everything is stored
    void keep_as_evidence();  // the lease is lost: moved to <directory>/kept
    const std::string& path() const { return path_; }

private:
    void append(const std::string& line);
    std::string directory_, path_;
    Fd fd_;
    int n_ = 0;
};

// Sends what earlier attempts of this machine left behind, under their own lease: accepted while
// that lease still stands, fenced off otherwise. Call it with the host lock held, before reclaim().
// Returns the number of pairs that were accepted.
int replay_spools(const std::string& directory, Store& store);

}  // namespace steady
