// Verbs that take an experiment file to a verdict, here or through the queue.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "kernels/base/error.h"
#include "runner/cli/alert_channels.h"
#include "runner/cli/exit_map.h"
#include "runner/cli/jobs.h"
#include "runner/cli/made_models.h"
#include "runner/cli/programs.h"
#include "runner/cli/queued_searches.h"
#include "runner/cli/records.h"
#include "runner/cli/verbs.h"
#include "runner/cli/workspace.h"
#include "runner/entry/report.h"
#include "runner/plan/plan.h"
#include "runner/platform/fingerprint.h"
#include "runner/platform/host_lock.h"
#include "runner/platform/inform.h"
#include "runner/record/record_json.h"
#include "runner/spec/spec_runnable.h"
#include "runner/spec/spec_sweep.h"
#include "runner/storage/migrate.h"

namespace steady {
namespace {

int print_record(const Arguments& arguments, const Record& record) {
    print(arguments, shown_json(record), show_text(record));
    return verdict_exit(arguments, record);
}

// Seconds per pair of the newest run on the same model; 0 when there is none.
double seconds_per_pair(Store& store, const Spec& spec) {
    for (const ExperimentRow& row : store.list_experiments({}, 50)) {
        const bool same =
            is_outside(spec) ? row.spec_id == spec.id : row.model == spec.subject.model;
        if (!same || row.verdict.empty() || row.pairs == 0) continue;
        const Record record = store.load_record(row.id);
        if (!record.pairs.empty() && record.seconds > 0) {
            return record.seconds / static_cast<double>(record.pairs.size());
        }
    }
    return 0;
}

nlohmann::json plan_json(const Spec& spec, const Plan& plan, double pair_s) {
    nlohmann::json steps = nlohmann::json::array();
    for (const Measurement& measurement : plan.measurements) {
        nlohmann::json gates = nlohmann::json::array();
        for (const int gate : measurement.gates) {
            gates.push_back(spec.gates[static_cast<std::size_t>(gate)].id);
        }
        steps.push_back({{"level", name(measurement.level)},
                         {"scope", measurement.scope},
                         {"op", measurement.op},
                         {"gates", gates},
                         {"aa_pairs", measurement.aa_pairs},
                         {"pairs_max", measurement.pairs_max}});
    }
    auto number = [](const std::optional<double>& value) {
        return value ? nlohmann::json(*value) : nlohmann::json();
    };
    return {{"id", spec.id},
            {"sha256", spec.sha256},
            {"difference", plan.difference},
            {"undeclared", plan.undeclared},
            {"missing", plan.missing},
            {"order", steps},
            {"mode", name(spec.schedule.mode)},
            {"coins_per_pair", plan.coins_per_pair},
            {"guard_beta_sum", plan.guard_beta_sum},
            {"aa_history_pairs", plan.n_history},
            {"sigma_d", number(plan.sigma_d)},
            {"detectable", number(plan.mde95)},
            {"refuse", plan.refuse},
            {"pairs_needed", plan.pairs_needed},
            {"minutes_max", pair_s > 0 ? nlohmann::json(pair_s * spec.schedule.pairs_max / 60)
                                       : nlohmann::json()}};
}

std::string plan_text(const Spec& spec, const Plan& plan, double pair_s, const std::string& asked) {
    std::string text =
        fmt::format("{} ({})\n  {}\n\n", spec.id, spec.sha256.substr(0, 8), spec.hypothesis.claim);
    text +=
        fmt::format("arms differ in  {}\n",
                    plan.difference.empty() ? "nothing: an A/A experiment"
                                            : fmt::format("{}", fmt::join(plan.difference, ", ")));
    text += "order           correctness";
    for (const Measurement& measurement : plan.measurements) {
        text += fmt::format(
            " → {}{} (≤ {} pairs{})", name(measurement.level),
            measurement.op.empty() ? "" : " " + measurement.op, measurement.pairs_max,
            measurement.aa_pairs > 0 ? fmt::format(", {} A/A first", measurement.aa_pairs) : "");
    }
    if (spec.schedule.mode == Mode::lockstep) {
        text += fmt::format("\nin each pair    {} turns of each arm, one coin each\n",
                            plan.coins_per_pair);
    } else if (is_outside(spec)) {
        text += fmt::format("\nin each pair    {} of each arm, one coin for the order\n",
                            spec.schedule.inner == 1 ? std::string("one run")
                                                     : fmt::format("{} runs", spec.schedule.inner));
    } else {
        text += fmt::format("\nin each pair    {} blocks of {} tokens per arm, one coin each\n",
                            plan.coins_per_pair, spec.schedule.chunk);
    }
    text += pair_s > 0 ? fmt::format(
                             "time            at most {:.1f} minutes ({:.2f} s a pair, as the last "
                             "run of it)\n",
                             pair_s * spec.schedule.pairs_max / 60, pair_s)
                       : std::string("time            unknown until it ran once\n");
    text += fmt::format("detectable      {}\n", plan.detectable);
    if (plan.guard_beta_sum > 0) {
        text += fmt::format("guards          falsely stop a good candidate in at most {:.0f} %\n",
                            100 * plan.guard_beta_sum);
    }
    if (!plan.attempts.empty()) text += fmt::format("attempts        {}\n", plan.attempts);
    if (spec.sweep) {
        text += fmt::format(
            "sweep           {} settings of B, ≤ {} pairs each; then the best on new pairs, as "
            "above\n",
            sweep_choices(*spec.sweep).size(), std::min(kMostScreened, spec.sweep->screen_pairs));
    }
    text += fmt::format("next            steady {} {}", spec.sweep ? "sweep" : "run", asked);
    return text;
}

}  // namespace

int verb_plan(const Arguments& arguments) {
    const Spec spec = load_spec(arguments.words[0]);
    std::map<std::string, std::string> commits;
    if (is_outside(spec) && spec.sweep) {
        check_settings(spec, arguments);
    } else if (is_outside(spec)) {
        commits = check_program(spec, arguments, nullptr);
    }
    Store store = open_store(arguments);
    HostHistory history;
    if (const Gate* gate = deciding_gate(spec)) {
        const std::string device = gpu_device(spec);
        const Fingerprint here = device.empty() ? Fingerprint{} : machine_fingerprint();
        history = store.host_history(host_name(), gate->metric, spec.schedule.mode,
                                     noise_subject(spec), noise_gpu(device, here));
    }
    const Plan plan =
        make_plan(spec, history, static_cast<int>(store.attempts_at(spec, commits).size()));
    const double pair_s = seconds_per_pair(store, spec);
    nlohmann::json json = plan_json(spec, plan, pair_s);
    std::string text = plan_text(spec, plan, pair_s, arguments.words[0]);
    const std::string tried = tried_hint(store, spec);
    json["tried"] = tried;
    if (spec.sweep) {
        json["sweep"] = {{"settings", sweep_choices(*spec.sweep)},
                         {"pairs_max", std::min(kMostScreened, spec.sweep->screen_pairs)}};
    }
    if (!tried.empty()) text += "\n" + tried;
    return print(arguments, json, text);
}

int verb_run(const Arguments& arguments) {
    check_exit_map(arguments);
    const bool own = arguments.has("model");
    const Spec spec = own ? question_on_own_model(arguments) : load_spec(arguments.words[0]);
    if (!arguments.has("again")) {
        if (const auto known = decided_here(spec, arguments)) {
            nlohmann::json json = shown_json(*known);
            json["measured_now"] = false;
            print(
                arguments, json,
                fmt::format("{}\nThis host decided it on {} with these very programs; `steady run "
                            "{}{} --again` makes a further run.",
                            show_text(*known), known->decided_at.substr(0, 10), arguments.words[0],
                            own ? " --model " + arguments.get("model") : ""));
            return verdict_exit(arguments, *known);
        }
    }
    const Record record = run_here(spec, arguments);
    nlohmann::json json = shown_json(record);
    json["measured_now"] = true;
    print(arguments, json, show_text(record));
    return verdict_exit(arguments, record);
}

int verb_rerun(const Arguments& arguments) {
    Store store = open_store(arguments);
    const Record before = store.load_record(arguments.words[0]);
    const Record now = run_here(before.spec, arguments);
    std::string replay = "cannot tell: the first run has no verdict";
    if (before.analysis) {
        replay = before.analysis->verdict == now.analysis->verdict
                     ? "reproduced"
                     : fmt::format("not reproduced: {} then, {} now",
                                   name(before.analysis->verdict), name(now.analysis->verdict));
    }
    nlohmann::json json = shown_json(now);
    json["replay_of"] = before.id;
    json["replay"] = replay;
    json["differs_now"] = nlohmann::json::object();
    std::string differs;
    for (const auto& [key, values] : machine_differences(before, now)) {
        json["differs_now"][key] = {values.first, values.second};
        differs += fmt::format("\n  {:<20} {} then, {} now", key, values.first, values.second);
    }
    print(arguments, json,
          fmt::format("{}\nreplay of {}: {}\ndiffers now:{}", show_text(now), before.id, replay,
                      differs.empty() ? " nothing" : differs));
    return exit_code(now.analysis->verdict);
}

namespace {

// A file that was submitted before keeps the priority and tags of its first time.
std::string what_next(const Submitted& submitted) {
    const std::string& state = submitted.state;
    if (state == "queued") {
        return fmt::format(", where it was; `steady priority {} N` moves it", submitted.id);
    }
    if (state == "done") {
        return "; its verdict stands: `steady show " + submitted.id +
               "`; `steady submit FILE --again` queues a further run";
    }
    if (state == "running") return "";
    return fmt::format("; `steady requeue {}` queues it again", submitted.id);
}

}  // namespace

int verb_submit(const Arguments& arguments) {
    const Spec spec = load_spec(arguments.words[0]);
    Store store = open_store(arguments);
    SubmitOptions options;
    options.priority = static_cast<int>(arguments.number("priority", 0, -100, 100));
    options.need_tags = split_list(arguments.get("tags"));
    options.commands = arguments.has("commands");
    options.fresh_rerun = arguments.has("again");
    const Submitted submitted = submit_experiment(store, spec, options);
    std::string text =
        fmt::format("{} {}; state {}", submitted.id,
                    submitted.created ? "queued" : "was submitted before", submitted.state);
    if (!submitted.created) text += what_next(submitted);
    const std::string tried = submitted.created ? tried_hint(store, spec) : "";
    if (!tried.empty()) text += "\n" + tried;
    return print(arguments,
                 {{"id", submitted.id},
                  {"job", submitted.job},
                  {"created", submitted.created},
                  {"state", submitted.state},
                  {"tried", tried}},
                 text);
}

namespace {

// A predecessor may have died between a verdict and its entry.
void write_what_is_missing(const Arguments& arguments) {
    try {
        Store store = open_store(arguments);
        for (const std::string& path : write_missing_entries(store, host_name())) {
            inform("wrote {}, which an earlier worker had left out\n", path);
        }
    } catch (const Error& error) {
        inform("missing entries cannot be written: {}\n", error.what());
    }
}

}  // namespace

namespace {

std::vector<std::string> worker_tags(const Arguments& arguments) {
    std::vector<std::string> tags = split_list(arguments.get("tags"));
    for (const std::string& tag : tags) {
        if (!is_reserved_tag(tag)) continue;
        throw Error(
            fmt::format("--tags: found \"{}\", which Steady sets itself: `steady program add` "
                        "registers a program, --commands takes any command",
                        tag));
    }
    const std::vector<std::string> own = program_tags(arguments);
    tags.insert(tags.end(), own.begin(), own.end());
    return tags;
}

}  // namespace

namespace {

// The work goes on when nobody can be told now.
void tell_people(const Arguments& arguments) {
    try {
        if (!has_alert_channel(arguments)) return gather_alerts(arguments);
        const AlertsSent sent = send_alerts(arguments);
        if (sent.failed > 0) inform("{}\n", sent.failure);
    } catch (const Error& error) {
        inform("no alert was sent: {}\n", error.what());
    }
}

}  // namespace

int verb_worker(const Arguments& arguments) {
    WorkerOptions options;
    options.url = database_url(arguments.get("db"), true);
    options.tags = worker_tags(arguments);
    options.shutdown = &interrupt_signal();
    options.message = [](const std::string& line) { inform("{}\n", line); };
    const auto weights = std::make_shared<PreparedWeights>();
    Worker* searcher = nullptr;
    RunJob run;
    options.idle = [&] {
        weights->drop();
        run_queued_search(*searcher, run, arguments, options.tags);
    };
    options.once = arguments.has("once");
    options.times.most_s = 3600 * arguments.decimal("max-hours", 24, 0, 24 * 365);
    Worker worker(options);
    searcher = &worker;
    run = [&](Job& job) {
        const std::string why = why_not_runnable(job.record.spec, RunPlace::queue);
        if (!why.empty()) throw Error(why);  // queued by another version, or tagged by hand
        return run_job(job, arguments, weights, RunPlace::queue);
    };
    auto decided = [&](Store& store, const std::string& id) {
        Record record = store.load_record(id);
        put_text(stdout, show_text(record) + "\n");
        Store owner = open_store(arguments);
        settle_record(owner, record, true);
        tell_people(arguments);
    };
    write_what_is_missing(arguments);
    worker.work(run, decided);
    while (options.once && run_queued_search(worker, run, arguments, options.tags)) {
    }
    return options.once && interrupt_signal().raised() ? kExitInterrupted : kExitOk;
}

int verb_queue(const Arguments& arguments) {
    Store store = open_store(arguments);
    nlohmann::json jobs = nlohmann::json::array();
    std::string text;
    for (const ExperimentRow& row : store.list_queue()) {
        jobs.push_back({{"id", row.id},
                        {"state", row.state},
                        {"priority", row.priority},
                        {"host", row.host},
                        {"pairs", row.pairs},
                        {"claim", row.claim}});
        text += fmt::format("{:<28} {:<8} priority {:>4}  {:>3} pairs  {}\n", row.id, row.state,
                            row.priority, row.pairs, row.claim);
    }
    if (text.empty()) text = "the queue is empty\n";
    text.pop_back();
    return print(arguments, {{"jobs", jobs}}, text);
}

namespace {

// Where a job stands that has not ended: its place in the queue, or what its worker last stored.
std::string standing(Store& store, const Record& record) {
    if (record.state == "queued") {
        const std::vector<ExperimentRow> rows = store.list_queue();
        const auto own = std::find_if(rows.begin(), rows.end(),
                                      [&](const auto& row) { return row.id == record.id; });
        return fmt::format("queued, {} before it", own - rows.begin());
    }
    const auto stored = store.load_evidence(record.job, "progress");
    if (!stored) return record.state + ", no pair yet";
    const nlohmann::json progress = nlohmann::json::parse(*stored);
    const auto number = [](const nlohmann::json& value) {
        return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
    };
    const nlohmann::json& interval = progress.at("interval");
    const int pairs = progress.at("pairs").get<int>();
    return fmt::format(
        "{}, {} pair{}{}", record.state, pairs, pairs == 1 ? "" : "s",
        effect_so_far(number(progress.at("effect")), {number(interval[0]), number(interval[1])}));
}

}  // namespace

int verb_watch(const Arguments& arguments) {
    constexpr auto kBetweenLooks = std::chrono::seconds(1);
    check_exit_map(arguments);
    Store store = open_store(arguments);
    const std::string id = store.resolve(arguments.words[0]);
    std::string before;
    for (;;) {
        const Record record = store.load_record(id, false);
        if (record.state != "queued" && record.state != "running") break;
        const std::string now = standing(store, record);
        if (now != before && !arguments.has("quiet")) inform("{}: {}\n", id, now);
        before = now;
        std::this_thread::sleep_for(kBetweenLooks);
    }
    const Record record = store.load_record(id);
    if (record.analysis) return print_record(arguments, record);
    throw Error(
        fmt::format("{} {}{}; `steady requeue {}` queues it again; committed pairs are kept", id,
                    record.state, record.note.empty() ? "" : ": " + record.note, id),
        kExitInternal);
}

int verb_cancel(const Arguments& arguments) {
    Store store = open_store(arguments);
    const std::string id = store.resolve(arguments.words[0]);
    const std::string state = store.cancel(id);
    return print(
        arguments, {{"id", id}, {"state", state}},
        fmt::format("{}: {}", id,
                    state == "running" ? "asked to stop; committed pairs are kept" : state));
}

}  // namespace steady
