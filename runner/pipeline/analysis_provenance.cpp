// Evidence that the change took effect. A flag that changes nothing that runs must not become a
// result, and neither must a comparison of two things that differ in more than the file says.
#include "runner/pipeline/analysis_provenance.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "runner/pipeline/plan.h"

namespace steady {

namespace {

constexpr char kMissing[] = "applied_evidence_missing";
constexpr char kUndeclared[] = "undeclared_difference";

bool declared(const Spec& spec, const std::string& path) {
    return std::any_of(spec.expect_diff.begin(), spec.expect_diff.end(),
                       [&](const std::string& one) { return path_covers(one, path); });
}

// Outside programs report their own settings as flags.
const std::string* setting(const std::map<std::string, std::string>& settings,
                           const std::string& path) {
    auto found = settings.find(path);
    if (found == settings.end()) found = settings.find("engine_flags." + path);
    return found == settings.end() ? nullptr : &found->second;
}

// Whether the arm calls an op where the question looks: in a prompt's pass only if its answer is
// about prompts.
bool calls(const protocol::AppliedArm& arm, const std::string& path, bool in_prompt) {
    const auto found = arm.kernels.find(path.substr(std::string("kernels.").size()));
    if (found == arm.kernels.end()) return false;
    return found->second.calls_per_token > 0 || (in_prompt && found->second.calls_per_pass > 0);
}

bool asks_about_prompts(const Spec& spec) {
    return std::any_of(spec.gates.begin(), spec.gates.end(), [](const Gate& gate) {
        return gate.role == Role::decides && gate.metric == "ttft_ns";
    });
}

bool is_kernel(const std::string& path) { return path.rfind("kernels.", 0) == 0; }

// Whether the arm names the op's variant itself.
bool asks_for(const Spec& spec, const char* name, const std::string& path) {
    const auto arm = spec.arms.find(name);
    return arm != spec.arms.end() &&
           arm->second.kernels.contains(path.substr(std::string("kernels.").size()));
}

// Empty when this one path shows a difference that took effect.
std::string missing_evidence(const Spec& spec, const std::string& path,
                             const protocol::AppliedArm& a, const protocol::AppliedArm& b) {
    const auto settings_a = applied_settings(a), settings_b = applied_settings(b);
    const std::string* in_a = setting(settings_a, path);
    const std::string* in_b = setting(settings_b, path);
    if (in_a == nullptr && in_b == nullptr)
        return fmt::format("{} is not among the settings that the program reports", path);
    if (in_a != nullptr && in_b != nullptr && *in_a == *in_b)
        return fmt::format("{} is {} in both arms", path, *in_a);
    if (!is_kernel(path)) return "";
    const bool prompts = asks_about_prompts(spec);
    const bool nowhere = !calls(a, path, prompts) && !calls(b, path, prompts);
    for (const char* name : {"A", "B"}) {
        const protocol::AppliedArm& arm = *name == 'A' ? a : b;
        const std::string* where = *name == 'A' ? in_a : in_b;
        if (where == nullptr || calls(arm, path, prompts)) continue;
        // Another step calls other ops: then an arm need not call what it does not ask for.
        if (nowhere || a.steps == b.steps || asks_for(spec, name, path))
            return fmt::format("{} = {} is never called", path, *where);
    }
    return "";
}

// A wildcard needs one path below it with evidence.
std::string missing_below(const Spec& spec, const std::string& wildcard,
                          const protocol::AppliedArm& a, const protocol::AppliedArm& b) {
    for (const auto& [path, value] : applied_settings(b))
        if (path_covers(wildcard, path) && missing_evidence(spec, path, a, b).empty()) return "";
    return fmt::format("nothing under {} differs in what runs", wildcard);
}

std::optional<Objection> check_requested(const Spec& spec, const protocol::OpenReply& applied) {
    for (const char* name : {"A", "B"}) {
        const auto asked = spec.arms.find(name);
        if (asked == spec.arms.end()) continue;
        const auto settings = applied_settings(applied.arms.at(name));
        const auto wrong = [&](const std::string& path, const std::string& want) {
            const std::string* got = setting(settings, path);
            return got == nullptr || *got != want;
        };
        const auto objection = [&](const std::string& path, const std::string& want) {
            const std::string* got = setting(settings, path);
            return Objection{kMissing,
                             fmt::format("arm {} asks for {} = {}, but {} runs", name, path, want,
                                         got == nullptr ? "nothing like it" : *got)};
        };
        for (const auto& [op, variant] : asked->second.kernels)
            if (op != "*" && wrong("kernels." + op, variant))
                return objection("kernels." + op, variant);
        for (const auto& [step, alternative] : asked->second.steps)
            if (wrong("steps." + step, alternative)) return objection("steps." + step, alternative);
    }
    return std::nullopt;
}

// Ops that only one arm has follow from a declared step: another dataflow calls other ops.
bool follows_from_step(const Spec& spec, const std::string& path) {
    return is_kernel(path) &&
           std::any_of(spec.expect_diff.begin(), spec.expect_diff.end(),
                       [](const std::string& one) { return one.rfind("steps", 0) == 0; });
}

// The program chose it to fit another op's choice, in both arms: it differs because that one does.
bool follows_another(const std::string& path, const protocol::AppliedArm& a,
                     const protocol::AppliedArm& b) {
    if (!is_kernel(path)) return false;
    const std::string op = path.substr(std::string("kernels.").size());
    const auto in_a = a.kernels.find(op), in_b = b.kernels.find(op);
    return in_a != a.kernels.end() && in_b != b.kernels.end() && in_a->second.reason == "follows" &&
           in_b->second.reason == "follows";
}

// An arm of references takes the steps that go with them; a step that no arm names follows from it.
bool follows_from_references(const Spec& spec, const std::string& path) {
    constexpr std::string_view kSteps = "steps.";
    if (!path.starts_with(kSteps)) return false;
    bool references = false;
    for (const auto& [name, arm] : spec.arms) {
        if (arm.steps.contains(path.substr(kSteps.size()))) return false;
        references = references || arm.kernels.contains("*");
    }
    return references;
}

}  // namespace

std::map<std::string, std::string> applied_settings(const protocol::AppliedArm& arm) {
    std::map<std::string, std::string> settings;
    for (const auto& [op, kernel] : arm.kernels) settings["kernels." + op] = kernel.variant;
    for (const auto& [step, alternative] : arm.steps) settings["steps." + step] = alternative;
    for (const auto& [flag, value] : arm.engine_flags) settings["engine_flags." + flag] = value;
    settings["threads"] = std::to_string(arm.threads);
    return settings;
}

std::optional<Objection> check_declared(const Spec& spec) {
    const std::vector<std::string> difference = arms_difference(spec);
    for (const std::string& path : difference)
        if (!declared(spec, path))
            return Objection{
                kUndeclared,
                fmt::format("the arms differ in {}, which expect_diff does not name", path)};
    for (const std::string& path : spec.expect_diff)
        if (std::none_of(difference.begin(), difference.end(),
                         [&](const std::string& one) { return path_covers(path, one); }))
            return Objection{kMissing, fmt::format("expect_diff names {}, but the arms in the file "
                                                   "do not differ there",
                                                   path)};
    return std::nullopt;
}

std::optional<Objection> check_provenance(const Spec& spec, const protocol::OpenReply& applied) {
    if (const auto objection = check_declared(spec)) return objection;
    const auto a = applied.arms.find("A"), b = applied.arms.find("B");
    if (a == applied.arms.end() || b == applied.arms.end())
        return Objection{kMissing, "the program did not report what both arms run"};
    for (const std::string& path : spec.expect_diff) {
        const bool wildcard = path.find('.') == path.npos
                                  ? path == "kernels" || path == "steps" || path == "engine_flags"
                                  : path.back() == '*';
        const std::string missing = wildcard ? missing_below(spec, path, a->second, b->second)
                                             : missing_evidence(spec, path, a->second, b->second);
        if (!missing.empty()) return Objection{kMissing, missing};
    }
    const auto settings_a = applied_settings(a->second), settings_b = applied_settings(b->second);
    std::map<std::string, std::string> either = settings_a;
    either.insert(settings_b.begin(), settings_b.end());
    for (const auto& [path, value] : either) {
        const auto in_a = settings_a.find(path), in_b = settings_b.find(path);
        const bool both = in_a != settings_a.end() && in_b != settings_b.end();
        if (both && in_a->second == in_b->second) continue;
        if (declared(spec, path) || declared(spec, path.substr(path.find('.') + 1))) continue;
        if (!both && follows_from_step(spec, path)) continue;
        if (both && follows_another(path, a->second, b->second)) continue;
        if (follows_from_references(spec, path)) continue;
        return Objection{kUndeclared,
                         fmt::format("{} is {} in A and {} in B, which expect_diff does not name",
                                     path, in_a == settings_a.end() ? "absent" : in_a->second,
                                     in_b == settings_b.end() ? "absent" : in_b->second)};
    }
    return check_requested(spec, applied);
}

namespace {

std::optional<double> measured(const protocol::CorrectnessReply& reply, const std::string& key) {
    if (key == "top1_agree" || key == "stdout") return reply.top1_agree;
    if (key == "kl") return reply.kl;
    if (key == "kl_max") return reply.kl_max;
    if (key == "max_abs") return reply.max_abs;
    if (key == "rel_l2") return reply.rel_l2;
    return std::nullopt;
}

bool holds(const Bound& bound, const std::string& key, double value) {
    if (key == "stdout") return value >= 1;  // "equal": every compared position agrees
    switch (bound.sense) {
        case Bound::Sense::at_most:
            return value <= bound.value;  // NaN fails
        case Bound::Sense::at_least:
            return value >= bound.value;
        case Bound::Sense::equal:
            return value == bound.value;
    }
    return false;
}

}  // namespace

std::vector<GateResult> check_correctness(const Spec& spec, const protocol::CorrectnessReply* reply,
                                          const std::string& failure) {
    std::vector<GateResult> results;
    for (const Gate& gate : spec.gates) {
        if (gate.level != Level::correctness) continue;
        GateResult result;
        result.id = gate.id;
        result.metric = gate.metric.empty() ? "output" : gate.metric;
        result.level = gate.level;
        result.role = gate.role;
        result.outcome = "pass";
        if (!failure.empty()) {
            result.outcome = "fail";
            result.detail = fmt::format("B gave no output: {}", failure);
        } else if (reply == nullptr) {
            result.outcome = "open";
            result.detail = "not measured yet";
        } else if (reply->non_finite) {
            result.outcome = "fail";
            result.detail = "B's output holds NaN or infinity";
        } else {
            std::vector<std::string> parts;
            for (const auto& [key, bound] : gate.need) {
                const auto value = measured(*reply, key);
                const bool good = value && holds(bound, key, *value);
                if (!good) result.outcome = "fail";
                parts.push_back(value ? fmt::format("{} {:.4g} ({}{})", key, *value, bound.text,
                                                    good ? "" : " needed")
                                      : fmt::format("{} is not measured", key));
            }
            result.detail =
                fmt::format("{} over {} positions", fmt::join(parts, ", "), reply->positions);
        }
        results.push_back(std::move(result));
    }
    return results;
}

}  // namespace steady
