// Checks that the change took effect: a flag that changes nothing must not become a result, and
// neither must a comparison of arms that differ in more than the file declares.
#include "runner/judge/analysis_provenance.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "runner/plan/plan.h"

namespace steady {

namespace {

constexpr char kMissing[] = "applied_evidence_missing";
constexpr char kUndeclared[] = "undeclared_difference";

bool declared(const Spec& spec, const std::string& path) {
    return std::any_of(spec.expect_diff.begin(), spec.expect_diff.end(),
                       [&](const std::string& one) { return path_covers(one, path); });
}

using Settings = std::map<std::string, RanSetting>;

const RanSetting* setting(const Settings& settings, const std::string& path) {
    const auto found = settings.find(path);
    return found == settings.end() ? nullptr : &found->second;
}

bool asks_about_prompts(const Spec& spec) {
    return std::any_of(spec.gates.begin(), spec.gates.end(), [](const Gate& gate) {
        return gate.role == Role::decides && gate.metric == "ttft_ns";
    });
}

// Whether the setting is met where the question looks: in a first step only if its answer is about
// first steps.
bool reached(const RanSetting* one, bool in_first) {
    return one != nullptr && (one->used || (in_first && one->used_at_first));
}

bool is_kernel(const std::string& path) { return path.rfind("kernels.", 0) == 0; }

// Whether the arm names the op's variant itself.
bool asks_for(const Spec& spec, const char* name, const std::string& path) {
    const auto arm = spec.arms.find(name);
    return arm != spec.arms.end() && is_kernel(path) &&
           arm->second.kernels.contains(path.substr(std::string("kernels.").size()));
}

// Another dataflow calls other ops.
bool equal_steps(const Settings& a, const Settings& b) {
    const auto steps = [](const Settings& settings) {
        std::map<std::string, std::string> found;
        for (const auto& [path, one] : settings)
            if (path.starts_with("steps.")) found[path] = one.value;
        return found;
    };
    return steps(a) == steps(b);
}

// Empty when this one path shows a difference that took effect.
std::string missing_evidence(const Spec& spec, const std::string& path, const Settings& a,
                             const Settings& b) {
    const RanSetting *in_a = setting(a, path), *in_b = setting(b, path);
    if (in_a == nullptr && in_b == nullptr)
        return fmt::format("{} is not among the settings that the program reports", path);
    if (in_a != nullptr && in_b != nullptr && in_a->value == in_b->value)
        return fmt::format("{} is {} in both arms", path, in_a->value);
    const bool prompts = asks_about_prompts(spec);
    const bool nowhere = !reached(in_a, prompts) && !reached(in_b, prompts);
    for (const char* name : {"A", "B"}) {
        const RanSetting* where = *name == 'A' ? in_a : in_b;
        if (where == nullptr || reached(where, prompts)) continue;
        // With other steps an arm need not call what it does not ask for.
        if (nowhere || equal_steps(a, b) || asks_for(spec, name, path))
            return fmt::format("{} = {} is never called", path, where->value);
    }
    return "";
}

// A wildcard needs one path below it with evidence.
std::string missing_below(const Spec& spec, const std::string& wildcard, const Settings& a,
                          const Settings& b) {
    Settings either = b;
    either.insert(a.begin(), a.end());
    for (const auto& [path, one] : either)
        if (path_covers(wildcard, path) && missing_evidence(spec, path, a, b).empty()) return "";
    return fmt::format("nothing under {} differs in what runs", wildcard);
}

bool is_wildcard(const std::string& path) {
    if (path.find('.') != path.npos) return path.back() == '*';
    return path == "kernels" || path == "steps" || path == "engine_flags" || path == "env";
}

std::optional<Objection> check_requested(const Spec& spec, const ProgramReport& applied) {
    for (const char* name : {"A", "B"}) {
        const auto asked = spec.arms.find(name);
        if (asked == spec.arms.end()) continue;
        const Settings& settings = applied.arms.at(name).settings;
        const auto wrong = [&](const std::string& path, const std::string& want) {
            const RanSetting* got = setting(settings, path);
            return got == nullptr || got->value != want;
        };
        const auto objection = [&](const std::string& path, const std::string& want) {
            const RanSetting* got = setting(settings, path);
            return Objection{kMissing,
                             fmt::format("arm {} asks for {} = {}, but {} runs", name, path, want,
                                         got == nullptr ? "nothing like it" : got->value)};
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

// The program chose it to fit another choice, in both arms: it differs because that one does.
bool follows_another(const RanSetting* a, const RanSetting* b) {
    return a != nullptr && b != nullptr && a->follows && b->follows;
}

// A choice that no arm ran, as that of a CPU's op where a GPU decodes, makes no difference.
bool called_by_none(const std::string& path, const RanSetting* a, const RanSetting* b) {
    const auto uncalled = [](const RanSetting* one) {
        return one == nullptr || !reached(one, true);
    };
    return is_kernel(path) && uncalled(a) && uncalled(b);
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

std::optional<Objection> check_provenance(const Spec& spec, const ProgramReport& applied) {
    if (const auto objection = check_declared(spec)) return objection;
    if (!applied.refused.empty()) return Objection{applied.refused, applied.detail};
    const auto a = applied.arms.find("A"), b = applied.arms.find("B");
    if (a == applied.arms.end() || b == applied.arms.end())
        return Objection{kMissing, "the program did not report what both arms run"};
    const Settings &in_a = a->second.settings, &in_b = b->second.settings;
    for (const std::string& path : spec.expect_diff) {
        const std::string missing = is_wildcard(path) ? missing_below(spec, path, in_a, in_b)
                                                      : missing_evidence(spec, path, in_a, in_b);
        if (!missing.empty()) return Objection{kMissing, missing};
    }
    Settings either = in_a;
    either.insert(in_b.begin(), in_b.end());
    for (const auto& [path, one] : either) {
        const RanSetting *left = setting(in_a, path), *right = setting(in_b, path);
        const bool both = left != nullptr && right != nullptr;
        if (both && left->value == right->value) continue;
        if (declared(spec, path) || declared(spec, path.substr(path.find('.') + 1))) continue;
        if (!both && follows_from_step(spec, path)) continue;
        if (follows_another(left, right)) continue;
        if (called_by_none(path, left, right)) continue;
        if (follows_from_references(spec, path)) continue;
        return Objection{kUndeclared,
                         fmt::format("{} is {} in A and {} in B, which expect_diff does not name",
                                     path, left == nullptr ? "absent" : left->value,
                                     right == nullptr ? "absent" : right->value)};
    }
    return check_requested(spec, applied);
}

std::optional<Objection> check_proofs(const OutputsReport& outputs) {
    for (const Proof& proof : outputs.proofs)
        if (!proof.held)
            return Objection{kMissing, fmt::format("arm {} does not prove its setting: {}",
                                                   proof.arm, proof.detail)};
    return std::nullopt;
}

namespace {

std::optional<double> measured(const OutputsReport& outputs, const std::string& key) {
    const auto found = outputs.distances.find(key);
    return found == outputs.distances.end() ? std::nullopt : std::optional(found->second);
}

bool holds(const Bound& bound, double value) {
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

// What an engine's gate bounds: distances between both arms' outputs.
void judge_distances(const Gate& gate, const OutputsReport& outputs, GateResult& result) {
    std::vector<std::string> parts;
    for (const auto& [key, bound] : gate.need) {
        const auto value = measured(outputs, key);
        const bool good = value && holds(bound, *value);
        if (!good) result.outcome = "fail";
        parts.push_back(
            value ? fmt::format("{} {:.4g} ({}{})", key, *value, bound.text, good ? "" : " needed")
                  : fmt::format("{} is not measured", key));
    }
    result.detail = fmt::format("{} over {} positions", fmt::join(parts, ", "), outputs.positions);
}

// What a command's gate needs: each thing was looked at when the outputs were there.
void judge_checks(const Gate& gate, const OutputsReport& outputs, GateResult& result) {
    std::vector<std::string> good, bad;
    for (const OutputCheck& check : outputs.checks)
        if (check.gate == gate.id) (check.held ? good : bad).push_back(check.detail);
    if (good.empty() && bad.empty()) bad.emplace_back("nothing of this gate was looked at");
    if (!bad.empty()) result.outcome = "fail";
    result.detail = fmt::format("{}", fmt::join(bad.empty() ? good : bad, "; "));
}

}  // namespace

std::vector<GateResult> check_correctness(const Spec& spec, const OutputsReport* outputs,
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
            result.detail = fmt::format("B gave no usable output: {}", failure);
        } else if (outputs == nullptr) {
            result.outcome = "open";
            result.detail = "not measured yet";
        } else if (outputs->unusable) {
            result.outcome = "fail";
            result.detail = "B's output holds NaN or infinity";
        } else if (!outputs->distances.empty()) {
            judge_distances(gate, *outputs, result);
        } else {
            judge_checks(gate, *outputs, result);
        }
        results.push_back(std::move(result));
    }
    return results;
}

}  // namespace steady
