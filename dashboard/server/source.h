// What the page reads and the two things it may write, as plain functions: one filling reads the
// database (source_store.cpp), tests fill it by hand. Each worker thread holds its own, so that no
// connection is shared. Functions throw Error for what the reader should know, and
// SourceUnavailable when the database is away: the worker then builds a new one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "runner/pipeline/record.h"

namespace steady::web {

struct SourceUnavailable : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Filters of the list; empty means all. `before` is the job number to go on from.
struct ListQuery {
    std::string verdict, state, owner, metric, host, text;
    std::int64_t before = 0;
    int limit = 50;
};

struct ListRow {
    std::int64_t job = 0;
    std::string id, owner, claim, model, state, verdict, reason, sentence, metric, host, prediction;
    std::optional<double> effect;
    Interval interval;
    int pairs = 0, pairs_max = 0;
    std::string submitted_at, decided_at;  // ISO 8601, UTC
    std::string note, journal_path;
};

struct ListPage {
    std::vector<ListRow> rows;
    std::int64_t next = 0;  // 0: no more
};

struct QueueRow {
    std::int64_t job = 0;
    std::string id, owner, claim, state, host, worker, note;
    int priority = 0, crashes = 0, pairs_done = 0, pairs_max = 0;
    std::string queued_at, began_at, lease_until;
    std::vector<std::string> need_tags;
    bool cancel_asked = false;
    std::optional<double> effect;  // so far, as the runner stored it
    Interval interval;
};

struct HostRow {
    std::string name, seen_at, running;  // running: id of the experiment, or empty
    std::vector<std::string> tags;
    bool draining = false;
    Fingerprint fingerprint;  // of its latest attempt
    struct Noise {            // from A/A pairs of the latest experiments
        std::string metric;
        int pairs = 0;
        double sigma_d = 0, mde95 = 0;  // log ratio; smallest effect seen with 50 pairs
        std::string at;
    };
    std::vector<Noise> noise;
};

struct KernelRow {
    std::string op, variant, experiment, arm, at, host, reason;  // reason: flag, champion …
    double calls_per_token = 0, ns_per_token = 0, bytes_per_token = 0;
};

struct JournalRow {
    std::string slug, id, date, claim, owner, verdict, reason, sentence, metric, snippet;
    std::optional<double> effect;
    Interval interval;
};

struct OwnerRow {
    std::string owner;
    int experiments = 0, accepted = 0, rejected = 0, inside = 0, above = 0, below = 0;
};

struct Submitted {
    std::string id, state;
    bool created = false;  // false: the same file was there already
};

struct Source {
    std::function<ListPage(const ListQuery&)> list;
    std::function<std::optional<Record>(const std::string& id)> record;  // id or unique prefix
    std::function<std::vector<QueueRow>()> queue;
    std::function<std::vector<HostRow>()> hosts;
    std::function<std::vector<KernelRow>()> kernels;
    std::function<std::vector<JournalRow>(const std::string& words, int limit)> journal;
    std::function<std::optional<std::string>(const std::string& slug)> entry;  // Markdown
    std::function<std::vector<OwnerRow>()> owners;
    // Scopes of the token with this hash (lower-case hex SHA-256); empty: not valid now.
    std::function<std::vector<std::string>(const std::string& sha256)> token_scopes;
    std::function<Submitted(const Spec& spec, int priority)> submit;
    std::function<std::string(const std::string& id)> cancel;  // the state after it
    std::function<int()> queue_depth;
};

using MakeSource = std::function<std::unique_ptr<Source>()>;

}  // namespace steady::web
