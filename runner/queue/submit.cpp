// The plan stored is the whole one, up to the cap: what is not reached stays open, and a resuming
// worker knows the order of what is left.
#include "runner/queue/submit.h"

#include <fmt/format.h>

#include "runner/judge/analysis_checks.h"
#include "runner/plan/plan.h"
#include "runner/plan/schedule.h"
#include "runner/platform/failpoint.h"
#include "runner/platform/files.h"
#include "runner/spec/spec_runnable.h"

namespace steady {

void refuse_sweep(const Spec& spec) {
    if (!spec.sweep) return;
    throw Error(fmt::format(
        "{}: found \"sweep\", which is several experiments; run it with `steady sweep {}.json`",
        spec.id, spec.id));
}

bool is_reserved_tag(std::string_view tag) {
    return tag.starts_with(kProgramTag) || tag == kCommandsTag || tag == kCallerTag;
}

namespace {

std::vector<std::string> tags_of(const Spec& spec, const SubmitOptions& options) {
    std::vector<std::string> tags = options.need_tags;
    for (const std::string& tag : tags) {
        if (!is_reserved_tag(tag)) continue;
        throw Error(
            fmt::format("--tags: found \"{}\", which is set by what the file asks for; "
                        "allowed: tags that workers were given",
                        tag));
    }
    if (!is_outside(spec)) return tags;
    tags.push_back(options.for_caller ? std::string(kCallerTag)
                   : options.commands ? std::string(kCommandsTag)
                                      : std::string(kProgramTag) + spec.subject.name);
    return tags;
}

}  // namespace

Submitted submit_experiment(Store& store, const Spec& spec, const SubmitOptions& options) {
    refuse_sweep(spec);
    const std::string why =
        why_not_runnable(spec, options.for_caller ? RunPlace::here : RunPlace::queue);
    if (!why.empty()) throw Error(why);
    const std::uint64_t drawn = std::stoull(random_hex(8), nullptr, 16);
    Submission submission;
    submission.spec = &spec;
    submission.seed =
        fair_seed(spec, options.fresh_rerun ? drawn : spec.schedule.seed.value_or(drawn));
    submission.plan = make_schedule(spec, make_plan(spec, {}), submission.seed);
    submission.fresh_rerun = options.fresh_rerun;
    submission.priority = options.priority;
    submission.need_tags = tags_of(spec, options);
    submission.commits = options.commits;
    submission.for_caller = options.for_caller;
    failpoint("submitting");
    Submitted submitted = store.submit(submission);
    failpoint("submitted");
    return submitted;
}

}  // namespace steady
