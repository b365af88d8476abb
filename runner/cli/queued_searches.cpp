// The worker keeps its rights: a program must be registered here, or the worker takes any command,
// and both run confined. Other jobs of this host wait meanwhile.
#include "runner/cli/queued_searches.h"

#include <fmt/format.h>
#include <poll.h>

#include <nlohmann/json.hpp>

#include "kernels/base/error.h"
#include "runner/cli/commit_search.h"
#include "runner/cli/jobs.h"
#include "runner/cli/records.h"
#include "runner/platform/host_lock.h"
#include "runner/platform/inform.h"
#include "runner/queue/submit.h"
#include "runner/storage/bisection_store.h"
#include "runner/track/revision_question.h"

namespace steady {
namespace {

constexpr int kPause_ms = 1500;

struct SearchCancelled : Error {
    SearchCancelled() : Error("cancelled on the page") {}
};

void pause_a_moment() {
    pollfd entry{interrupt_signal().fd(), POLLIN, 0};
    ::poll(&entry, 1, kPause_ms);
}

[[noreturn]] void stopped() { throw Error("stopped", kExitInterrupted); }

class QueuedSearch {
public:
    QueuedSearch(Worker& worker, const RunJob& run, const Arguments& arguments,
                 const bisect::Asked& asked)
        : worker_(worker), run_(run), arguments_(arguments), asked_(asked) {}

    bisect::Found search() {
        Spec spec = worker_.store().load_record(asked_.experiment, false).spec;
        check_revision_question(spec);
        SearchInput input{.spec = &spec,
                          .file = spec.id,
                          .good = asked_.good,
                          .bad = asked_.bad,
                          .ancestry_path = false,
                          .attempt = 1,
                          .run_step = [this](const Spec& step) { return measure(step); },
                          .say = {}};
        if (!arguments_.has("quiet")) {
            input.say = [](const std::string& line) { inform("{}\n", line); };
        }
        return search_commits(input);
    }

private:
    Record measure(const Spec& step) {
        if (interrupt_signal().raised()) stopped();
        bool cancelled = false;
        worker_.store().connection().look(
            [&](Transaction& t) { cancelled = bisect::is_cancelled(t, asked_.id); });
        if (cancelled) throw SearchCancelled();
        Store store = open_store(arguments_);
        SubmitOptions options;
        options.commands = asked_.commands;
        const Submitted submitted = submit_experiment(store, step, options);
        if (submitted.state == "failed" || submitted.state == "cancelled") {
            store.requeue(submitted.id);
        }
        if (submitted.state != "done") work(submitted);
        Record record = store.load_record(submitted.id);
        if (!record.analysis) {
            throw Error(fmt::format("{} is {}: {}", record.id, record.state, record.note));
        }
        settle_record(store, record, false);
        return record;
    }

    void work(const Submitted& submitted) {
        while (true) {
            const Worked worked = worker_.work_one(run_, submitted.job);
            if (interrupt_signal().raised() && worked.end != WorkEnd::decided) stopped();
            switch (worked.end) {
                case WorkEnd::decided:
                    return;
                case WorkEnd::nothing:
                case WorkEnd::cancelled:
                case WorkEnd::failed:
                    throw Error(fmt::format("{}: {}", submitted.id,
                                            worked.note.empty()
                                                ? "its job was cancelled, or is another worker's"
                                                : worked.note));
                default:
                    pause_a_moment();
            }
        }
    }

    Worker& worker_;
    const RunJob& run_;
    const Arguments& arguments_;
    const bisect::Asked& asked_;
};

void keep(Worker& worker, const bisect::Asked& ended, const std::string& body) {
    worker.store().connection().transact([&](Transaction& t) { bisect::end(t, ended, body); });
}

}  // namespace

bool run_queued_search(Worker& worker, const RunJob& run, const Arguments& arguments,
                       const std::vector<std::string>& tags) {
    if (tags.empty() || interrupt_signal().raised()) return false;
    std::optional<bisect::Asked> asked;
    worker.store().connection().transact(
        [&](Transaction& t) { asked = bisect::take(t, host_name(), tags); });
    if (!asked) return false;
    std::string body;
    try {
        const bisect::Found found = QueuedSearch(worker, run, arguments, *asked).search();
        const nlohmann::json json = bisect::json(found);
        body = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
        asked->state = "done";
        asked->outcome = json.at("outcome").get<std::string>();
        asked->note = json.at("sentence").get<std::string>();
        if (!json.at("culprit").is_null()) {
            asked->culprit = json.at("culprit").at("commit").get<std::string>();
        }
        write_found(found);
    } catch (const SearchCancelled&) {
        return true;
    } catch (const DatabaseGone&) {
        throw;
    } catch (const Error& error) {
        if (error.exit_code == kExitInterrupted || interrupt_signal().raised()) return false;
        if (asked->state != "done") asked->state = "failed";
        if (asked->note.empty()) asked->note = error.what();
    }
    keep(worker, *asked, body);
    inform("search {}: {}\n", asked->id, asked->note);
    return true;
}

}  // namespace steady
