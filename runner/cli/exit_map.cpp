// Which side a verdict puts a commit on is decided in runner/track/bisect.cpp.
#include "runner/cli/exit_map.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/base/error.h"
#include "runner/track/bisect.h"

namespace steady {
namespace {

constexpr int kGood = 0, kBad = 1, kSkip = 125, kStop = 128;

// The revision that all others are compared with does not build or run: no commit can be judged.
bool baseline_broken(const Record& record) {
    const Analysis& analysis = *record.analysis;
    if (analysis.reason == "baseline_failed") return true;
    const auto& applied = record.evidence.applied;
    return analysis.reason == "build_failed" && applied && applied->detail.starts_with("arm A ");
}

}  // namespace

void check_exit_map(const Arguments& arguments) {
    const std::string map = arguments.get("exit-map", "bisect");
    if (map != "bisect") throw Error(fmt::format("--exit-map: found \"{}\", allowed bisect", map));
}

int verdict_exit(const Arguments& arguments, const Record& record) {
    const bool decided = record.analysis.has_value();
    if (!arguments.has("exit-map")) {
        // No verdict yet is as undecided as one that says so: never green.
        return exit_code(decided ? record.analysis->verdict : Verdict::inconclusive);
    }
    if (!decided) return kSkip;
    if (baseline_broken(record)) {
        fmt::print(stderr, "steady: {}; git bisect stops, since no commit can be judged\n",
                   record.analysis->sentence);
        return kStop;
    }
    switch (bisect::side_of_claim(record.spec, *record.analysis)) {
        case bisect::Side::good:
            return kGood;
        case bisect::Side::bad:
            return kBad;
        default:
            return kSkip;
    }
}

int error_exit(int code, int argc, char** argv) {
    const bool mapped = std::any_of(argv, argv + argc, [](const char* word) {
        return std::string_view(word).starts_with("--exit-map");
    });
    return mapped && code < kStop ? kStop : code;
}

}  // namespace steady
