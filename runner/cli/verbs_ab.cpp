// `steady ab`: two commands, or two revisions of a repository, to a verdict without a file to
// write. The file that says what was asked is written all the same, so that it can be read, kept
// and rerun.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "kernels/base/error.h"
#include "runner/adapters/adapter.h"
#include "runner/base/sha256.h"
#include "runner/base/text.h"
#include "runner/cli/exit_map.h"
#include "runner/cli/jobs.h"
#include "runner/cli/programs.h"
#include "runner/cli/records.h"
#include "runner/cli/verbs.h"
#include "runner/cli/workspace.h"
#include "runner/entry/report.h"
#include "runner/platform/files.h"
#include "runner/platform/measured_process.h"
#include "runner/programs/command/command_run.h"
#include "runner/record/record_json.h"
#include "runner/spec/spec_command.h"
#include "runner/track/revision_question.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
using FileJson = nlohmann::ordered_json;
using Words = std::vector<std::string>;

constexpr int kUsualPairs = 200, kUsualAaPairs = 6;

// What is compared: commands, revisions, or both.
struct Question {
    Words a, b;                // commands
    std::string rev_a, rev_b;  // empty: commands as they are installed
    std::string repo;
};

Words listed(const Arguments& arguments, const char* name) {
    const auto found = arguments.lists.find(name);
    return found == arguments.lists.end() ? Words{} : found->second;
}

void take_revisions(const Arguments& arguments, Question& question) {
    const Words revs = listed(arguments, "rev");
    if (arguments.has("base")) {
        if (!revs.empty())
            throw Error("--base is short for --rev BASE --rev .; give one of the two");
        question.rev_a = arguments.get("base");
        question.rev_b = ".";
    } else if (revs.size() == 2) {
        question.rev_a = revs[0];
        question.rev_b = revs[1];
    } else if (!revs.empty()) {
        throw Error(fmt::format("--rev: found {} of them, needed 2: first A, then B", revs.size()));
    }
    if (!question.rev_a.empty()) question.repo = arguments.get("repo", ".");
}

Question asked_question(const Arguments& arguments) {
    Question question;
    take_revisions(arguments, question);
    const Words& words = arguments.words;
    const bool revisions = !question.rev_a.empty();
    if (!arguments.rest.empty()) {
        if (!revisions || words.size() != arguments.rest.size()) {
            throw Error(
                "what follows -- is the one command of both arms: with it, say what differs "
                "by --rev A --rev B or --base REV, and give no other words");
        }
        question.a = question.b = arguments.rest;
    } else if (words.size() == 2) {
        question.a = split_words(words[0]);
        question.b = split_words(words[1]);
    } else if (words.size() == 1 && revisions) {
        question.a = question.b = split_words(words[0]);
    } else {
        throw Error(
            "usage: steady ab 'COMMAND' 'COMMAND', each quoted as one word; or steady ab --rev A "
            "--rev B [--build 'COMMAND'] -- COMMAND [ARGUMENT…]. `steady help ab` says more");
    }
    if (!revisions && (arguments.lists.contains("build") || arguments.has("repo"))) {
        throw Error(
            "--build and --repo belong to revisions: say which by --rev A --rev B or --base");
    }
    return question;
}

// The metric that a tool is usually asked about.
std::string usual_metric(const std::string& adapter) {
    static const std::map<std::string, std::string> usual = {
        {"process", "wall_seconds"},   {"google-benchmark", "real_time_ns"},
        {"llama-bench", "decode_tps"}, {"hyperfine", "wall_seconds"},
        {"perf", "instructions"},      {"criterion", "time_ns"},
        {"asv", "time_seconds"},       {"pytest-benchmark", "time_seconds"},
        {"go", "ns_per_op"},
    };
    const auto found = usual.find(adapter);
    if (found != usual.end()) return found->second;
    throw Error(fmt::format("--metric is required with --adapter {}: it reads several", adapter));
}

