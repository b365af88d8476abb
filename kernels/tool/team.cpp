// Trials and functions as jobs of the pool.
#include "kernels/tool/team.h"

#include <algorithm>

namespace steady::tool {
namespace {

ThreadOptions options_of(CutRule cut) {
    if (cut.pieces_per_thread == 0) return {.cut = Cut::fixed};
    return {.cut = Cut::dynamic, .pieces_per_thread = cut.pieces_per_thread};
}

}  // namespace

std::string CutRule::text() const { return cut_name(options_of(*this)); }

Team::Team(int n_threads)
    : pool_({.threads = n_threads, .wait = Wait::spin, .cut = Cut::fixed, .pin = n_threads > 1}) {
    if (n_threads > 1) pin_to_cpu(0);  // the pool pins its workers
}

void Team::launch(const Job& job, CutRule cut) {
    const ThreadOptions options = options_of(cut);
    pool_.divide(options.cut, options.pieces_per_thread);
    pool_.launch(job);
}

void Team::run(const std::function<void(int)>& job) {
    const auto call = [](const void* self, Range rows) noexcept {
        (*static_cast<const std::function<void(int)>*>(self))(static_cast<int>(rows.begin));
    };
    launch({call, &job, size(), 1, 0}, {});
}

void Team::run(const Trial& trial, const VariantBase& variant, CutRule cut) {
    struct Phase {
        const Trial& trial;
        const VariantBase& variant;
    };
    const Phase phase{trial, variant};
    const auto call = [](const void* self, Range rows) noexcept {
        const Phase& one = *static_cast<const Phase*>(self);
        one.trial.run(one.variant, rows);
    };
    for (std::size_t i = 0; i < trial.phase_rows.size(); ++i) {
        launch({call, &phase, trial.phase_rows[i], variant.granule, static_cast<int>(i)}, cut);
    }
}

}  // namespace steady::tool
