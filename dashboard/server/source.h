// The queries and writes that the page may make, as plain functions. One implementation queries the
// database (source_store.cpp); tests use a fake. Each worker thread has its own, so that no
// connection is shared. Functions throw Error for what the reader should know, and
// SourceUnavailable when the database is unreachable: the worker then builds a new one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "runner/record/record.h"
#include "runner/storage/alert_store.h"
#include "runner/storage/bisection_store.h"
#include "runner/storage/dashboard_queries.h"
#include "runner/storage/page_machines.h"
#include "runner/storage/search.h"
#include "runner/storage/series_notes.h"
#include "runner/storage/service.h"
#include "runner/storage/track_store.h"

namespace steady::web {

struct SourceUnavailable : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// The database answers, but not this now: overloaded, or out of room.
struct SourceStrained : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Submitted {
    std::string id, state;
    bool created = false;  // false: the same file was there already
};

struct SeriesDetail {
    track::Series series;
    std::vector<track::StoredPoint> points;  // in the order of the history
    std::vector<track::Change> changes;      // latest found first
    std::vector<track::Note> notes;          // oldest first
    std::vector<bisect::Asked> searches;     // newest first
};

// Of a change of a series, or of an alert.
struct Triage {
    std::string series;       // empty for an alert
    std::int64_t change = 0;  // its number, or the alert's
    std::string state, owner, note;
};

struct Source {
    std::function<page::ListPage(const page::ListQuery&)> list;
    std::function<std::optional<Record>(const std::string& id)> record;   // id or unique prefix
    std::function<std::optional<Record>(const std::string& id)> outline;  // without its pairs
    // Its pairs only where experiment_json reads them, which takes most of the time.
    std::function<std::optional<Record>(const std::string& id)> shown;
    // All runs of a question, the oldest first.
    std::function<std::vector<Run>(const std::string& question_sha)> runs;
    std::function<std::vector<page::Deed>(const std::string& id)> who_did;
    std::function<std::optional<std::string>(std::int64_t job)> stacks;  // JSON of StackProfile
    std::function<std::vector<page::QueueRow>()> queue;
    std::function<std::vector<page::HostDetail>()> hosts;
    std::function<std::vector<page::KernelRow>()> kernels;
    std::function<std::vector<page::ListRow>(const std::string& words, int limit)> journal;
    // Verdicts, and with decided_only false whatever was asked, with these words; see search.h.
    std::function<search::Findings(const std::string& words, int limit, bool decided_only)> tried;
    std::function<std::vector<page::OwnerRow>()> owners;
    std::function<std::optional<page::Events>(const std::string& id, int since)> events;
    // Scopes of the token with this hash (lower-case hex SHA-256); empty: not valid now.
    std::function<std::vector<std::string>(const std::string& sha256)> token_scopes;
    // commands: for workers that run any command; see SubmitOptions.
    std::function<Submitted(const Spec& spec, int priority, bool commands)> submit;
    std::function<std::string(const std::string& id)> cancel;   // the state after it
    std::function<std::string(const std::string& id)> requeue;  // likewise
    std::function<void(const std::string& id, int priority)> set_priority;
    // The same question again, with a seed of its own; commands as for submit.
    std::function<Submitted(const std::string& id, bool commands)> rerun;
    std::function<std::optional<std::string>(const std::string& slug)> entry;  // Markdown
    std::function<int()> queue_depth;
    std::function<service::State()> service;                   // for health and metrics
    std::function<void(const std::string& token_sha)> act_as;  // whose write comes; empty: over
    std::function<std::vector<page::AuditRow>()> audits;
    std::function<std::vector<page::WorkerRow>(const std::string& host, int limit)> workers;
    std::function<std::vector<page::NoiseRun>(const std::string& host)> noise;
    std::function<std::vector<track::SeriesRow>()> series;
    std::function<std::optional<SeriesDetail>(const std::string& name, int limit)> series_detail;
    std::function<std::vector<track::RevisionRow>(const std::string& a, const std::string& b)>
        revisions;
    std::function<std::string(const Triage&)> triage;  // the state after it; empty: no such change
    // A note at the commit that `note.commit` begins; throws Error when no point of the series has
    // it. Nothing: no such series.
    std::function<std::optional<track::Note>(const std::string& series, const track::Note& note)>
        add_note;
    std::function<bool(const std::string& series, std::int64_t note)> remove_note;
    // See bisect::searches.
    std::function<std::vector<bisect::Asked>(const std::string& experiment,
                                             const std::string& series)>
        searches;
    std::function<bisect::AskedNow(const bisect::Asked&)> ask_search;
    std::function<std::string(std::int64_t search)> cancel_search;  // likewise
    std::function<std::vector<alerts::Alert>(const std::string& state)> alerts;
    std::function<std::string(const Triage&)> triage_alert;  // likewise
};

using MakeSource = std::function<std::unique_ptr<Source>()>;

}  // namespace steady::web
