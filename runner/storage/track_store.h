// Series of regression tracking, stored: what `steady track` writes and the page reads. Functions
// take a transaction and never commit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runner/storage/pqxx.h"
#include "runner/track/track.h"

namespace steady::track {

struct Series {
    std::int64_t id = 0;
    std::string name, watch, metric, model, claim, host, forge;
    double noise = 0;  // of one point, log units, at the last judgement
    // Of another program: its repository as named in the question, branch, pinned commit.
    std::string repository, branch, reference;
    std::string unit = "ns";  // of the raw values
    std::string source;       // program that kept the history; empty: measured by Steady
};

// The series of a watch file on a host, made when missing; model, claim and forge are kept current.
Series open_series(pqxx::transaction_base& transaction, const Series& wanted);

struct StoredPoint {
    std::int64_t id = 0;
    TrackPoint point;  // ratio 0: failed
    std::string failed, measured_at;
    int position = 0;
    std::optional<double> level;
};

void add_point(pqxx::transaction_base& transaction, std::int64_t series, const StoredPoint& point);
// A point of another program, unless the same one is stored. True: it was new.
bool add_foreign_point(pqxx::transaction_base& transaction, std::int64_t series,
                       const StoredPoint& point);
// In the order of the history. `limit` latest ones; failed ones too.
std::vector<StoredPoint> points(pqxx::transaction_base& transaction, std::int64_t series,
                                int limit);
// Commits that have a measured point (not a failed one).
std::vector<std::string> measured_commits(pqxx::transaction_base& transaction, std::int64_t series);

// Why the latest measurement of a commit gave no value; nothing when one did, or none was tried.
std::optional<std::string> failure(pqxx::transaction_base& transaction, std::int64_t series,
                                   const std::string& commit);

struct Change {
    std::int64_t id = 0;
    TrackChange change;  // index is not kept
    std::string found_at, state, owner, note, triaged_at, triaged_by, subject;
    bool gone = false;
};

// Stores the judgement of exactly these points. A change within four points of a known one and of
// the same direction is that one, and keeps its triage. Returns the changes that were not known.
std::vector<TrackChange> keep_judgement(pqxx::transaction_base& transaction, std::int64_t series,
                                        const std::vector<StoredPoint>& points,
                                        const TrackJudgement& judged);
// What a direct A/B of the two sides of a change said; noise becomes its cause when refuted.
void keep_confirmation(pqxx::transaction_base& transaction, std::int64_t series,
                       const TrackChange& change);
// A step between two neighbours that a direct A/B confirmed and the detector does not find.
void add_confirmed_step(pqxx::transaction_base& transaction, std::int64_t series,
                        const TrackChange& change);
std::vector<Change> changes(pqxx::transaction_base& transaction, std::int64_t series);

struct SeriesRow {
    Series series;
    int points = 0, failed = 0, open_changes = 0;  // new or acknowledged, not gone
    std::string latest_commit, latest_subject, latest_at;
    std::optional<double> ratio, level;  // of the latest measured point
    std::vector<double> recent;          // ratios of the last 60 measured points, oldest first
    double last_shift = 0;               // of the latest change that is not gone, log units
};
std::vector<SeriesRow> list_series(pqxx::transaction_base& transaction);
std::optional<Series> find_series(pqxx::transaction_base& transaction, const std::string& name);

// Two commits in every series that measured both, by the latest point of each.
struct RevisionRow {
    Series series;
    TrackPoint a, b;
};
// a, b: at least the first seven hex digits of a commit.
std::vector<RevisionRow> revision_rows(pqxx::transaction_base& transaction, const std::string& a,
                                       const std::string& b);

// The state afterwards; empty: no such change in this series.
std::string triage(pqxx::transaction_base& transaction, const std::string& series,
                   std::int64_t change, const std::string& state, const std::string& owner,
                   const std::string& note, const std::string& by = "");

}  // namespace steady::track