std::string short_name(const std::string& text) {
    std::string out;
    for (const char c : text) {
        const bool kept = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        if (kept || lower != c) {
            out += lower;
        } else if (!out.empty() && out.back() != '-') {
            out += '-';
        }
    }
    while (!out.empty() && out.back() == '-') out.pop_back();
    return out.empty() ? "program" : out.substr(0, 24);
}

// Two programs, or one on two inputs, never share a history: the label ends with a hash of what A
// runs and where.
std::string label_of(const Question& question) {
    const std::string place = fs::current_path().string();
    const std::string name =
        question.repo.empty() || question.repo == "."
            ? (question.repo.empty() ? fs::path(question.a[0]).filename().string()
                                     : fs::path(place).filename().string())
            : fs::path(question.repo).filename().string();
    return short_name(name) + "-" +
           sha256_hex(place + "\n" + joined_words(question.a)).substr(0, 6);
}

FileJson arm_of(const Words& command, const std::string& rev) {
    FileJson arm = FileJson::object();
    if (!rev.empty()) arm["rev"] = rev;
    arm["run"] = command;
    return arm;
}

FileJson gates_of(const Arguments& arguments, const std::string& metric) {
    const std::string adapter = arguments.get("adapter", "process");
    FileJson need = {{"exit", arguments.number("exit", 0, 0, 255)}};
    // What a benchmark prints are its own times, equal in no two runs.
    const bool compared = adapter == "process" && !arguments.has("lockstep");
    if (compared && !arguments.has("any-output")) need["stdout"] = "equal";
    FileJson decides = {
        {"id", "speed"}, {"level", "model"}, {"role", "decides"}, {"metric", metric}};
    if (adapter != "process") decides["adapter"] = adapter;
    for (const char* key : {"pattern", "select", "stat", "direction"}) {
        if (arguments.has(key)) decides[key] = arguments.get(key);
    }
    if (arguments.has("exit-map")) decides["goal"] = "equivalent";
    decides[arguments.has("exit-map") ? "margin" : "worth"] = arguments.get("worth", "1%");
    return FileJson::array(
        {{{"id", "output"}, {"level", "correctness"}, {"role", "guard"}, {"need", need}}, decides});
}

// What the kernel counts for a process is a closed list; a wrong name would end in a direction that
// is asked for in vain.
void check_metric(const std::string& metric, const std::string& adapter) {
    if (adapter != "process") return;
    Words known;
    for (const AdapterRow& row : find_adapter("process")->read(usage_json({})))
        known.push_back(row.metric);
    if (std::find(known.begin(), known.end(), metric) != known.end()) return;
    const auto near = nearest(metric, known);
    throw Error(fmt::format(
        "--metric: found \"{}\", allowed without --adapter: {}{}; a number that the program prints "
        "is read by --adapter lines or regex",
        metric, fmt::join(known, ", "), near ? fmt::format("; did you mean \"{}\"?", *near) : ""));
}

// The option behind a place in the file, so that nobody has to read a file to mend a word.
std::string option_of(const std::string& pointer) {
    static const std::map<std::string, std::string> options = {
        {"/gates/1/worth", "--worth"},      {"/gates/1/margin", "--worth"},
        {"/gates/1/metric", "--metric"},    {"/gates/1/select", "--select"},
        {"/gates/1/stat", "--stat"},        {"/gates/1/direction", "--direction"},
        {"/gates/1/pattern", "--pattern"},  {"/hypothesis/claim", "--claim"},
        {"/schedule/profile", "--profile"}, {"/hypothesis/because", "--because"}};
    const auto found = options.find(pointer);
    return found == options.end() ? "" : found->second;
}

std::string in_words(const SpecError& error, const std::string& id) {
    for (const char* missing : {"direction", "pattern"}) {
        if (error.found != fmt::format("no key \"{}\"", missing)) continue;
        return fmt::format("no --{}; allowed: {}; {}", missing, error.allowed, error.hint);
    }
    const std::string option = option_of(error.pointer);
    if (option.empty()) return describe(error, id);
    return fmt::format("{}: found {}, allowed: {}{}", option, error.found, error.allowed,
                       error.hint.empty() ? "" : "; " + error.hint);
}

