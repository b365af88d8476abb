// Runs a job of the queue through the loop of an experiment.
#include "runner/cli/jobs.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "kernels/base/error.h"
#include "runner/cli/programs.h"
#include "runner/cli/records.h"
#include "runner/plan/plan.h"
#include "runner/platform/fingerprint.h"
#include "runner/platform/inform.h"
#include "runner/queue/submit.h"
#include "runner/record/record_json.h"
#include "runner/run/experiment.h"
#include "runner/statistics/stopping_rule.h"
#include "runner/storage/migrate.h"

namespace steady {

std::string effect_so_far(const std::optional<double>& effect, const Interval& interval) {
    if (!effect) return "";
    const std::string text = fmt::format("  Δ {:+.2f} %", 100 * *effect);
    if (!interval.low || !interval.high) return text;
    return fmt::format("{} [{:+.2f}, {:+.2f}]", text, 100 * *interval.low, 100 * *interval.high);
}

std::string not_finished(const Record& record, const Worked& worked) {
    const std::string note = worked.note.empty() ? record.note : worked.note;
    const std::string next =
        worked.end == WorkEnd::lease_lost
            ? fmt::format("Give the same command again to continue ({} pairs are stored); ",
                          std::count_if(record.pairs.begin(), record.pairs.end(),
                                        [](const Pair& pair) { return pair.sealed; }))
            : "";
    return fmt::format("{} was not finished: {}. {}`steady show {}` tells what is stored",
                       record.id, note, next, record.id);
}

namespace {

int planned_pairs(const Spec& spec, const Pair& pair) {
    const std::vector<Measurement> all = plan_measurements(spec);
    const Measurement* one = measurement_of(all, pair.gate);
    return pair.kind == PairKind::aa        ? one->aa_pairs
           : pair.kind == PairKind::control ? one->control_pairs
                                            : one->pairs_max;
}

// One line per pair, or one line redrawn on a terminal. Printed between timed regions.
void report_progress(const Spec& spec, const Analysis& analysis, const Pair& pair) {
    const auto gate = static_cast<std::size_t>(pair.gate);
    std::string line = fmt::format("{} {} pair {}/≤{}", spec.gates[gate].id,
                                   pair.kind == PairKind::aa        ? "A/A"
                                   : pair.kind == PairKind::control ? "A/B0"
                                                                    : "A/B",
                                   pair.number + 1, planned_pairs(spec, pair));
    if (pair.kind == PairKind::measure) line += effect_so_far(analysis.effect, analysis.interval);
    if (!pair.discarded.empty()) line += "  discarded: " + pair.discarded;
    if (::isatty(2) != 0) {
        inform("\r\x1b[K{}", line);
    } else {
        inform("{}\n", line);
    }
}

Prior prior_of(Job& job, const Fingerprint& here) {
    Prior prior;
    prior.rule = kLatestRule;
    const Spec& spec = job.record.spec;
    const Gate* gate = deciding_gate(spec);
    if (gate == nullptr) return prior;
    prior.history = job.store->host_history(job.host, gate->metric, spec.schedule.mode,
                                            noise_subject(spec), noise_gpu(gpu_device(spec), here));
    const EarlierAttempts earlier =
        earlier_attempts(*job.store, spec, job.record.earlier, job.host, here);
    prior.attempts = earlier.ids;
    prior.log_e_accept = earlier.log_e_accept;
    prior.log_e_reject = earlier.log_e_reject;
    return prior;
}

// This experiment's A/A pairs join the host's history of noise.
void keep_aa(Job& job, const std::vector<Pair>& pairs) {
    const Spec& spec = job.record.spec;
    for (const Measurement& measurement : plan_measurements(spec)) {
        if (measurement.level != Level::model) continue;
        const std::vector<double> d = pair_values(spec, pairs, measurement.owner, PairKind::aa);
        std::vector<int> numbers(d.size());
        for (std::size_t i = 0; i < d.size(); ++i) numbers[i] = static_cast<int>(i);
        if (!d.empty()) {
            const auto owner = static_cast<std::size_t>(measurement.owner);
            job.store->put_aa(job.lease, measurement.owner, spec.gates[owner].metric,
                              spec.schedule.mode, noise_subject(spec), numbers, d);
        }
    }
}

// The interval so far, for the page. It is no evidence: a failure to store it is ignored.
void store_progress(Job& job, const Analysis& analysis) {
    nlohmann::json progress{{"effect", nullptr},
                            {"interval", interval_json(analysis.interval)},
                            {"pairs", analysis.pairs}};
    if (analysis.effect) progress["effect"] = *analysis.effect;
    try {
        job.store->put_evidence(job.lease, "progress", progress.dump());
    } catch (const Error&) {
    }
}

}  // namespace

StopSignal& interrupt_signal() {
    static StopSignal signal;
    static const bool installed = [] {
        struct sigaction action = {};
        action.sa_handler = [](int) { interrupt_signal().raise(); };
        ::sigaction(SIGINT, &action, nullptr);
        ::sigaction(SIGTERM, &action, nullptr);
        return true;
    }();
    static_cast<void>(installed);
    return signal;
}

JobResult run_job(Job& job, const Arguments& arguments,
                  const std::shared_ptr<PreparedWeights>& weights, RunPlace place) {
    const Spec& spec = job.record.spec;
    ProgramUse use{.host_lock_fd = job.host_lock_fd,
                   .stop = job.stop,
                   .weights = weights,
                   .submitter = service::submitter_of(job.store->connection(), job.lease.job),
                   .message = {},
                   .place = place};
    if (!arguments.has("quiet")) {
        use.message = [](const std::string& line) { inform("{}\n", line); };
    }
    const ReadyProgram program = ready_program(spec, arguments, use);
    Fingerprint fingerprint = machine_fingerprint();
    fingerprint.insert(program.facts.begin(), program.facts.end());
    job.put_fingerprint(fingerprint);

    Experiment experiment;
    experiment.spec = &spec;
    experiment.seed = job.record.seed;
    experiment.evidence = job.record.evidence;
    for (const Pair& pair : job.record.pairs) {
        if (pair.sealed) experiment.pairs.push_back(pair);
    }
    if (!experiment.evidence.prior) {
        experiment.evidence.prior = prior_of(job, fingerprint);
        job.sink->put_prior(*experiment.evidence.prior);
    }
    experiment.executor = program.executor.get();
    experiment.sink = job.sink;
    experiment.cancelled = job.should_stop;
    experiment.progress = [&](const Analysis& analysis, const Pair& pair) {
        store_progress(job, analysis);
        if (!arguments.has("quiet")) report_progress(spec, analysis, pair);
    };
    if (!arguments.has("quiet")) inform("{}: {}\n", job.record.id, spec.hypothesis.claim);
    const ExperimentResult result = run_experiment(experiment);
    if (!arguments.has("quiet") && ::isatty(2) != 0) inform("\n");
    if (result.ended == Ended::cancelled) {
        JobResult stopped;
        stopped.how = JobResult::How::stopped;
        return stopped;
    }
    keep_aa(job, experiment.pairs);
    return {.how = JobResult::How::decided,
            .verdict = name(result.analysis.verdict),
            .reason = result.analysis.reason,
            .analysis_json = nlohmann::json(result.analysis).dump(),
            .sentence = result.analysis.sentence};
}

std::optional<Record> decided_here(const Spec& spec, const Arguments& arguments) {
    refuse_sweep(spec);
    Store store = open_store(arguments);
    const auto commits = is_outside(spec) ? check_program(spec, arguments, nullptr)
                                          : std::map<std::string, std::string>{};
    const std::string id = store.decided_on(host_name(), spec, commits);
    if (id.empty()) return std::nullopt;
    Record record = store.load_record(id);
    if (!record.analysis || record.attempts.empty()) return std::nullopt;
    const ProgramUse use{
        .stop = &interrupt_signal(), .weights = std::make_shared<PreparedWeights>(), .message = {}};
    const Fingerprint now = ready_program(spec, arguments, use).facts;
    const Fingerprint& then = record.attempts.back().fingerprint;
    for (const std::string& same : identity_facts(spec)) {
        if (fact(now, same) == fact(then, same)) continue;
        if (!arguments.has("quiet")) {
            inform("{} measured with another {}: this is a further run\n", id,
                   same.substr(0, same.rfind('_')));
        }
        return std::nullopt;
    }
    return record;
}

Record run_here(const Spec& spec, const Arguments& arguments,
                std::shared_ptr<PreparedWeights> weights, const SweepReport* sweep,
                IfDecided decided) {
    refuse_sweep(spec);
    const std::string url = command_database(arguments);
    if (!weights) weights = std::make_shared<PreparedWeights>();
    SubmitOptions mine;
    mine.commits = check_program(spec, arguments, weights);
    mine.for_caller = true;

    Store store = open_store(arguments);
    Submitted submitted = submit_experiment(store, spec, mine);
    if (submitted.state == "done") {
        if (decided == IfDecided::keep) {
            Record record = store.load_record(submitted.id);
            settle_record(store, record, !arguments.has("no-journal"));
            return record;
        }
        mine.fresh_rerun = true;
        submitted = submit_experiment(store, spec, mine);
    } else if (submitted.state == "failed" || submitted.state == "cancelled") {
        store.requeue(submitted.id, true);
    }
    WorkerOptions options;
    options.url = url;
    options.shutdown = &interrupt_signal();
    options.host_lock_wait_s = 3600;
    if (!arguments.has("quiet")) {
        options.message = [](const std::string& line) { inform("{}\n", line); };
    }
    Worker worker(options);
    const auto work = [&](Job& claimed) {
        if (sweep != nullptr) {
            const std::string body = nlohmann::json(*sweep).dump();
            claimed.store->put_evidence(claimed.lease, "sweep", body);
        }
        return run_job(claimed, arguments, weights);
    };
    const Worked worked = worker.work_one(work, submitted.job);
    Record record = store.load_record(submitted.id);
    if (worked.end == WorkEnd::decided) {
        try {
            settle_record(store, record, !arguments.has("no-journal"));
        } catch (const VerdictRefuted&) {
            throw;
        } catch (const Error& error) {  // the verdict stands, whatever becomes of its entry
            inform(
                "the verdict is stored, its entry could not be written: {}; `steady journal "
                "--write` writes what is missing\n",
                error.what());
        }
        return record;
    }
    if (worked.end == WorkEnd::cancelled || worked.end == WorkEnd::released) {
        throw Error(
            fmt::format("{} stopped; its stored pairs are kept. Give the same command again to "
                        "continue",
                        record.id),
            kExitInterrupted);
    }
    throw Error(not_finished(record, worked), kExitInternal);
}

}  // namespace steady
