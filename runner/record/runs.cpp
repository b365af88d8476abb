// Counting verdicts by class of machine, and the sentence that says what the counts mean.
#include "runner/record/runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "runner/base/json_fields.h"
#include "runner/record/record_json.h"

namespace steady {
namespace {

struct Answers {
    int accepts = 0, rejects = 0;
    int all() const { return accepts + rejects; }
};

bool is_answer(const Run& run) { return run.verdict == "accept" || run.verdict == "reject"; }

std::string counted(int n, const char* one, const char* many) {
    return fmt::format("{} {}", n, n == 1 ? one : many);
}

// "intel-amx" fits "intel-6-amx": same vendor and instruction set.
bool fits(const std::string& old, const std::string& with_family) {
    const std::size_t dash = old.find('-');
    if (dash == std::string::npos || old.find('-', dash + 1) != std::string::npos) return false;
    const std::size_t family = with_family.find('-');
    const std::size_t level = with_family.rfind('-');
    return family != std::string::npos && level > family &&
           old.substr(0, dash) == with_family.substr(0, family) &&
           old.substr(dash) == with_family.substr(level);
}

std::string known_class(const std::string& own, const std::set<std::string>& all) {
    const std::string* only = nullptr;
    for (const std::string& other : all) {
        if (!fits(own, other)) continue;
        if (only != nullptr) return own;
        only = &other;
    }
    return only == nullptr ? own : *only;
}

std::map<std::string, Answers> by_class(const std::vector<Run>& runs) {
    std::set<std::string> all;
    for (const Run& run : runs) all.insert(machine_class(run));
    std::map<std::string, Answers> out;
    for (const Run& run : runs) {
        if (!is_answer(run)) continue;
        Answers& of = out[known_class(machine_class(run), all)];
        ++(run.verdict == "accept" ? of.accepts : of.rejects);
    }
    return out;
}

std::string verdicts_of(const std::string& where, const Answers& answers) {
    std::vector<std::string> parts;
    if (answers.accepts > 0) parts.push_back(counted(answers.accepts, "accept", "accepts"));
    if (answers.rejects > 0) parts.push_back(counted(answers.rejects, "reject", "rejects"));
    return fmt::format("{} on {}", fmt::join(parts, " and "), where);
}

// The two runs of one class whose intervals lie furthest apart, or nothing where all overlap: the
// verdict may repeat while the size of the effect does not.
std::string sizes_apart(const std::vector<Run>& runs) {
    const Run *lowest = nullptr, *highest = nullptr;
    double gap = 0;
    for (const Run& a : runs) {
        for (const Run& b : runs) {
            if (!is_answer(a) || !is_answer(b) || !a.interval.high || !b.interval.low ||
                machine_class(a) != machine_class(b) || a.metric != b.metric ||
                *b.interval.low - *a.interval.high <= gap) {
                continue;
            }
            gap = *b.interval.low - *a.interval.high;
            lowest = &a;
            highest = &b;
        }
    }
    if (lowest == nullptr || !lowest->interval.low || !highest->interval.high) return "";
    const auto range = [](const Interval& one) {
        return fmt::format("{:+.1f} to {:+.1f} %", 100 * *one.low, 100 * *one.high);
    };
    return fmt::format("; the sizes differ: {} and {} do not overlap", range(lowest->interval),
                       range(highest->interval));
}

std::string sentence(const RunsSummary& summary, const std::map<std::string, Answers>& classes) {
    std::vector<std::string> parts;
    for (const auto& [where, answers] : classes) {
        const bool split = answers.accepts > 0 && answers.rejects > 0;
        if (summary.agreement == Agreement::differs_by_class || split) {
            parts.push_back(verdicts_of(where, answers));
        }
    }
    switch (summary.agreement) {
        case Agreement::undecided:
            return "no verdict that answers";
        case Agreement::never_repeated:
            return "never repeated";
        case Agreement::agrees:
            return fmt::format("agrees ({}, {})", counted(summary.runs, "run", "runs"),
                               counted(summary.classes, "class", "classes"));
        case Agreement::differs_by_class:
            return fmt::format("differs by CPU class: {}", fmt::join(parts, ", "));
        case Agreement::differs_on_one_class:
            return fmt::format("differs on one class: {}", fmt::join(parts, ", "));
    }
    return "";
}

}  // namespace

const std::string& machine_class(const Run& run) {
    static const std::string unknown = "unknown";
    if (!run.gpu.empty()) return run.gpu;
    return run.cpu_class.empty() ? unknown : run.cpu_class;
}

std::string gpu_name(const std::string& device, const std::map<std::string, std::string>& machine) {
    if (!device.starts_with("cuda")) return "";
    const std::size_t colon = device.find(':');
    const std::string n = colon == std::string::npos ? "0" : device.substr(colon + 1);
    const auto found = machine.find("gpu" + n + "_name");
    return found == machine.end() ? "" : found->second;
}

std::string noise_gpu(const std::string& device,
                      const std::map<std::string, std::string>& machine) {
    if (device.empty()) return "";
    const std::string name = gpu_name(device, machine);
    return name.empty() ? "unknown" : name;
}

const char* name(Agreement agreement) {
    switch (agreement) {
        case Agreement::undecided:
            return "undecided";
        case Agreement::never_repeated:
            return "never_repeated";
        case Agreement::agrees:
            return "agrees";
        case Agreement::differs_by_class:
            return "differs_by_class";
        case Agreement::differs_on_one_class:
            return "differs_on_one_class";
    }
    return "";
}

RunsSummary summary_of(const std::vector<Run>& runs) {
    RunsSummary out;
    const std::map<std::string, Answers> classes = by_class(runs);
    Answers total;
    bool split = false;
    for (const auto& [where, answers] : classes) {
        total.accepts += answers.accepts;
        total.rejects += answers.rejects;
        split |= answers.accepts > 0 && answers.rejects > 0;
    }
    out.runs = total.all();
    out.classes = static_cast<int>(classes.size());
    out.silent = static_cast<int>(runs.size()) - out.runs;
    const bool mixed = total.accepts > 0 && total.rejects > 0;
    out.agreement = out.runs == 0   ? Agreement::undecided
                    : out.runs == 1 ? Agreement::never_repeated
                    : split         ? Agreement::differs_on_one_class
                    : mixed         ? Agreement::differs_by_class
                                    : Agreement::agrees;
    out.text = sentence(out, classes);
    if (out.agreement == Agreement::agrees) out.text += sizes_apart(runs);
    if (out.silent > 0 && out.runs > 0) {
        out.text += fmt::format("; {} without an answer", counted(out.silent, "run", "runs"));
    }
    return out;
}

nlohmann::json run_json(const Run& run) {
    using record_fields::encode;
    const auto word = [](const std::string& text) {
        return text.empty() ? nlohmann::json() : nlohmann::json(text);
    };
    return {{"id", word(run.id)},
            {"run", run.run_id},
            {"published", run.published},
            {"file", word(run.file)},
            {"spec_sha256", run.spec_sha},
            {"record_sha256", word(run.record_sha)},
            {"state", run.state},
            {"verdict", word(run.verdict)},
            {"reason", word(run.reason)},
            {"metric", word(run.metric)},
            {"effect", encode(run.effect)},
            {"interval", interval_json(run.interval)},
            {"pairs", run.pairs},
            {"host", run.host},
            {"cpu", run.cpu},
            {"cpu_class", run.cpu_class},
            {"gpu", word(run.gpu)},
            {"class", machine_class(run)},
            {"revision", run.revision},
            {"submitted_at", run.submitted_at},
            {"decided_at", run.decided_at}};
}

nlohmann::json runs_json(const std::vector<Run>& runs) {
    const RunsSummary summary = summary_of(runs);
    nlohmann::json rows = nlohmann::json::array();
    for (const Run& run : runs) rows.push_back(run_json(run));
    return {{"summary", summary.text}, {"agreement", name(summary.agreement)},
            {"answers", summary.runs}, {"classes", summary.classes},
            {"count", runs.size()},    {"runs", std::move(rows)}};
}

}  // namespace steady