// Pairs that fit into the budget, by one run of each command.
int pairs_in(const Arguments& arguments, const Question& question, long long budget_s) {
    if (!question.repo.empty()) {
        throw Error("--budget needs commands that are there already; with revisions give --pairs");
    }
    double seconds = 0;
    for (const Words& command : {question.a, question.b}) {
        const CommandRun run = run_command({.argv = command,
                                            .env = {},
                                            .directory = fs::current_path().string(),
                                            .timeout_s = static_cast<double>(budget_s),
                                            .host_lock_fd = -1,
                                            .stop = &interrupt_signal()});
        seconds += run.usage.wall_s;
    }
    seconds *= static_cast<double>(arguments.number("inner", 1, 1, 100));
    const double pairs =
        static_cast<double>(budget_s) / std::max(1e-3, seconds) - kUsualAaPairs - 3;
    return static_cast<int>(std::clamp(std::floor(pairs), 10.0, 1000.0));
}

FileJson schedule_of(const Arguments& arguments, const Question& question) {
    const bool lockstep = arguments.has("lockstep");
    if (lockstep && arguments.has("budget")) {
        throw Error("--budget is not for --lockstep, whose pairs hold many turns: give --pairs");
    }
    FileJson schedule = {{"mode", lockstep ? "lockstep" : "process_pairs"}};
    if (arguments.has("seed")) {
        schedule["seed"] = arguments.number("seed", 0, 0, std::numeric_limits<long long>::max());
    }
    const long long budget = arguments.number("budget", 0, 1, 86400);
    schedule["pairs"] = {{"max", arguments.has("budget")
                                     ? pairs_in(arguments, question, budget)
                                     : arguments.number("pairs", kUsualPairs, 10, 1000)}};
    schedule["aa_pairs"] = kUsualAaPairs;
    if (arguments.has("warmup")) schedule["warmup_runs"] = arguments.number("warmup", 1, 0, 100);
    if (arguments.has("inner")) schedule["inner"] = arguments.number("inner", 1, 1, 100);
    if (arguments.has("timeout"))
        schedule["timeout_s"] = arguments.number("timeout", 600, 1, 86400);
    if (arguments.has("profile")) schedule["profile"] = arguments.get("profile");
    return schedule;
}

FileJson file_of(const Arguments& arguments, const Question& question) {
    const std::string metric = arguments.get(
        "metric", arguments.has("metric") ? "" : usual_metric(arguments.get("adapter", "process")));
    check_metric(metric, arguments.get("adapter", "process"));
    const auto shown = [](const Words& command, const std::string& rev) {
        return shorten(rev.empty() ? joined_words(command) : "revision " + rev, 150);
    };
    FileJson file;
    file["$schema"] = "./schema/experiment.v1.schema.json";
    file["id"] = "";
    const char* user = std::getenv("USER");
    file["owner"] = user != nullptr && *user != '\0' ? shorten(user, 64) : "steady ab";
    file["hypothesis"] = {
        {"claim", arguments.get(
                      "claim", fmt::format("{} is {} {} in {}", shown(question.b, question.rev_b),
                                           arguments.has("exit-map") ? "as good as" : "better than",
                                           shown(question.a, question.rev_a), metric))},
        {"because", arguments.get("because", "no reason was given to steady ab")}};
    file["subject"] = {{"program", "outside"}, {"name", label_of(question)}};
    if (!question.repo.empty()) {
        file["subject"]["repo"] = question.repo;
        FileJson build = FileJson::array();
        for (const std::string& line : listed(arguments, "build"))
            build.push_back(split_words(line));
        if (!build.empty()) file["subject"]["build"] = build;
    }
    file["arms"] = {{"A", arm_of(question.a, question.rev_a)},
                    {"B", arm_of(question.b, question.rev_b)}};
    FileJson difference = FileJson::array();
    if (question.rev_a != question.rev_b) difference.push_back("rev");
    if (question.a != question.b) difference.push_back("run");
    file["expect_diff"] = difference;
    file["gates"] = gates_of(arguments, metric);
    file["schedule"] = schedule_of(arguments, question);
    file["id"] = fmt::format("ab-{}-{}", short_name(fs::path(question.a[0]).filename().string()),
                             sha256_hex(file.dump()).substr(0, 8));
    return file;
}

