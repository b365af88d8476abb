// Statements and rows of the series. Judging again replaces what the detector found, never the
// triage.
#include "runner/storage/track_store.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "runner/storage/rows.h"

namespace steady::track {
namespace {

using rows::text;

constexpr int kSameWithin = 4;  // points; the detector's shortest segment

#define STEADY_ISO(column) \
    "to_char(" column " at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')"

constexpr const char* kKnowHost =
    "insert into steady.host (name) values ($1) on conflict do nothing";
constexpr const char* kOpen =
    "insert into steady.series (name, watch, metric, model, claim, host_id, forge, repository, "
    "branch, reference_sha, unit, source) "
    "select $1, $2, $3, $4, $5, host_id, $7, $8, $9, $10, $11, $12 from steady.host where name = "
    "$6 "
    "on conflict (watch, host_id) do update set metric = excluded.metric, model = excluded.model, "
    "claim = excluded.claim, forge = excluded.forge, unit = excluded.unit, reference_sha = "
    "case excluded.reference_sha when '' then series.reference_sha else excluded.reference_sha end "
    "returning series_id, reference_sha";
constexpr const char* kAddPoint =
    "insert into steady.series_point (series_id, commit_sha, subject, committed_at, position, "
    "exp_id, ratio, low, high, pairs, champion_ns, reference_ns, machine, failed, method) values "
    "($1, "
    "$2, $3, $4::timestamptz, $5, (select exp_id from steady.experiment where name = $6), $7, $8, "
    "$9, $10, $11, $12, $13, $14, $15)";
constexpr const char* kKnownPoint =
    "select from steady.series_point where series_id = $1 and commit_sha collate \"C\" = $2 "
    "and champion_ns = $3 and committed_at = $4::timestamptz";
constexpr const char* kPoints =
    "select * from (select p.point_id, p.commit_sha, p.subject, " STEADY_ISO("p.committed_at")
    ", p.position, p.ratio, p.low, p.high, p.pairs, p.champion_ns, p.reference_ns, p.machine, "
    "p.failed, " STEADY_ISO("p.measured_at") ", p.level, e.name, p.method "
    "from steady.series_point p "
    "left join steady.experiment e using (exp_id) where p.series_id = $1 "
    "order by p.position desc, p.point_id desc limit $2) latest order by position, point_id";
constexpr const char* kMeasured =
    "select distinct commit_sha from steady.series_point where series_id = $1 and failed = ''";
constexpr const char* kFailure =
    "select p.failed from steady.series_point p where p.series_id = $1 "
    "and p.commit_sha collate \"C\" = $2 order by (p.failed = '') desc, p.point_id desc limit 1";
constexpr const char* kChanges =
    "select c.change_id, c.commit_sha, c.before_sha, c.shift, c.p, c.cause, "
    STEADY_ISO("c.found_at") ", c.gone, c.state, c.owner, c.note, " STEADY_ISO("c.triaged_at")
    ", (select subject from steady.series_point p where p.series_id = c.series_id "
    "and p.commit_sha collate \"C\" = c.commit_sha limit 1), c.low, c.high, c.cross_checked, c.confirmation, "
    "c.confirmed_by, c.triaged_by from steady.series_change c where c.series_id = $1 order by c.change_id desc limit 500";
constexpr const char* kLevel = "update steady.series_point set level = $2 where point_id = $1";
constexpr const char* kNoise = "update steady.series set noise = $2 where series_id = $1";
constexpr const char* kAllGone =
    "update steady.series_change set gone = true where series_id = $1 and not gone";
constexpr const char* kStill =
    "update steady.series_change set gone = false, shift = $4, p = $5, low = $7, high = $8, "
    "cross_checked = $9, "
    // An answer belongs to exactly these two commits.
    "cause = case when (commit_sha, before_sha) = ($2, $3) and confirmation = 'refuted' "
    "then 'noise' else $6 end, "
    "confirmation = case when (commit_sha, before_sha) = ($2, $3) then confirmation else '' end, "
    "confirmed_by = case when (commit_sha, before_sha) = ($2, $3) then confirmed_by else '' end, "
    "commit_sha = $2, before_sha = $3 where change_id = $1";
constexpr const char* kConfirmation =
    "update steady.series_change set confirmation = $4, confirmed_by = $5, cause = $6 "
    "where series_id = $1 and commit_sha = $2 and before_sha = $3 and not gone";
constexpr const char* kAddChange =
    "insert into steady.series_change (series_id, commit_sha, before_sha, shift, p, cause, low, "
    "high, "
    "cross_checked) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
// The columns that series_of reads.
#define STEADY_SERIES                                                                      \
    "s.series_id, s.name, s.watch, s.metric, s.model, s.claim, h.name, s.forge, s.noise, " \
    "s.repository, s.branch, s.reference_sha, s.unit, s.source"

constexpr const char* kSeries =
    "select " STEADY_SERIES " from steady.series s join steady.host h using (host_id) ";
constexpr const char* kList =
    "select " STEADY_SERIES ", s.n_points, s.n_failed, c.open, c.last, l.ratios, l.commit_sha, "
    "l.subject, l.at, l.level from (select * from steady.series order by name) s "
    "join steady.host h using (host_id) "
    "left join lateral (select count(*) filter (where state in ('new', 'acknowledged') "
    "and cause <> 'noise') as open, (array_agg(shift order by change_id desc))[1] as last "
    "from steady.series_change where series_id = s.series_id and not gone) c on true "
    "left join lateral (select string_agg(ratio::text, ' ' order by position, point_id) as ratios, "
    "(array_agg(commit_sha order by position desc, point_id desc))[1] as commit_sha, "
    "(array_agg(subject order by position desc, point_id desc))[1] as subject, "
    STEADY_ISO("(array_agg(measured_at order by position desc, point_id desc))[1]") " as at, "
    "(array_agg(level order by position desc, point_id desc))[1] as level "
    "from (select * from steady.series_point p where p.series_id = s.series_id and p.failed = '' "
    "order by position desc, point_id desc limit 60) latest) l on true "
    "order by c.open desc, s.name limit 200";
// A prefix is a range of texts: hex digits stand before 'g'.
constexpr const char* kRevisions =
    "with a as (select distinct on (series_id) * from steady.series_point "
    "where commit_sha collate \"C\" >= $1 and commit_sha collate \"C\" < $1 || 'g' "
    "and failed = '' order by series_id, point_id desc), "
    "b as (select distinct on (series_id) * from steady.series_point "
    "where commit_sha collate \"C\" >= $2 and commit_sha collate \"C\" < $2 || 'g' "
    "and failed = '' order by series_id, point_id desc) "
    "select " STEADY_SERIES
    ", a.commit_sha, a.subject, a.ratio, a.low, a.high, b.commit_sha, "
    "b.subject, b.ratio, b.low, b.high, a.machine, b.machine, a.method, b.method "
    "from a join b using (series_id) join steady.series s using (series_id) "
    "join steady.host h using (host_id) order by abs(ln(b.ratio / a.ratio)) desc limit 1000";
constexpr const char* kTriage =
    "select steady.triage(change_id, $3, $4, $5, $6) from steady.series_change "
    "join steady.series using (series_id) where name = $1 and change_id = $2";

#undef STEADY_SERIES
#undef STEADY_ISO

std::optional<double> number(const pqxx::field& field) {
    if (field.is_null()) return std::nullopt;
    return field.as<double>();
}

Series series_of(const pqxx::row& row) {
    Series out;
    out.id = row[0].as<std::int64_t>();
    out.name = text(row[1]);
    out.watch = text(row[2]);
    out.metric = text(row[3]);
    out.model = text(row[4]);
    out.claim = text(row[5]);
    out.host = text(row[6]);
    out.forge = text(row[7]);
    out.noise = row[8].as<double>();
    out.repository = text(row[9]);
    out.branch = text(row[10]);
    out.reference = text(row[11]);
    out.unit = text(row[12]);
    out.source = text(row[13]);
    return out;
}

constexpr int kOwnColumns = 14;  // that series_of reads

// Numbers as PostgreSQL writes them, with spaces between.
std::vector<double> numbers_in(const std::string& words) {
    std::vector<double> out;
    const char* at = words.c_str();
    for (char* end = nullptr; *at != '\0'; at = end) {
        out.push_back(std::strtod(at, &end));
        if (end == at) break;
    }
    return out;
}

// Place of a commit among the judged points: its first point there.
std::optional<std::size_t> place_of(const std::vector<StoredPoint>& points,
                                    const std::string& commit) {
    for (std::size_t i = 0; i < points.size(); ++i) {
        if (points[i].point.commit == commit) return i;
    }
    return std::nullopt;
}

bool is_exactly(const TrackChange& one, const TrackChange& other) {
    return one.commit == other.commit && one.shift * other.shift > 0;
}

// The same commit, else the nearest one that no other change of this judgement is.
const Change* same_change(const std::vector<Change>& known, const std::vector<StoredPoint>& points,
                          const TrackChange& found, const std::vector<TrackChange>& all) {
    const Change* best = nullptr;
    long long nearest = kSameWithin + 1;
    for (const Change& one : known) {
        if (is_exactly(one.change, found)) return &one;
        if (one.change.shift * found.shift <= 0) continue;
        const bool taken = std::any_of(all.begin(), all.end(), [&](const TrackChange& other) {
            return is_exactly(one.change, other);
        });
        const auto place = place_of(points, one.change.commit);
        if (taken || !place) continue;
        const long long far =
            std::llabs(static_cast<long long>(*place) - static_cast<long long>(found.index));
        if (far >= nearest) continue;
        nearest = far;
        best = &one;
    }
    return best;
}

}  // namespace

Series open_series(Transaction& transaction, const Series& wanted) {
    Series out = wanted;
    transaction.exec_params(kKnowHost, wanted.host);  // when nothing ran there yet
    const auto row =
        transaction.exec_params1(kOpen, wanted.name, wanted.watch, wanted.metric, wanted.model,
                                 wanted.claim, wanted.host, wanted.forge, wanted.repository,
                                 wanted.branch, wanted.reference, wanted.unit, wanted.source);
    out.id = row[0].as<std::int64_t>();
    out.reference = text(row[1]);
    return out;
}

void add_point(Transaction& transaction, std::int64_t series, const StoredPoint& stored) {
    const TrackPoint& point = stored.point;
    const bool good = stored.failed.empty();
    const std::optional<double> none;
    transaction.exec_params(
        kAddPoint, series, point.commit, point.subject, point.date, stored.position,
        point.experiment, good ? std::optional(point.ratio) : none,
        good ? point.interval.low : none, good ? point.interval.high : none, point.pairs,
        point.champion_ns, point.reference_ns, point.machine, stored.failed, point.method);
}

bool add_foreign_point(Transaction& transaction, std::int64_t series, const StoredPoint& stored) {
    const TrackPoint& point = stored.point;
    const bool known =
        !transaction.exec_params(kKnownPoint, series, point.commit, point.champion_ns, point.date)
             .empty();
    if (!known) add_point(transaction, series, stored);
    return !known;
}

std::vector<StoredPoint> points(Transaction& transaction, std::int64_t series, int limit) {
    std::vector<StoredPoint> out;
    for (const auto& row : transaction.exec_params(kPoints, series, limit)) {
        StoredPoint one;
        one.id = row[0].as<std::int64_t>();
        one.point.commit = text(row[1]);
        one.point.subject = text(row[2]);
        one.point.date = text(row[3]);
        one.position = row[4].as<int>();
        one.point.ratio = number(row[5]).value_or(0);
        one.point.interval = {number(row[6]), number(row[7])};
        one.point.pairs = row[8].as<int>();
        one.point.champion_ns = row[9].as<double>();
        one.point.reference_ns = row[10].as<double>();
        one.point.machine = text(row[11]);
        one.failed = text(row[12]);
        one.measured_at = text(row[13]);
        one.level = number(row[14]);
        one.point.experiment = text(row[15]);
        one.point.method = text(row[16]);
        out.push_back(std::move(one));
    }
    return out;
}

std::vector<std::string> measured_commits(Transaction& transaction, std::int64_t series) {
    std::vector<std::string> out;
    for (const auto& row : transaction.exec_params(kMeasured, series)) out.push_back(text(row[0]));
    return out;
}

std::optional<std::string> failure(Transaction& transaction, std::int64_t series,
                                   const std::string& commit) {
    const auto found = transaction.exec_params(kFailure, series, commit);
    if (found.empty() || text(found[0][0]).empty()) return std::nullopt;
    return text(found[0][0]);
}

std::vector<TrackChange> keep_judgement(Transaction& transaction, std::int64_t series,
                                        const std::vector<StoredPoint>& points,
                                        const TrackJudgement& judged) {
    const std::vector<Change> known = changes(transaction, series);
    for (std::size_t i = 0; i < points.size() && i < judged.level.size(); ++i) {
        if (points[i].level != judged.level[i]) {
            transaction.exec_params(kLevel, points[i].id, judged.level[i]);
        }
    }
    transaction.exec_params(kNoise, series, judged.noise);
    transaction.exec_params(kAllGone, series);
    std::vector<TrackChange> fresh;
    for (const TrackChange& found : judged.changes) {
        if (const Change* old = same_change(known, points, found, judged.changes)) {
            transaction.exec_params(kStill, old->id, found.commit, found.before, found.shift,
                                    found.p, found.cause, found.interval.low, found.interval.high,
                                    found.cross_checked);
        } else {
            transaction.exec_params(kAddChange, series, found.commit, found.before, found.shift,
                                    found.p, found.cause, found.interval.low, found.interval.high,
                                    found.cross_checked);
            fresh.push_back(found);
        }
    }
    return fresh;
}

void keep_confirmation(Transaction& transaction, std::int64_t series, const TrackChange& change) {
    transaction.exec_params(
        kConfirmation, series, change.commit, change.before, name(change.confirmation),
        change.confirmed_by,
        change.confirmation == Confirmation::refuted ? std::string("noise") : change.cause);
}

void add_confirmed_step(Transaction& transaction, std::int64_t series, const TrackChange& change) {
    transaction.exec_params(kAddChange, series, change.commit, change.before, change.shift,
                            change.p, change.cause, change.interval.low, change.interval.high,
                            change.cross_checked);
    keep_confirmation(transaction, series, change);
}

std::vector<Change> changes(Transaction& transaction, std::int64_t series) {
    std::vector<Change> out;
    for (const auto& row : transaction.exec_params(kChanges, series)) {
        Change one;
        one.id = row[0].as<std::int64_t>();
        one.change.commit = text(row[1]);
        one.change.before = text(row[2]);
        one.change.shift = row[3].as<double>();
        one.change.p = row[4].as<double>();
        one.change.cause = text(row[5]);
        one.found_at = text(row[6]);
        one.gone = row[7].as<bool>();
        one.state = text(row[8]);
        one.owner = text(row[9]);
        one.note = text(row[10]);
        one.triaged_at = text(row[11]);
        one.subject = text(row[12]);
        one.change.interval = {number(row[13]), number(row[14])};
        one.change.cross_checked = row[15].as<bool>();
        one.change.confirmation = confirmation_of(text(row[16]));
        one.change.confirmed_by = text(row[17]);
        one.triaged_by = text(row[18]);
        out.push_back(std::move(one));
    }
    return out;
}

std::vector<SeriesRow> list_series(Transaction& transaction) {
    std::vector<SeriesRow> out;
    for (const auto& row : transaction.exec(kList)) {
        SeriesRow one;
        one.series = series_of(row);
        one.points = row[kOwnColumns].as<int>();
        one.failed = row[kOwnColumns + 1].as<int>();
        one.open_changes = row[kOwnColumns + 2].as<int>();
        one.last_shift = number(row[kOwnColumns + 3]).value_or(0);
        one.recent = numbers_in(text(row[kOwnColumns + 4]));
        if (!one.recent.empty()) one.ratio = one.recent.back();
        one.latest_commit = text(row[kOwnColumns + 5]);
        one.latest_subject = text(row[kOwnColumns + 6]);
        one.latest_at = text(row[kOwnColumns + 7]);
        one.level = number(row[kOwnColumns + 8]);
        out.push_back(std::move(one));
    }
    return out;
}

std::vector<RevisionRow> revision_rows(Transaction& transaction, const std::string& a,
                                       const std::string& b) {
    std::vector<RevisionRow> out;
    for (const auto& row : transaction.exec_params(kRevisions, a, b)) {
        RevisionRow one{.series = series_of(row), .a = {}, .b = {}};
        for (const int side : {0, 1}) {
            TrackPoint& point = side == 0 ? one.a : one.b;
            const int at = kOwnColumns + 5 * side;
            point.commit = text(row[at]);
            point.subject = text(row[at + 1]);
            point.ratio = row[at + 2].as<double>();
            point.interval = {number(row[at + 3]), number(row[at + 4])};
            point.machine = text(row[kOwnColumns + 10 + side]);
            point.method = text(row[kOwnColumns + 12 + side]);
        }
        out.push_back(std::move(one));
    }
    return out;
}

std::optional<Series> find_series(Transaction& transaction, const std::string& name) {
    static const std::string statement = std::string(kSeries) + "where s.name = $1";
    const auto found = transaction.exec_params(statement, name);
    if (found.empty()) return std::nullopt;
    return series_of(found[0]);
}

std::string triage(Transaction& transaction, const std::string& series, std::int64_t change,
                   const std::string& state, const std::string& owner, const std::string& note,
                   const std::string& by) {
    const auto done = transaction.exec_params(kTriage, series, change, state, owner, note, by);
    return done.empty() ? "" : text(done[0][0]);
}

}  // namespace steady::track
