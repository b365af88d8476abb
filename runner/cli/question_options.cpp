// Lists of options that stand in no line of verbs.cpp: what a question about commands or revisions
// may say instead of a file, shared by `ab` and `bisect`, and what `import` takes. A function's
// static, since the table of verbs is made from it before main.
#include "runner/cli/verbs.h"

namespace steady {

std::span<const Option> question_options() {
    static const std::vector<Option> options{
        {"repo", "NAME", "another repository, by its name under STEADY_SOURCES"},
        {"build", "COMMAND", "command that builds a revision, quoted; may be given several times",
         true},
        {"adapter", "NAME",
         "reads the command's output (default: process, which measures its time)"},
        {"pattern", "REGEX", "for --adapter regex: with a group (?<value>...)"},
        {"select", "LABEL",
         "which row of the output, e.g. BM_parse/1024, or label=value;label=value"},
        {"metric", "NAME", "which number decides (default: wall time, or the adapter's usual one)"},
        {"direction", "WORD", "lower or higher is better, for a metric that does not say so"},
        {"stat", "WORD", "median, mean, min or max of a run's repetitions"},
        {"worth", "PERCENT", "the smallest gain worth having, default 1%"},
        {"pairs", "N", "maximum number of pairs, default 200; clear evidence stops earlier"},
        {"warmup", "N", "unmeasured runs of each, default 1"},
        {"inner", "N",
         "runs of an arm per turn, of which the median counts, default 1; with --lockstep turns "
         "in a pair, 20"},
        {"timeout", "SECONDS", "time after which a run counts as hung, default 600"},
        {"lockstep", "",
         "both processes alive, taking turns over stdin: runner/programs/lockstep/README.md"},
        {"any-output", "", "the outputs may differ"},
        {"exit", "CODE", "the exit code of a good run, default 0"},
    };
    return options;
}

std::span<const Option> import_options() {
    static const std::vector<Option> options{
        {"shipped", "", "all records of this checkout (experiments/records)"},
        {"no-journal", "", "keep the record only, write no entry"},
        {"adapter", "NAME",
         "FILE or FOLDER is a history of this program, one value per benchmark and commit: asv, "
         "bencher, google-benchmark, hyperfine, criterion, go, pytest-benchmark, …"},
        {"repo", "NAME",
         "with --adapter: the repository that the commits are of; gives date, subject and order"},
        {"commit", "REV",
         "with --adapter: the commit of all values, where the files do not say it"},
        {"date", "TIME",
         "with --adapter: the commit's time (2026-11-24T03:00:00Z), without --repo"},
        {"host", "NAME", "with --adapter: the machine, where the files do not say it"},
        {"branch", "B", "with --adapter: the branch"},
        {"project", "NAME", "with --adapter: name of the series' group (default: the repository)"},
        {"metric", "NAME", "with --adapter: this metric (default: the program's usual one)"},
    };
    return options;
}

}  // namespace steady