// One argument list a line: a file that people read.
std::string pretty(const FileJson& file) {
    return fmt::format("// Written by `steady ab`; `steady run` asks it again.\n{}\n",
                       file.dump(2));
}

// The file's question, guards included, of two other revisions: a file of its own. A repository
// given here wins over the file's.
std::string write_asked_of(const Arguments& arguments) {
    Question question;
    take_revisions(arguments, question);
    if (question.rev_a.empty() || !arguments.words.empty()) {
        throw Error("--question FILE needs --rev A --rev B or --base REV, and no command");
    }
    for (const Option& option : question_options()) {
        const std::string given(option.name);
        if (given == "repo" || given == "pairs") continue;
        if (!arguments.has(given) && !arguments.lists.contains(given)) continue;
        throw Error(fmt::format("--{} stands for a field of the file: change the file", given));
    }
    const Spec spec = load_spec(arguments.get("question"));
    check_revision_question(spec);
    FileJson file = FileJson::parse(spec.canonical);
    if (arguments.has("repo")) file["subject"]["repo"] = question.repo;
    if (arguments.has("pairs")) {
        file["schedule"]["pairs"]["max"] = arguments.number("pairs", 10, 10, 1000);
    }
    if (arguments.has("profile")) file["schedule"]["profile"] = arguments.get("profile");
    file["arms"]["A"]["rev"] = question.rev_a;
    file["arms"]["B"]["rev"] = question.rev_b;
    file["expect_diff"] = {"rev"};
    std::string stem = spec.id.substr(0, 48);
    while (stem.ends_with('-')) stem.pop_back();
    file["id"] = fmt::format("ab-{}-{}", stem, sha256_hex(file.dump()).substr(0, 8));
    const std::string id = file.at("id").get<std::string>(), path = experiment_file(id);
    const std::string text = pretty(file);
    const SpecResult checked = parse_question(text, id);
    if (!checked.spec) throw Error(describe(checked.errors.at(0), id));
    write_experiment(path, text);
    if (!arguments.has("quiet")) fmt::print(stderr, "file {}\n", path);
    return path;
}

}  // namespace

std::string write_question(const Arguments& arguments) {
    if (arguments.has("adapter") && find_adapter(arguments.get("adapter")) == nullptr) {
        Words names;
        for (const Adapter& adapter : adapters()) names.emplace_back(adapter.name);
        throw Error(fmt::format("--adapter: found \"{}\", allowed {}", arguments.get("adapter"),
                                fmt::join(names, ", ")));
    }
    const FileJson file = file_of(arguments, asked_question(arguments));
    const std::string id = file.at("id").get<std::string>();
    const std::string path = experiment_file(id);
    const std::string text = pretty(file);
    const SpecResult checked = parse_question(text, id);
    if (!checked.spec) {
        Words told;
        for (const SpecError& error : checked.errors) told.push_back(in_words(error, id));
        throw Error(fmt::format("{}", fmt::join(told, "\n")));
    }
    check_program(*checked.spec, arguments, nullptr);
    write_experiment(path, text);
    if (!arguments.has("quiet")) fmt::print(stderr, "file {}\n", path);
    return path;
}

int verb_ab(const Arguments& arguments) {
    check_exit_map(arguments);
    const std::string path =
        arguments.has("question") ? write_asked_of(arguments) : write_question(arguments);
    const Record record = run_here(load_spec(path), arguments);
    nlohmann::json shown = shown_json(record);
    shown["file"] = path;
    print(arguments, shown, fmt::format("{}File: {}", show_text(record), path));
    return verdict_exit(arguments, record);
}

}  // namespace steady
