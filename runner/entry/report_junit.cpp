// The results of several records as CI servers read them.
#include <fmt/format.h>

#include "runner/entry/report.h"
#include "runner/figures/numbers.h"
#include "runner/figures/svg.h"
#include "runner/judge/analysis.h"

namespace steady {
namespace {

// "no gain worth having" answers a hypothesis; for a build it is the usual, good result.
bool passes(const Analysis& analysis) {
    return analysis.verdict == Verdict::accept ||
           (analysis.verdict == Verdict::reject && analysis.reason == "no_worthwhile_gain");
}

std::string outcome_of(const Record& record) {
    if (!record.analysis) return "    <error message=\"not decided\"/>\n";
    const Analysis& analysis = *record.analysis;
    if (passes(analysis)) return "";
    const std::string message = fmt::format("{}{}{}", name(analysis.verdict),
                                            analysis.reason.empty() ? "" : " / ", analysis.reason);
    if (analysis.verdict == Verdict::inconclusive) {
        return fmt::format("    <skipped message=\"{}\"/>\n", figures::xml(message));
    }
    const char* element = analysis.verdict == Verdict::invalid ? "error" : "failure";
    return fmt::format("    <{0} type=\"{1}\" message=\"{1}\">{2}</{0}>\n", element,
                       figures::xml(message), figures::xml(analysis.sentence));
}

}  // namespace

std::string report_junit(const std::vector<Record>& records) {
    std::string cases;
    int failures = 0, errors = 0, skipped = 0;
    double seconds = 0;
    for (const Record& record : records) {
        const std::string outcome = outcome_of(record);
        failures += outcome.starts_with("    <failure") ? 1 : 0;
        errors += outcome.starts_with("    <error") ? 1 : 0;
        skipped += outcome.starts_with("    <skipped") ? 1 : 0;
        seconds += record.seconds;
        cases += fmt::format(
            "  <testcase classname=\"steady\" name=\"{}\" time=\"{:.3f}\">\n{}    <system-out>{}\n"
            "steady rerun {}</system-out>\n  </testcase>\n",
            figures::xml(record.spec.id), record.seconds, outcome,
            figures::xml(record.analysis ? record.analysis->sentence : ""),
            figures::xml(record.id));
    }
    return fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"steady\" tests=\"{}\" "
        "failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3f}\">\n{}</testsuite>\n",
        records.size(), failures, errors, skipped, seconds, cases);
}

}  // namespace steady
