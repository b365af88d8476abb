// Verbs that measure questions with a known answer: nothing differs (aa, the blind audit), or an
// injected share of each token's time does (selftest). They use the same pipeline as any
// experiment; the result shows how far verdicts on this machine can be trusted.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <thread>

#include "kernels/base/error.h"
#include "kernels/base/self_path.h"
#include "runner/cli/jobs.h"
#include "runner/cli/records.h"
#include "runner/cli/verbs.h"
#include "runner/cli/workspace.h"
#include "runner/plan/plan.h"
#include "runner/platform/clock.h"
#include "runner/platform/files.h"
#include "runner/platform/process.h"
#include "runner/statistics/statistics.h"
#include "runner/statistics/stopping_rule.h"

namespace steady {
namespace {

using nlohmann::json;

constexpr const char* kNothingDiffers = "selftest/a-against-a";

json read_experiment(const std::string& asked) {
    static_cast<void>(load_spec(asked));  // throws when the file has a mistake
    return json::parse(read_file(find_experiment(asked)), nullptr, true, true);
}

// An experiment file with its arms made equal: an A/A experiment.
Spec as_aa(const std::string& file, const Arguments& arguments) {
    json aa = read_experiment(file);
    aa["id"] = "a-against-a";
    aa["arms"]["B"] = aa["arms"]["A"];
    aa["expect_diff"] = json::array();
    aa["schedule"]["aa_pairs"] = arguments.number("pairs", 20, 0, 50);
    aa["schedule"].erase("seed");
    json gates = json::array();
    for (const json& gate : aa["gates"]) {
        if (gate["level"] != "micro") gates.push_back(gate);  // no op differs now
    }
    aa["gates"] = gates;
    return decode_spec(aa);
}

// Arm A burns `percent` of each token's time, so B is faster by that much; B carries a tag that
// makes each run a question of its own. With 0 % nothing differs but the tag, and nothing in the
// pipeline knows that.
Spec planted(const json& base, double percent, std::uint64_t seed) {
    json one = base;
    const std::string truth = fmt::format("{:g}", percent);
    one["id"] = fmt::format("planted-{}-{}", static_cast<int>(std::lround(100 * percent)), seed);
    one["hypothesis"] = {
        {"claim", fmt::format("B is {} % faster: planted, run {}", truth, seed)},
        {"because", "A burns that share of each token's own time; the tag changes nothing"},
        {"predict",
         {{"metric", "decode_tps"},
          {"change",
           {fmt::format("{:+g}%", percent - 0.5), fmt::format("{:+g}%", percent + 0.5)}}}}};
    one["arms"] = {{"A", json::object()}, {"B", {{"engine_flags", {{"tag", one["id"]}}}}}};
    one["expect_diff"] = {"engine_flags.tag"};
    if (percent > 0) {
        one["arms"]["A"]["engine_flags"]["burn"] = truth + "%";
        one["expect_diff"].push_back("engine_flags.burn");
    }
    // Threads that may wander over many CPUs make pairs that spread by several times as much.
    if (one.at("subject").at("threads") < std::thread::hardware_concurrency()) {
        for (const char* arm : {"A", "B"}) one["arms"][arm]["engine_flags"]["pin"] = "on";
    }
    if (percent > 0 && percent < 1) {  // a finer question needs more pairs
        for (json& gate : one["gates"]) {
            if (gate["role"] == "decides") gate["worth"] = truth + "%";
        }
        one["schedule"]["pairs"]["max"] = 2 * one["schedule"]["pairs"]["max"].get<int>();
    }
    one["schedule"]["seed"] = seed;
    return decode_spec(one);
}

Arguments without_entries(const Arguments& arguments) {
    Arguments quiet = arguments;
    quiet.options["no-journal"] = "1";
    quiet.options["quiet"] = "1";
    return quiet;
}

void say(const Arguments& arguments, const std::string& line) {
    if (!arguments.has("quiet")) fmt::print(stderr, "{}\n", line);
}

// What one cell of the table of planted effects saw.
struct Cell {
    double percent = 0;
    bool neighbour = false;
    int n = 0, accept = 0, reject = 0, inconclusive = 0, invalid = 0;
    std::vector<double> pairs, seconds, effects;

