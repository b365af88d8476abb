// What every kind of tracking shares: points of a commit, the judgement of a series, and how both
// are told. verbs_track.cpp measures Steady's own commits, track_repository.cpp those of others.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runner/cli/command_line.h"
#include "runner/cli/track_commits.h"
#include "runner/record/record.h"
#include "runner/storage/store.h"
#include "runner/storage/track_store.h"
#include "runner/track/track.h"

namespace steady {

// Small letters, digits and dashes: part of an address.
std::string slug(const std::string& text);

// A commit without a value yet.
track::StoredPoint point_of(const Commit& commit);
// With the value of a record, or why it has none.
track::StoredPoint point_of(const Record& record, track::StoredPoint out);

class Tracker {
public:
    // Opens each series, making it when it is missing.
    Tracker(const Arguments& arguments, std::vector<track::Series> wanted);

    const std::vector<track::Series>& series() const { return series_; }
    bool is_known(std::size_t series, const std::string& commit);
    // Why its latest measurement failed; nothing when it has a value or was never tried.
    std::optional<std::string> failure_of(std::size_t series, const std::string& commit);
    void keep(std::size_t series, const track::StoredPoint& point);
    void skip_known() { ++known_; }

    // Judges each series from what is stored; what one call found first stays new for that call.
    const std::vector<TrackSummary>& judge_all();
    void confirm(std::size_t series, TrackChange& change);  // stores what a direct A/B said
    void add_step(std::size_t series,
                  const TrackChange& change);  // confirmed, found by no detector

    int measured() const { return measured_; }
    int known() const { return known_; }

    // On stdout, as the options ask.
    void print_results() const;
    // 10: something became slower · 12: nothing was measured · 0
    int exit_code() const;

private:
    TrackSummary judge(Transaction& transaction, std::size_t series);
    nlohmann::json json() const;
    std::string text() const;

    const Arguments& arguments_;
    Store store_;
    std::vector<track::Series> series_;
    std::vector<std::optional<std::set<std::string>>> known_commits_;  // of a series, once asked
    std::vector<TrackSummary> all_;
    int measured_ = 0, failed_ = 0, known_ = 0;
};

}  // namespace steady
