// `steady track --repo NAME`: every commit of a branch of any program against one pinned commit, in
// pairs, for each question of a suite. A change of level is narrowed to two neighbouring commits
// and confirmed by a direct A/B of them before anybody is told.
#pragma once

#include <memory>

#include "runner/cli/command_line.h"
#include "runner/cli/track_series.h"

namespace steady {

// The options speak of a repository other than Steady's own.
bool tracks_repository(const Arguments& arguments);

// Measures, judges, narrows, confirms; with --list only reads. What it found stands in the result.
class RepositoryTracking {
public:
    explicit RepositoryTracking(const Arguments& arguments);
    ~RepositoryTracking();
    RepositoryTracking(const RepositoryTracking&) = delete;
    RepositoryTracking& operator=(const RepositoryTracking&) = delete;

    void run();
    Tracker& tracker();

private:
    struct Work;
    std::unique_ptr<Work> work_;
};

}  // namespace steady