    void add(const Record& record) {
        const Analysis& analysis = *record.analysis;
        ++n;
        switch (analysis.verdict) {
            case Verdict::accept:
                ++accept;
                break;
            case Verdict::reject:
                ++reject;
                break;
            case Verdict::inconclusive:
                ++inconclusive;
                break;
            case Verdict::invalid:
                ++invalid;
                break;
        }
        pairs.push_back(analysis.pairs);
        seconds.push_back(record.seconds);
        if (analysis.effect) effects.push_back(100 * *analysis.effect);
    }
};

json cell_json(const Cell& cell) {
    return {{"planted_percent", cell.percent},
            {"neighbour", cell.neighbour},
            {"experiments", cell.n},
            {"accept", cell.accept},
            {"reject", cell.reject},
            {"inconclusive", cell.inconclusive},
            {"invalid", cell.invalid},
            {"pairs_median", median(cell.pairs)},
            {"pairs_max", *std::max_element(cell.pairs.begin(), cell.pairs.end())},
            {"seconds_median", median(cell.seconds)},
            {"effect_percent_median", cell.effects.empty() ? json() : json(median(cell.effects))}};
}

std::string table_text(const std::vector<Cell>& cells) {
    std::string text =
        "| injected | load | experiments | accept | reject | inconclusive | invalid | "
        "pairs, median (most) | seconds, median | effect, median |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
    for (const Cell& cell : cells) {
        text += fmt::format(
            "| {:+g} % | {} | {} | {} | {} | {} | {} | {:.0f} ({:.0f}) | {:.1f} | {} |\n",
            cell.percent, cell.neighbour ? "yes" : "no", cell.n, cell.accept, cell.reject,
            cell.inconclusive, cell.invalid, median(cell.pairs),
            *std::max_element(cell.pairs.begin(), cell.pairs.end()), median(cell.seconds),
            cell.effects.empty() ? "–" : fmt::format("{:+.2f} %", median(cell.effects)));
    }
    return text;
}

std::vector<double> effects_asked(const Arguments& arguments) {
    std::vector<double> effects;
    std::stringstream in(arguments.get("effects", "0,0.5,1,2,5"));
    for (std::string part; std::getline(in, part, ',');) {
        try {
            effects.push_back(std::stod(part));
        } catch (const std::exception&) {
            effects.push_back(-1);
        }
        if (!(effects.back() >= 0 && effects.back() <= 50)) {
            throw Error(fmt::format(
                "--effects: found \"{}\", allowed: percentages from 0 to 50, such as 0,0.5,1",
                part));
        }
    }
    return effects;
}

// A load generator: random bursts of CPU load until it is destroyed.
std::unique_ptr<Child> start_neighbour(std::uint64_t seed) {
    ChildOptions options;
    options.argv = {self_path(), "disturb", "--seed", std::to_string(seed % 1000000)};
    return std::make_unique<Child>(options);
}

// `runs` experiments per effect, every second one beside a load generator when asked. Effects are
// interleaved, so that slow changes of the machine affect all cells alike.
std::vector<Cell> run_planted(const Arguments& arguments, const std::vector<double>& effects,
                              long long runs, bool neighbour) {
    const json base = read_experiment(own_experiment(kNothingDiffers));
    const auto seed = static_cast<std::uint64_t>(arguments.number("seed", 1, 0, 1000000000));
    const Arguments quiet = without_entries(arguments);
    std::vector<Cell> cells;
    for (double percent : effects) {
        cells.push_back(
            {.percent = percent, .neighbour = false, .pairs = {}, .seconds = {}, .effects = {}});
        if (neighbour) {
            cells.push_back(
                {.percent = percent, .neighbour = true, .pairs = {}, .seconds = {}, .effects = {}});
        }
    }
    for (long long i = 0; i < runs; ++i) {
        for (Cell& cell : cells) {
            if (neighbour && cell.neighbour != (i % 2 == 1)) continue;
            const std::uint64_t one = seed + static_cast<std::uint64_t>(i);
            const auto beside = cell.neighbour ? start_neighbour(one) : nullptr;
            const Record record = run_here(planted(base, cell.percent, one), quiet);
            cell.add(record);
            say(arguments,
                fmt::format("{} of {}: planted {:+g} %{}: {} {} ({} pairs, {:.1f} s)", i + 1, runs,
                            cell.percent, cell.neighbour ? " beside a load generator" : "",
                            name(record.analysis->verdict), record.analysis->reason,
                            record.analysis->pairs, record.seconds));
        }
    }
    std::erase_if(cells, [](const Cell& cell) { return cell.n == 0; });
    return cells;
}

// Blinded A/A experiments: they go through the same code as any other and differ in their name
// only.
int audit(const Arguments& arguments) {
    Arguments with_seed = arguments;
    if (!arguments.has("seed")) {
        with_seed.options["seed"] = std::to_string(std::random_device{}() % 1000000000U);
    }
    const std::vector<Cell> cells =
        run_planted(with_seed, {0}, arguments.number("runs", 20, 1, 100000), false);
    const Cell& cell = cells.at(0);
    Store store = open_store(arguments);
    int n_all = 0, accepts_all = 0;
    std::int64_t cursor = 0;
    for (std::vector<ExperimentRow> rows;;) {
        rows = store.list_experiments({}, 100, cursor);
        for (const ExperimentRow& row : rows) {
            cursor = row.cursor;
            if (row.id.rfind("planted-0-", 0) != 0 || row.verdict.empty()) continue;
            ++n_all;
            accepts_all += row.verdict == "accept" ? 1 : 0;
        }
        if (rows.size() < 100) break;
    }
    const double bound = clopper_pearson(accepts_all, n_all, 0.95).upper_one_sided;
    json out = cell_json(cell);
    out["seed"] = with_seed.number("seed", 0, 0, 1000000000);
    out["all_audits"] = {
        {"experiments", n_all}, {"accepts", accepts_all}, {"false_accept_upper_95", bound}};
    return print(arguments, out,
                 fmt::format("{} blind A/A experiments from seed {}: {} accepted, {} rejected, {} "
                             "inconclusive\nin this store: {} accepted of {}; false accepts ≤ "
                             "{:.2f} % (Clopper–Pearson, one-sided 95 %)",
                             cell.n, with_seed.get("seed"), cell.accept, cell.reject,
                             cell.inconclusive, accepts_all, n_all, 100 * bound));
}

struct Expectation {
    const char* file;
    const char* verdict;  // "not accept" or the verdict that must come
};

bool meets(const Expectation& expected, Verdict verdict) {
    if (std::string(expected.verdict) == "not accept") return verdict != Verdict::accept;
    return std::string(expected.verdict) == name(verdict);
}

}  // namespace

int verb_aa(const Arguments& arguments) {
    if (arguments.has("audit")) return audit(arguments);
    const std::string file =
        arguments.words.empty() ? own_experiment(kNothingDiffers) : arguments.words[0];
    const Spec spec = as_aa(file, arguments);
    const Gate* gate = deciding_gate(spec);
    if (gate == nullptr) {
        throw Error(
            fmt::format("{}: no gate decides, so there is no metric to calibrate; allowed: "
                        "a file with a gate of level model and role decides",
                        file));
    }
    const long long runs = arguments.number("runs", 1, 1, 100000);
    Arguments quiet = arguments;
    quiet.options["no-journal"] = "1";
    if (runs > 1) quiet.options["quiet"] = "1";
    int accepts = 0;
    Record last;
    const auto weights = std::make_shared<PreparedWeights>();
    for (long long i = 0; i < runs; ++i) {
        last = run_here(spec, quiet, weights);
        if (last.analysis->verdict == Verdict::accept) ++accepts;
        if (runs > 1) {
            say(arguments, fmt::format("{} of {}: {}, {} accepts", i + 1, runs,
                                       name(last.analysis->verdict), accepts));
        }
    }
    Store store = open_store(arguments);
    const HostHistory history = store.host_history(
        last.attempts.back().host, gate->metric, spec.schedule.mode, noise_subject(spec),
        noise_gpu(gpu_device(spec), last.attempts.back().fingerprint));
    const std::optional<double> sigma = aa_sigma(history.aa_pairs);
    const double n_max = spec.schedule.pairs_max;
    const double bound = clopper_pearson(accepts, static_cast<double>(runs), 0.95).upper_one_sided;
    const json out = {{"runs", runs},
                      {"accepts", accepts},
                      {"false_accept_upper_95", bound},
                      {"aa_pairs", history.aa_pairs.size()},
                      {"sigma_d", sigma ? json(*sigma) : json()},
                      {"sigma_d_of_last_run", last.analysis->sigma_d},
                      {"mde95", sigma ? json(mde95(*sigma, n_max)) : json()}};
    std::string text =
        sigma ? fmt::format(
                    "sigma_d {:.3f} % over {} A/A pairs; smallest effect found with 95 % power in "
                    "{} pairs: {:.2f} %",
                    100 * *sigma, history.aa_pairs.size(), spec.schedule.pairs_max,
                    100 * mde95(*sigma, n_max))
              : fmt::format("{} A/A pairs so far: too few to know this host's noise",
                            history.aa_pairs.size());
    text += fmt::format("\n{} A/A experiment{}, {} accepted; false accepts ≤ {:.1f} % (95 % bound)",
                        runs, runs == 1 ? "" : "s", accepts, 100 * bound);
    return print(arguments, out, text);
}

int verb_selftest(const Arguments& arguments) {
    if (arguments.has("runs")) {
        const std::vector<Cell> cells =
            run_planted(arguments, effects_asked(arguments),
                        arguments.number("runs", 40, 1, 100000), arguments.has("neighbour"));
        json rows = json::array();
        for (const Cell& cell : cells) rows.push_back(cell_json(cell));
        return print(arguments, {{"cells", rows}}, table_text(cells));
    }
    constexpr Expectation kExpected[] = {{"burn-5", "reject"},
                                         {"gain-5", "accept"},
                                         {"burn-2", "reject"},
                                         {"gain-2", "accept"},
                                         {"a-against-a", "not accept"}};
    const Arguments quiet = without_entries(arguments);
    json rows = json::array();
    std::string text;
    bool good = true;
    for (const Expectation& expected : kExpected) {
        const Spec spec = load_spec(own_experiment(std::string("selftest/") + expected.file));
        const Record record = run_here(spec, quiet);
        const bool met = meets(expected, record.analysis->verdict);
        good = good && met;
        const double effect = record.analysis->effect.value_or(0);
        rows.push_back({{"experiment", expected.file},
                        {"expected", expected.verdict},
                        {"verdict", name(record.analysis->verdict)},
                        {"effect", effect},
                        {"pairs", record.analysis->pairs},
                        {"met", met}});
        text += fmt::format("{} {:<12} expected {:<10} got {:<12} {:+.2f} % after {} pairs\n",
                            met ? "ok  " : "FAIL", expected.file, expected.verdict,
                            name(record.analysis->verdict), 100 * effect, record.analysis->pairs);
    }
    text +=
        good ? "every planted difference was found" : "the pipeline missed an injected slowdown";
    print(arguments, {{"good", good}, {"rows", rows}}, text);
    return good ? kExitOk : kExitInternal;
}

int verb_disturb(const Arguments& arguments) {
    constexpr std::size_t kWords = std::size_t{64} << 17U;  // 64 MiB, beyond most caches
    std::mt19937_64 random(static_cast<std::uint64_t>(arguments.number("seed", 1, 0, 1000000)));
    std::uniform_real_distribution<double> length(0.2, 2.0);
    std::vector<std::uint64_t> memory(kWords, 1);
    const double end =
        boottime_s() + static_cast<double>(arguments.number("seconds", 3600, 1, 86400));
    std::uint64_t sum = 0;
    while (boottime_s() < end && !interrupt_signal().raised()) {
        ::usleep(static_cast<useconds_t>(1e6 * length(random)));
        for (const double until = boottime_s() + length(random);
             boottime_s() < until && !interrupt_signal().raised();) {
            for (std::uint64_t& word : memory) sum += word++;
        }
    }
    fmt::print("{}\n", sum % 10);  // the sums must not be optimised away
    return kExitOk;
}

}  // namespace steady
