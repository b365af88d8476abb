// The plan stored is the whole one, up to the cap: what is not reached stays open, and a resuming
// worker knows the order of what is left.
#include "runner/queue/submit.h"

#include "runner/edges/failpoint.h"
#include "runner/edges/files.h"
#include "runner/pipeline/plan.h"
#include "runner/pipeline/schedule.h"

namespace steady {

Submitted submit_experiment(Store& store, const Spec& spec, const SubmitOptions& options) {
    Submission submission;
    submission.spec = &spec;
    submission.seed =
        spec.schedule.seed ? *spec.schedule.seed : std::stoull(random_hex(8), nullptr, 16);
    submission.plan = make_schedule(spec, make_plan(spec, {}), submission.seed);
    submission.fresh_rerun = options.fresh_rerun;
    submission.priority = options.priority;
    submission.need_tags = options.need_tags;
    failpoint("submitting");
    Submitted submitted = store.submit(submission);
    failpoint("submitted");
    return submitted;
}

}  // namespace steady
