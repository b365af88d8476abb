// `steady tune-defaults`: the open questions of a new machine in one sitting. For each op that
// reads weights its variants are screened alone; those that beat the default there are confirmed in
// the whole model, as experiments; what is accepted goes into a file that steady-engine reads.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "kernels/base/error.h"
#include "runner/base/sha256.h"
#include "runner/cli/jobs.h"
#include "runner/cli/verbs.h"
#include "runner/cli/workspace.h"
#include "runner/entry/report.h"
#include "runner/platform/clock.h"
#include "runner/platform/files.h"
#include "runner/platform/process.h"

namespace steady {
namespace {

using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;

constexpr const char* kUsualModel = "synth-full-glm-4.7-flash-s1.gguf";
constexpr const char* kUsualOps = "q4_0_experts,q4_0_matvec,q6_k_matvec,q5_k_matvec";
constexpr double kScreenTimeout_s = 1800;

std::string environment_or_empty(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

long long usable_threads() { return std::max(1U, std::thread::hardware_concurrency()); }

// Where steady-engine looks by itself.
std::string usual_place() {
    const std::string config = environment_or_empty("XDG_CONFIG_HOME");
    const std::string home = environment_or_empty("HOME");
    if (config.empty() && home.empty()) {
        throw Error("no usual place for the defaults, since HOME is not set; give --out FILE");
    }
    return (config.empty() ? home + "/.config" : config) + "/steady/engine-defaults.json";
}

Json asked_of(const Words& words) {
    ChildOptions options;
    options.argv = words;
    options.output_cap = std::size_t{64} << 20U;
    options.line_cap = options.output_cap;
    options.stop = &interrupt_signal();
    Child child(options);
    const ChildEnd end = child.finish(kScreenTimeout_s);
    if (!end.ok()) throw Error(fmt::format("{}: {}", words[0], end.describe()));
    return Json::parse(end.out);
}

struct Candidate {
    std::string variant;
    double ns = 0;  // alone, on the op's heaviest shape, from memory
    double gb_per_s = 0;
};

// An op's variants by time alone, fastest first; the default stands among them.
std::vector<Candidate> screened(const std::string& kernels, const std::string& op, const Json& use,
                                long long threads) {
    const Json measured =
        asked_of({kernels, "bench", "--op", op, "--shape", use.at("shapes").at(0), "--threads",
                  std::to_string(threads), "--repetitions", "5", "--seconds", "0.03", "--json"});
    const auto& able = use.at("choices");
    std::vector<Candidate> found;
    for (const Json& row : measured.at("results")) {
        const std::string name = row.at("variant");
        if (row.contains("refused") && !row.contains("latency_ns_median")) continue;
        if (std::find(able.begin(), able.end(), name) == able.end()) continue;
        found.push_back({name, row.at("latency_ns_median"), row.at("gb_per_s")});
    }
    std::sort(found.begin(), found.end(),
              [](const Candidate& a, const Candidate& b) { return a.ns < b.ns; });
    return found;
}

// Those that beat the default alone; a kernel that is no faster alone is not faster in the model,
// and the check of a few per cent is what the model is for.
std::vector<Candidate> worth_asking(const std::vector<Candidate>& all, const std::string& now,
                                    std::size_t most) {
    const auto current = std::find_if(all.begin(), all.end(),
                                      [&](const Candidate& one) { return one.variant == now; });
    std::vector<Candidate> chosen;
    for (const Candidate& one : all) {
        if (one.variant == now || chosen.size() == most) continue;
        if (current != all.end() && one.ns >= current->ns) continue;
        chosen.push_back(one);
    }
    return chosen;
}

std::string question_id(const std::string& op, const std::string& variant) {
    std::string id = "tune-" + op;
    std::replace(id.begin(), id.end(), '_', '-');
    return id + "-" + sha256_hex(variant).substr(0, 8);
}

// One op's candidate in arm B; both arms name what the sitting has accepted so far. The model
// cannot gain more than the op alone did: gain_alone, a fraction.
Json question(const Arguments& arguments, const std::map<std::string, std::string>& kernels,
              const std::string& op, const Candidate& candidate, double gain_alone) {
    Json arm_b = kernels;
    arm_b[op] = candidate.variant;
    const std::string& now = kernels.at(op);
    return {
        {"id", question_id(op, candidate.variant)},
        {"owner", "steady tune-defaults"},
        {"hypothesis",
         {{"claim",
           fmt::format("On this CPU {}={} decodes faster than {}", op, candidate.variant, now)},
          {"because", fmt::format("alone, from memory, it is the faster one on the op's heaviest "
                                  "shape: {:.1f} GB/s",
                                  candidate.gb_per_s)},
          {"predict",
           {{"metric", "decode_tps"},
            {"change", {"0%", fmt::format("+{:.1f}%", std::max(0.1, 100 * gain_alone))}}}}}},
        {"subject",
         {{"program", "steady-engine"},
          {"model", arguments.get("model", kUsualModel)},
          {"workload", "prose"},
          {"threads", arguments.number("threads", usable_threads(), 1, 1024)}}},
        {"arms", {{"A", {{"kernels", kernels}}}, {"B", {{"kernels", arm_b}}}}},
        {"expect_diff", {"kernels." + op}},
        {"gates",
         {{{"id", "tokens"},
           {"level", "correctness"},
           {"role", "guard"},
           {"need", {{"top1_agree", ">=0.75"}, {"kl", "<=0.02"}}}},
          {{"id", "decode"},
           {"level", "model"},
           {"role", "decides"},
           {"metric", "decode_tps"},
           {"goal", "gain"},
           {"worth", arguments.get("worth", "1%")}}}},
        {"schedule",
         {{"mode", "duet"},
          {"warmup_tokens", 8},
          {"tokens", 32},
          {"pairs", {{"max", arguments.number("pairs", 16, 10, 200)}}},
          {"aa_pairs", 4}}}};
}

std::string effect_text(const Analysis& analysis) {
    if (!analysis.effect) return "";
    return effect_so_far(analysis.effect, analysis.interval);
}

// What is known so far, written after each question: a sitting that is stopped keeps its answers.
struct Sitting {
    const Arguments& arguments;
    std::string engine, kernels, model, out;
    long long threads = 1;
    Json plan;
    std::map<std::string, std::string> now{};  // op → variant, of the ops that are asked
    Json choices = Json::array(), asked = Json::array();

    void write() const {
        const Json file = {{"version", 1},
                           {"cpu_class", plan.at("cpu_class")},
                           {"made", utc_now()},
                           {"by", "steady tune-defaults"},
                           {"model", arguments.get("model", kUsualModel)},
                           {"threads", threads},
                           {"choices", choices},
                           {"asked", asked}};
        std::error_code error;
        std::filesystem::create_directories(std::filesystem::path(out).parent_path(), error);
        write_file_atomic(out, file.dump(2) + "\n");
    }

    void say(const std::string& line) const {
        if (!arguments.has("quiet")) fmt::print(stderr, "{}\n", line);
    }

    void ask(const std::string& op, const std::shared_ptr<PreparedWeights>& weights) {
        say(fmt::format("{}: timing {} variants alone", op,
                        plan.at("kernels").at(op).at("choices").size()));
        const auto all = screened(kernels, op, plan.at("kernels").at(op), threads);
        const auto most = static_cast<std::size_t>(arguments.number("candidates", 2, 1, 8));
        Json report = {{"op", op},
                       {"default", now.at(op)},
                       {"alone", Json::array()},
                       {"experiments", Json::array()}};
        for (const Candidate& one : all) {
            report["alone"].push_back({{"variant", one.variant}, {"gb_per_s", one.gb_per_s}});
        }
        const auto candidates = worth_asking(all, now.at(op), most);
        if (candidates.empty()) say(fmt::format("{}: none beats {} alone", op, now.at(op)));
        for (const Candidate& one : candidates) {
            say(fmt::format("{}: {} beats {} alone", op, one.variant, now.at(op)));
            if (arguments.has("screen")) continue;
            const auto today = std::find_if(all.begin(), all.end(), [&](const Candidate& other) {
                return other.variant == now.at(op);
            });
            const double gain = today == all.end() ? 0 : today->ns / one.ns - 1;
            const Record record =
                run_here(decode_spec(question(arguments, now, op, one, gain)), arguments, weights);
            const Verdict verdict = record.analysis->verdict;
            report["experiments"].push_back({{"variant", one.variant},
                                             {"verdict", name(verdict)},
                                             {"effect", effect_text(*record.analysis)},
                                             {"record", record.id}});
            say(fmt::format("{}: {}{} ({})", one.variant, name(verdict),
                            effect_text(*record.analysis), record.id));
            if (verdict != Verdict::accept) continue;
            now[op] = one.variant;
            choices.push_back({{"op", op},
                               {"variant", one.variant},
                               {"effect", effect_text(*record.analysis)},
                               {"record", record.id}});
            break;
        }
        asked.push_back(report);
        if (!arguments.has("screen")) write();
    }
};

}  // namespace

int verb_tune_defaults(const Arguments& arguments) {
    const std::string engine = engine_path(arguments);
    Sitting sitting{.arguments = arguments,
                    .engine = engine,
                    .kernels = kernels_path(engine),
                    .model = resolve_model(arguments.get("model", kUsualModel), arguments),
                    .out = arguments.get("out", arguments.has("out") ? "" : usual_place()),
                    .threads = arguments.number("threads", usable_threads(), 1, 1024),
                    .plan = {}};
    sitting.plan = asked_of({engine, "plan", sitting.model, "--defaults", "none", "--json"});
    const Words ops = split_list(arguments.get("ops", kUsualOps));
    const Json& used = sitting.plan.at("kernels");
    for (const std::string& op : ops) {
        if (used.contains(op)) {
            sitting.now[op] = used.at(op).at("variant");
        } else if (arguments.has("ops")) {
            Words names;
            for (const auto& entry : used.items()) names.push_back(entry.key());
            throw Error(fmt::format("--ops: found \"{}\", which {} does not call; allowed: {}", op,
                                    arguments.get("model", kUsualModel), fmt::join(names, ", ")));
        }
    }
    const auto weights = std::make_shared<PreparedWeights>();
    for (const std::string& op : ops) {
        if (sitting.now.contains(op)) sitting.ask(op, weights);
    }
    const Json result = {{"file", arguments.has("screen") ? Json(nullptr) : Json(sitting.out)},
                         {"cpu_class", sitting.plan.at("cpu_class")},
                         {"choices", sitting.choices},
                         {"asked", sitting.asked}};
    std::string text = fmt::format("{}: {} of {} ops asked have another default now\n",
                                   sitting.plan.at("cpu_class").get<std::string>(),
                                   sitting.choices.size(), sitting.asked.size());
    for (const Json& choice : sitting.choices) {
        text += fmt::format("  {:<14} {}{}\n", choice.at("op").get<std::string>(),
                            choice.at("variant").get<std::string>(),
                            choice.at("effect").get<std::string>());
    }
    if (!arguments.has("screen")) {
        text += fmt::format(
            "File: {}\nsteady-engine reads it{}; `steady-engine plan FILE` shows "
            "what runs and why\n",
            sitting.out, arguments.has("out") ? " with --defaults" : " by itself");
    }
    return print(arguments, result, text);
}

}  // namespace steady
