// Regression tracking, the pure part: the series of past commits, where its level changed and why,
// and the text for a pull request or a webhook. A value is the speed of a commit's defaults as a
// multiple of a frozen reference that ran in the same process, so that drift of the machine
// cancels.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runner/judge/analysis.h"

namespace steady {

// One measurement of one commit, in the order of the history.
struct TrackPoint {
    std::string commit;         // 40 hex digits
    std::string subject, date;  // of the commit; date as ISO 8601, UTC
    double ratio = 0;           // t(reference) / t(champion), above zero; higher is faster
    Interval interval;          // of the ratio
    int pairs = 0;              // valid pairs behind it
    // Raw, for the grey line: median time of a token, or of another program its metric's value.
    double champion_ns = 0, reference_ns = 0;
    std::string machine;  // what must be equal for two points to be comparable
    std::string method;   // how it was measured: question, reference, compilers; empty: not known
    std::string experiment;  // id of the record behind it
};

// What a direct A/B of the two sides of a change said. open: its pairs ran out.
enum class Confirmation { none, confirmed, refuted, open };
const char* name(Confirmation confirmation);  // "" for none
Confirmation confirmation_of(const std::string& name);

// Where a new level begins.
struct TrackChange {
    std::size_t index = 0;       // of the first point at the new level
    std::string commit, before;  // first commit of the new level, last one of the old
    double shift = 0;            // of the segments' medians, log units; below zero is slower
    Interval interval;           // 95 %, of the shift, log units
    double p = 1;                // rank-sum test between the neighbouring segments
    bool cross_checked = false;  // E-Divisive finds it too
    // By the control series, the frozen reference: code, only the commit's side moved · method, the
    // question, the reference or a compiler changed there · hardware, host or kernel did, or both
    // sides moved · noise, a direct A/B of the two sides shows nothing · unknown, values of another
    // program, beside which nothing ran.
    std::string cause;
    Confirmation confirmation = Confirmation::none;
    std::string confirmed_by;  // id of that A/B
};

struct TrackJudgement {
    std::vector<double> level;  // per point: its segment's median ratio
    double noise = 0;           // scale of a single point, log units; 0 below two points
    std::vector<TrackChange> changes;
    std::vector<std::size_t>
        only_cross_check;  // points that E-Divisive finds and this rule does not
};

// A change between two neighbouring commits that a direct A/B confirmed. It stands whatever the
// detector finds, which needs about eight points on each side, and in place of what the detector
// finds within three points, since a noisy point moves that.
struct ConfirmedStep {
    std::string before, commit;
};

// Change points by the rule of change_points.h on ln(ratio), and confirmed steps; the detector
// finds none among fewer than eight points.
TrackJudgement judge_track(const std::vector<TrackPoint>& points,
                           const std::vector<ConfirmedStep>& confirmed = {});

// Neighbouring points whose intervals do not meet, where `judged` has no change: there a change may
// lie that too few points show. Two 95 % intervals do not meet by chance in about one of 180 cases,
// so these are places to look at, never changes.
std::vector<TrackChange> suspected_steps(const std::vector<TrackPoint>& points,
                                         const TrackJudgement& judged);

// The same change at the boundaries up to three points beside it, the nearest first: where to ask
// when a direct A/B does not confirm it at its own. A shift of a neighbour's own points tells
// nothing then.
std::vector<TrackChange> places_beside(const std::vector<TrackPoint>& points,
                                       const TrackChange& change);

// For points that another program measured: a change that neither the machine nor the method
// explains may be the code's or the hour's.
void without_control(TrackJudgement& judged);

// "https://forge/owner/repo" of a git remote in any of its spellings, without user or password;
// empty for a folder or what is no address.
std::string forge_url(const std::string& remote);
// The forge's page of the commits after `before` up to `after`; empty when forge is.
std::string compare_url(const std::string& forge, const std::string& before,
                        const std::string& after);

// One series as the alerts speak of it.
struct TrackSummary {
    std::string series, metric, host, forge;
    std::string repository;  // how `steady bisect` names it; empty: this project
    std::string question;    // file that is asked; empty: of the standing suite
    std::vector<TrackPoint> points;
    TrackJudgement judged;
    std::vector<TrackChange> found;  // those that this run saw first
};

// For a pull request: one row per series, then what changed. Text of commits is escaped.
std::string track_markdown(const std::vector<TrackSummary>& all);
// For a webhook: {"text", "series", "changes": […]}; the text alone is what chat programs show.
nlohmann::json track_alert(const TrackSummary& one);

}  // namespace steady
