// What the page reads and the three things it may write, as plain functions: one filling reads the
// database (source_store.cpp), tests fill it by hand. Each worker thread holds its own, so that no
// connection is shared. Functions throw Error for what the reader should know, and
// SourceUnavailable when the database is away: the worker then builds a new one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "runner/pipeline/record.h"
#include "runner/storage/page_machines.h"
#include "runner/storage/page_reads.h"
#include "runner/storage/track_store.h"

namespace steady::web {

struct SourceUnavailable : std::runtime_error {
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
};

struct Triage {
    std::string series;
    std::int64_t change = 0;
    std::string state, owner, note;
};

struct Source {
    std::function<page::ListPage(const page::ListQuery&)> list;
    std::function<std::optional<Record>(const std::string& id)> record;   // id or unique prefix
    std::function<std::optional<Record>(const std::string& id)> outline;  // without its pairs
    std::function<std::vector<page::QueueRow>()> queue;
    std::function<std::vector<page::HostDetail>()> hosts;
    std::function<std::vector<page::KernelRow>()> kernels;
    std::function<std::vector<page::ListRow>(const std::string& words, int limit)> journal;
    std::function<std::vector<page::OwnerRow>()> owners;
    std::function<std::optional<page::Events>(const std::string& id, int since)> events;
    // Scopes of the token with this hash (lower-case hex SHA-256); empty: not valid now.
    std::function<std::vector<std::string>(const std::string& sha256)> token_scopes;
    std::function<Submitted(const Spec& spec, int priority)> submit;
    std::function<std::string(const std::string& id)> cancel;                  // the state after it
    std::function<std::optional<std::string>(const std::string& slug)> entry;  // Markdown
    std::function<int()> queue_depth;
    std::function<std::vector<page::AuditRow>()> audits;
    std::function<std::vector<page::WorkerRow>(const std::string& host, int limit)> workers;
    std::function<std::vector<track::SeriesRow>()> series;
    std::function<std::optional<SeriesDetail>(const std::string& name, int limit)> series_detail;
    std::function<std::string(const Triage&)> triage;  // the state after it; empty: no such change
};

using MakeSource = std::function<std::unique_ptr<Source>()>;

}  // namespace steady::web
