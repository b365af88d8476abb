// One connection per worker thread, in the role steady_web: it may select, submit, cancel, requeue
// and move jobs, and the database refuses everything else.
#include "dashboard/server/source_store.h"

#include <functional>

#include "dashboard/server/view_json.h"
#include "runner/entry/entry.h"
#include "runner/queue/submit.h"
#include "runner/storage/migrate.h"
#include "runner/storage/runs_of.h"
#include "runner/storage/series_notes.h"
#include "runner/storage/service.h"
#include "runner/storage/store.h"

namespace steady::web {
namespace {

struct Link {
    explicit Link(const std::string& url)
        : store({.url = url,
                 .role = DatabaseRole::web,
                 .client = "page",
                 .statement_timeout_ms = 2000,
                 .patience_s = 0}) {}
    Store store;
};

// Runs body and returns its value; an outage becomes SourceUnavailable.
template <typename Body>
auto through(Link& link, void (Connection::*way)(const std::function<void(Transaction&)>&),
             Body body) {
    std::optional<decltype(body(std::declval<Transaction&>()))> result;
    try {
        (link.store.connection().*
         way)([&](Transaction& transaction) { result.emplace(body(transaction)); });
    } catch (const DatabaseStrained& strained) {
        throw SourceStrained(strained.what());
    } catch (const DatabaseGone& gone) {
        throw SourceUnavailable(gone.what());
    }
    return std::move(*result);
}

template <typename Body>
auto read(Link& link, Body body) {
    return through(link, &Connection::look, body);
}

template <typename Body>
auto write(Link& link, Body body) {
    return through(link, &Connection::transact, body);
}

template <typename Body>
auto ask(Body body) {
    try {
        return body();
    } catch (const DatabaseStrained& strained) {
        throw SourceStrained(strained.what());
    } catch (const DatabaseGone& gone) {
        throw SourceUnavailable(gone.what());
    }
}

// An unknown id is an answer here, not a fault.
template <typename Body>
auto known(Body body) -> std::optional<decltype(body())> {
    try {
        return ask(body);
    } catch (const UnknownExperiment&) {
        return std::nullopt;
    }
}

std::optional<Record> record(Link& link, const std::string& id, bool with_pairs) {
    try {
        return known([&] { return link.store.load_record(id, with_pairs); });
    } catch (const Error& error) {  // what is stored cannot be read: our fault, not the reader's
        throw Error(error.what(), kExitInternal);
    }
}

// Slugs are <day>-<id>; the entry is rendered from the record, so it cannot differ from it.
std::optional<std::string> entry(Link& link, const std::string& slug) {
    if (slug.size() < 12) return std::nullopt;
    auto found = record(link, slug.substr(11), true);
    if (!found || !found->analysis) return std::nullopt;
    found->runs = read(link, [&](Transaction& t) { return page::runs_of(t, found->question_sha); });
    for (Run& run : found->runs) {
        if (!run.id.empty()) run.published = run.id;  // addresses are of this database
    }
    return render(*found);
}

Submitted submit(Link& link, const Spec& spec, int priority, bool commands) {
    SubmitOptions options;
    options.priority = priority;
    options.commands = commands;
    const steady::Submitted done =
        ask([&] { return submit_experiment(link.store, spec, options); });
    return {done.id, done.state, done.created};
}

// The audit log names the token.
void act_as(Link& link, const std::string& token_sha) {
    link.store.connection().set_actor("");
    if (token_sha.empty()) return;
    const std::string token =
        ask([&] { return service::token_name(link.store.connection(), token_sha); });
    link.store.connection().set_actor("token " + token);
}

std::optional<SeriesDetail> series_detail(Transaction& transaction, const std::string& name,
                                          int limit) {
    const auto series = track::find_series(transaction, name);
    if (!series) return std::nullopt;
    return SeriesDetail{*series, track::points(transaction, series->id, limit),
                        track::changes(transaction, series->id),
                        track::notes(transaction, series->id),
                        bisect::searches(transaction, "", name)};
}

// The name of the token whose write this is.
std::string person(Link& link) {
    const std::string& actor = link.store.connection().actor();
    return actor.starts_with("token ") ? actor.substr(6) : actor;
}

std::optional<track::Note> add_note(Transaction& transaction, const std::string& name,
                                    track::Note note) {
    const auto series = track::find_series(transaction, name);
    if (!series) return std::nullopt;
    const std::vector<std::string> commits =
        track::commits_like(transaction, series->id, note.commit);
    if (commits.size() != 1) {
        throw Error("/commit: found \"" + note.commit + "\", which begins " +
                    (commits.empty() ? "no commit" : "more than one commit") +
                    " of this series; allowed: one that the series has a point of");
    }
    note.commit = commits[0];
    note.id = track::add_note(transaction, series->id, note).value_or(0);
    return note;
}

void add_machines_and_series(Source& source, const std::shared_ptr<Link>& link) {
    source.audits = [link] { return read(*link, page::audits); };
    source.workers = [link](const std::string& host, int limit) {
        return read(*link, [&](Transaction& t) { return page::workers(t, host, limit); });
    };
    source.noise = [link](const std::string& host) {
        return read(*link, [&](Transaction& t) { return page::noise_runs(t, host); });
    };
    source.series = [link] { return read(*link, track::list_series); };
    source.series_detail = [link](const std::string& name, int limit) {
        return read(*link, [&](Transaction& t) { return series_detail(t, name, limit); });
    };
    source.revisions = [link](const std::string& a, const std::string& b) {
        return read(*link, [&](Transaction& t) { return track::revision_rows(t, a, b); });
    };
    source.triage = [link](const Triage& one) {
        return write(*link, [&](Transaction& t) {
            return track::triage(t, one.series, one.change, one.state, one.owner, one.note,
                                 link->store.connection().actor());
        });
    };
    source.add_note = [link](const std::string& series, const track::Note& note) {
        track::Note whole = note;
        whole.author = person(*link);
        return write(*link, [&](Transaction& t) { return add_note(t, series, whole); });
    };
    source.searches = [link](const std::string& experiment, const std::string& series) {
        return read(*link, [&](Transaction& t) { return bisect::searches(t, experiment, series); });
    };
    source.ask_search = [link](const bisect::Asked& wanted) {
        bisect::Asked whole = wanted;
        whole.asked_by = person(*link);
        return write(*link, [&](Transaction& t) { return bisect::ask(t, whole); });
    };
    source.cancel_search = [link](std::int64_t search) {
        return write(*link,
                     [&](Transaction& t) { return bisect::cancel(t, search, person(*link)); });
    };
    source.remove_note = [link](const std::string& name, std::int64_t note) {
        return write(*link, [&](Transaction& t) {
            const auto series = track::find_series(t, name);
            return series && track::remove_note(t, series->id, note, person(*link));
        });
    };
    source.alerts = [link](const std::string& state) {
        return read(*link, [&](Transaction& t) { return alerts::list(t, state, 200); });
    };
    source.triage_alert = [link](const Triage& one) {
        return write(*link, [&](Transaction& t) {
            return alerts::triage(t, one.change, one.state, one.owner, one.note,
                                  link->store.connection().actor());
        });
    };
}

}  // namespace

MakeSource store_source(const std::string& database_url) {
    return [database_url] {
        auto link = std::make_shared<Link>(database_url);
        refuse_newer_schema(link->store.connection());  // connects, so that a wrong URL shows
        auto source = std::make_unique<Source>();
        source->list = [link](const page::ListQuery& query) {
            return read(*link, [&](Transaction& t) { return page::list(t, query); });
        };
        source->record = [link](const std::string& id) { return record(*link, id, true); };
        source->outline = [link](const std::string& id) { return record(*link, id, false); };
        source->shown = [link](const std::string& id) {
            auto found = record(*link, id, false);
            if (found && shows_pairs(*found)) {
                found->pairs = ask([&] { return link->store.load_pairs(found->job, false); });
            }
            return found;
        };
        source->runs = [link](const std::string& question) {
            return read(*link, [&](Transaction& t) { return page::runs_of(t, question); });
        };
        source->who_did = [link](const std::string& id) {
            return read(*link, [&](Transaction& t) { return page::who_did(t, id); });
        };
        source->stacks = [link](std::int64_t job) {
            return ask([&] { return link->store.load_evidence(job, "stacks"); });
        };
        source->queue = [link] {
            return read(*link, [](Transaction& t) { return page::queue(t, 500); });
        };
        source->hosts = [link] { return read(*link, page::hosts); };
        source->kernels = [link] { return read(*link, page::kernels); };
        source->owners = [link] { return read(*link, page::owners); };
        source->journal = [link](const std::string& words, int limit) {
            return read(*link, [&](Transaction& t) { return page::journal(t, words, limit); });
        };
        source->tried = [link](const std::string& words, int limit, bool decided_only) {
            return read(
                *link, [&](Transaction& t) { return search::find(t, words, limit, decided_only); });
        };
        source->entry = [link](const std::string& slug) { return entry(*link, slug); };
        source->events = [link](const std::string& id, int since) {
            return read(*link, [&](Transaction& t) { return page::events(t, id, since); });
        };
        source->token_scopes = [link](const std::string& sha) {
            return ask([&] { return link->store.token_scopes(sha); });
        };
        source->submit = [link](const Spec& spec, int priority, bool commands) {
            return submit(*link, spec, priority, commands);
        };
        source->cancel = [link](const std::string& id) {
            return known([&] { return link->store.cancel(id); }).value_or("");
        };
        source->requeue = [link](const std::string& id) {
            return known([&] { return link->store.requeue(id); }).value_or("");
        };
        source->set_priority = [link](const std::string& id, int priority) {
            ask([&] {
                link->store.set_priority(id, priority);
                return true;
            });
        };
        source->rerun = [link](const std::string& id, bool commands) {
            return ask([&] {
                const Spec spec = link->store.load_record(id, false).spec;
                SubmitOptions options;
                options.fresh_rerun = true;
                options.commands = commands;
                const steady::Submitted done = submit_experiment(link->store, spec, options);
                return Submitted{done.id, done.state, done.created};
            });
        };
        source->queue_depth = [link] { return read(*link, page::queue_depth); };
        source->service = [link] {
            return ask([&] { return service::state(link->store.connection()); });
        };
        source->act_as = [link](const std::string& sha) { act_as(*link, sha); };
        add_machines_and_series(*source, link);
        return source;
    };
}

bool has_token(const std::string& database_url) {
    Connection connection({.url = database_url, .role = DatabaseRole::web, .client = "serve"});
    return service::any_token(connection);
}

}  // namespace steady::web
