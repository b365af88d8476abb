// The table itself, read top to bottom like an experiment file. Descriptions are shown by editors
// while typing, so each says what the field does and what happens without it.
#include "runner/spec/spec_rules.h"

#include <utility>

#include "runner/adapters/adapter.h"
#include "runner/spec/rule_builders.h"

namespace steady {
namespace {

using Fields = std::vector<SpecField>;

constexpr bool kRequired = true;
constexpr bool kOptional = false;

const char* const kCellPattern = "^[a-z][a-z0-9_]{0,31}$";

using rules::integer;
using rules::list;
using rules::map;
using rules::number;
using rules::object;
using rules::pattern;
using rules::percentage;
using rules::scalar;
using rules::text;
using rules::words;

SpecRule file_name() {
    return pattern("^[A-Za-z0-9][A-Za-z0-9._+-]*(/[A-Za-z0-9][A-Za-z0-9._+-]*)*$",
                   "a name under a configured root: no leading /, no ..");
}

SpecRule command() { return list(text(1, 2000), 1, 100); }

SpecRule cell() { return map(kCellPattern, "the name of a matrix axis", scalar(), 8); }

SpecRule variant_name() {
    return pattern("^[a-z0-9][a-z0-9_]*$", "lower-case letters, digits and _", 64);
}

std::vector<std::string> adapter_names() {
    std::vector<std::string> out;
    for (const Adapter& adapter : adapters()) {
        out.emplace_back(adapter.name);
    }
    return out;
}

SpecRule hypothesis() {
    const SpecRule predict = object({
        {"metric", kRequired, pattern("^[a-z][a-z0-9_.]{0,63}$", "the name of a metric"),
         "The metric of the gate that decides."},
        {"change", kRequired, list(percentage(-99, 1000), 2, 2),
         "The expected change as [low, high], + is better; scored after the verdict."},
        {"at", kOptional, cell(), "The matrix cell that is meant."},
    });
    return object({
        {"claim", kRequired, text(10, 500), "What is believed, in one sentence."},
        {"because", kRequired, text(10, 500), "The mechanism: why it should be so."},
        {"predict", kOptional, predict,
         "The effect expected before anything is measured; required when a gate decides on a "
         "gain."},
    });
}

SpecRule subject() {
    return object({
        {"program", kRequired, words({"steady-engine", "outside"}),
         "steady-engine: this tree's release build. outside: any program, as commands or built "
         "from "
         "revisions."},
        {"name", kOptional, pattern("^[a-z0-9][a-z0-9._-]{0,63}$", "1 to 64 of a-z 0-9 . _ -", 64),
         "outside only: the label under which this program's history is kept; absent: repo."},
        {"repo", kOptional,
         pattern("^(\\.|[A-Za-z0-9][A-Za-z0-9._+-]*(/[A-Za-z0-9][A-Za-z0-9._+-]*)*)$",
                 "a repository's name under a configured root, or \".\""),
         "outside only: the git repository that both arms are built from, by its name under a "
         "configured root, or \".\" for the one around the working directory; absent: both arms "
         "are "
         "commands as they are installed."},
        {"build", kOptional, list(command(), 1, 20),
         "outside only: commands as lists of arguments, run once per revision in a fresh worktree; "
         "no "
         "shell. {src} is the checked-out tree."},
        {"model", kOptional, file_name(),
         "A GGUF file under a configured model root; its SHA-256 is recorded."},
        {"workload", kOptional, pattern("^[A-Za-z0-9][A-Za-z0-9._-]*$", "a file's name", 100),
         "A text under experiments/workloads: prompt and forced tokens are cut from it."},
        {"threads", kOptional, integer(1, 1024), "Threads of both arms; absent: all CPUs."},
    });
}

SpecRule arm() {
    return object({
        {"kernels", kOptional,
         map("^([a-z0-9][a-z0-9_]*|\\*)$", "an op's name, or * for all", variant_name(), 64),
         "Op to variant, e.g. {\"q4_0_matvec\": \"avx2\"}; {\"*\": \"reference\"} means every op."},
        {"steps", kOptional, map("^[a-z][a-z0-9_]*$", "a step's name", variant_name(), 16),
         "Structural step to alternative, e.g. {\"moe\": \"unfused\"}."},
        {"threads", kOptional, integer(1, 1024), "Threads of this arm; absent: subject.threads."},
        {"engine_flags", kOptional,
         map("^[a-z][a-z0-9_]*$", "a flag's name without dashes", text(1, 100), 32),
         "Flag to value as text, e.g. {\"burn\": \"1%\"}, which slows each token by a known "
         "share."},
        {"rev", kOptional,
         pattern("^(\\.|[A-Za-z0-9][A-Za-z0-9._/+~^-]*)$", "a revision, tag or branch, or \".\"",
                 100),
         "outside only: the revision that is built for this arm; \".\" is the files as they are "
         "now."},
        {"run", kOptional, command(),
         "outside only: this arm's command as a list of arguments, for gates without a run."},
        {"args", kOptional, list(text(1, 2000), 0, 100),
         "outside only: arguments added to each run of this arm."},
        {"env", kOptional,
         map("^[A-Z_][A-Z0-9_]*$", "the name of an environment variable", text(0, 1000), 32),
         "outside only: environment variables beside PATH, HOME, LANG and TZ, which are fixed."},
        {"role", kOptional, words({"layout_control"}), "Arm B0 only, and required there."},
    });
}

SpecRule evidence() {
    return object({
        {"log_has", kOptional, text(1, 500), "Text that what this arm prints must hold."},
        {"log_lacks", kOptional, text(1, 500), "Text that what this arm prints must not hold."},
        {"file_has", kOptional,
         pattern("^[^:]+: ?.+$", "a file's path, a colon, and the text that it must hold", 500),
         "path: text that the file must hold, the path relative to the arm's working directory."},
        {"counter_at_least", kOptional,
         pattern("^[A-Za-z_][A-Za-z0-9_.-]*=[0-9]+(\\.[0-9]+)?$", "name=number", 200),
         "name=number: the arm must print name, then = or : and at least that number."},
    });
}

SpecRule need() {
    const SpecRule bound = pattern("^(<=|>=)[0-9]+(\\.[0-9]+)?([eE][+-]?[0-9]+)?$",
                                   "<= or >= and a number, e.g. \"<=1e-4\"", 40);
    return object({
        {"top1_agree", kOptional, bound, "Share of positions where both arms pick the same token."},
        {"kl", kOptional, bound, "Mean Kullback-Leibler divergence of B from A, nats."},
        {"kl_max", kOptional, bound, "The same at the worst position."},
        {"max_abs", kOptional, bound, "Largest difference of any logit."},
        {"rel_l2", kOptional, bound, "Largest relative distance of the logit vectors."},
        {"exit", kOptional, integer(0, 255),
         "outside only: the exit code of both arms; without it, 0."},
        {"stdout", kOptional,
         pattern(
             "^(equal|sha256:[0-9a-f]{64}|matches:.+)$",
             "\"equal\", \"sha256:\" with 64 hex digits, or \"matches:\" with a regular expression",
             500),
         "outside only. equal: both arms print the same bytes. sha256: both print what has this "
         "hash. matches: in what both print, the expression is found."},
        {"file", kOptional, text(1, 500),
         "outside only: a file that both arms write in their working directory, with equal bytes."},
        {"check", kOptional, command(),
         "outside only: a command that compares both outputs and exits 0 when B's is right; "
         "{out_a} "
         "and {out_b} are files with what the arms printed."},
    });
}

SpecRule gate() {
    return object({
        {"id", kRequired,
         pattern("^[a-z][a-z0-9_-]{0,31}$", "1 to 32 of a-z 0-9 _ -, a letter first", 32),
         "A short name, unique in this file."},
        {"level", kRequired, words({"correctness", "micro", "block", "model"}),
         "One kernel, one layer or the whole model; gates stand in this order."},
        {"role", kRequired, words({"advice", "guard", "decides"}),
         "advice is shown, a guard may stop, the one gate that decides may accept (model only)."},
        {"metric", kOptional, pattern("^[a-z][a-z0-9_.]{0,63}$", "the name of a metric"),
         "micro: op_ns. block: block_ns, ffn_ns. model: decode_tps, token_ns_p90, ttft_ns, "
         "rss_bytes. For outside programs: as the adapter names it."},
        {"op", kOptional, variant_name(), "micro only: the op that is timed alone."},
        {"need", kOptional, need(), "correctness only: the bounds that must hold."},
        {"goal", kOptional, words({"gain", "equivalent"}),
         "What the deciding gate must show; absent: gain."},
        {"worth", kOptional, percentage(0.1, 50), "The smallest gain worth having; absent: 1%."},
        {"floor", kOptional, percentage(0, 50), "The effect that must be exceeded; absent: 0%."},
        {"margin", kOptional, percentage(0.1, 50),
         "How much worse a guard lets pass, or how far apart equivalent arms may be; absent: 5% "
         "for ttft_ns, 2% otherwise."},
        {"alpha", kOptional, number(0.0001, 0.05), "Bound on false accepts; absent: 0.01."},
        {"beta", kOptional, number(0.001, 0.2), "Bound on false rejects; absent: 0.05."},
        {"alpha_guard", kOptional, number(0.0001, 0.2),
         "Guards: bound on passing a candidate that is worse by the margin; absent: 0.05."},
        {"at", kOptional, cell(), "The matrix cell this gate measures."},
        {"adapter", kOptional, words(adapter_names()),
         "outside only: what reads the output of run; absent: process, which measures the run from "
         "outside."},
        {"pattern", kOptional, text(1, 500),
         "outside only, adapter regex: the expression, with a group (?<value>...); a group unit "
         "gives the unit, other named groups are labels."},
        {"select", kOptional, text(1, 200),
         "outside only: which row counts when the output has several of the metric: a label's "
         "value, e.g. BM_parse/1024, or label=value, or several: label=value;label=value."},
        {"stat", kOptional, words({"median", "mean", "min", "max"}),
         "outside only: what counts of the repetitions that one run reports; absent: median."},
        {"direction", kOptional, words({"lower", "higher"}),
         "outside only: which values are better, for a metric that does not say so itself."},
        {"run", kOptional, command(),
         "outside only: the command as a list of arguments; absent: each arm's run."},
    });
}

SpecRule schedule() {
    return object({
        {"mode", kOptional, words({"duet", "process_pairs", "lockstep"}),
         "duet: both arms alternate in one process. process_pairs: two processes back to back. "
         "lockstep: two processes, both alive, take turns over stdin (outside only). Absent: duet "
         "for steady-engine, process_pairs for outside."},
        {"seed", kOptional, integer(0, std::numeric_limits<std::uint64_t>::max()),
         "Seed of the coins that draw the order; absent: drawn and stored."},
        {"pairs", kOptional,
         object({{"max", kRequired, integer(2, 1000),
                  "The cap, fixed before pair 1; at least 10 where a gate decides."}}),
         "How many pairs at most; absent: 50. Fewer are measured when the evidence is clear."},
        {"aa_pairs", kOptional, integer(0, 50),
         "Pairs of the baseline against itself, measured first; absent: 6."},
        {"chunk", kOptional, integer(1, 64), "Tokens per arm and turn in a duet; absent: 4."},
        {"warmup_tokens", kOptional, integer(0, 4096), "Unmeasured tokens per arm; absent: 16."},
        {"tokens", kOptional, integer(16, 16384), "Measured tokens per arm and pair; absent: 64."},
        {"cooldown_s", kOptional, number(0, 600), "Pause between pairs, seconds; absent: 0."},
        {"warmup_runs", kOptional, integer(0, 100),
         "outside only: runs of each arm that are left out, before the first pair; in lockstep, "
         "first turns of each process; absent: 1."},
        {"inner", kOptional, integer(1, 100),
         "outside only: runs of an arm in its turn, whose median counts as one value; absent: 1. "
         "In lockstep: turns of each arm in a pair; absent: 20."},
        {"timeout_s", kOptional, number(0.1, 86400),
         "outside only: seconds after which a run or a turn counts as hung; absent: 600."},
        {"profile", kOptional, words({"frame_pointers", "dwarf"}),
         "outside only, not in lockstep: after the last pair, sample the call stacks of both arms "
         "with perf, in runs of their own, for flame graphs. frame_pointers: cheap; programs built "
         "with -fno-omit-frame-pointer show whole stacks. dwarf: whole stacks of programs with "
         "debug information. Absent: no profile."},
    });
}

SpecRule whole_file() {
    const SpecRule sweep = object({
        {"axes", kRequired,
         map("^(kernels|steps|engine_flags)\\.[a-z0-9_]+$|^threads$|^args\\.[a-z][a-z0-9_]{0,31}$|"
             "^env\\.[A-Z_][A-Z0-9_]*$",
             "a dotted path in arm B: kernels.<op>, steps.<step>, engine_flags.<flag>, threads; of "
             "an outside program args.<name>, env.<NAME>",
             list(scalar(0), 2, 32), 8),
         "Path in arm B to the values that are tried; args.level fills {level} in B's run, args "
         "and proofs. Only a variable of the environment may be empty."},
        {"screen_pairs", kOptional, integer(2, 100),
         "Pairs per setting when screening, of which at most 10 are measured; absent: 8."},
        {"then", kOptional, words({"confirm-top-1"}),
         "The best of the screen is confirmed on new pairs."},
    });
    const SpecRule environment = object({
        {"wait_quiet_s", kOptional, number(0, 3600),
         "How long to wait for a quiet machine before the first pair; absent: 0."},
        {"max_discarded", kOptional, percentage(0, 30),
         "Share of discarded pairs above which the machine is too noisy; absent: 30%."},
    });
    return object({
        {"$schema", kOptional, text(1, 300), "Where this schema lies; for editors."},
        {"id", kRequired,
         pattern("^[a-z0-9][a-z0-9-]{2,63}$", "3 to 64 of a-z 0-9 -, equal to the file's stem", 64),
         "The experiment's name, equal to the file's name without .json."},
        {"owner", kRequired, text(1, 64), "Who asks."},
        {"hypothesis", kRequired, hypothesis(), "What is believed, why, and how much is expected."},
        {"subject", kRequired, subject(), "What is measured."},
        {"arms", kRequired,
         object({{"A", kRequired, arm(), "The baseline."},
                 {"B", kRequired, arm(), "The candidate."},
                 {"B0", kOptional, arm(),
                  "outside only: layout control. B's build with its feature off, or A in another "
                  "layout (link order, path, environment). It is measured against A beside A/A."}}),
         "The two settings that are compared."},
        {"expect_diff", kRequired, list(text(1, 200), 0, 100),
         "Every path in which the arms differ, e.g. kernels.q4_0_experts; [] for an A/A run."},
        {"applied", kOptional,
         object({{"A", kOptional, evidence(), "Proof for the baseline."},
                 {"B", kOptional, evidence(), "Proof for the candidate."},
                 {"B0", kOptional, evidence(), "Proof for the layout control."}}),
         "outside only: how each arm proves that its setting took effect."},
        {"matrix", kOptional,
         map(kCellPattern, "a short lower-case name", list(scalar(), 1, 16), 8),
         "outside only: axis to values; {axis} in a command is replaced, at most 16 cells."},
        {"gates", kRequired, list(gate(), 1, 32), "The ladder, in the order in which it runs."},
        {"schedule", kOptional, schedule(), "How the pairs are measured."},
        {"aa", kOptional,
         object({{"max_half_width", kOptional, percentage(0.01, 50),
                  "The A/A band must be at least this narrow, else the machine is too noisy."}}),
         "What is asked of the baseline against itself."},
        {"environment", kOptional, environment, "May only tighten the worker's own thresholds."},
        {"sweep", kOptional, sweep, "Tries several values and confirms the best on new pairs."},
        {"retry_if", kOptional, text(3, 500), "When a rejected idea deserves another try."},
    });
}

}  // namespace

const SpecRule& spec_rules() {
    static const SpecRule rules = whole_file();
    return rules;
}

}  // namespace steady
