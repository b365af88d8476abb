// parse_spec: read, check against the table, decode, check rules between fields, hash. Problems of
// all steps are merged in file order.
#include "runner/spec/spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "kernels/base/error.h"
#include "runner/base/json_reader.h"
#include "runner/base/sha256.h"
#include "runner/base/text.h"
#include "runner/spec/spec_decode.h"
#include "runner/spec/spec_rules.h"
#include "runner/spec/spec_sweep.h"

namespace steady {
namespace {

constexpr std::size_t kMaxErrors = 20;

SpecResult failed(std::vector<JsonProblem> problems) {
    std::stable_sort(problems.begin(), problems.end(),
                     [](const JsonProblem& a, const JsonProblem& b) {
                         return std::pair(a.line, a.column) < std::pair(b.line, b.column);
                     });
    SpecResult result;
    for (const JsonProblem& problem : problems) {
        if (result.errors.size() == kMaxErrors) {
            result.warnings.push_back(
                fmt::format("{} more errors are not shown", problems.size() - kMaxErrors));
            break;
        }
        result.errors.push_back({problem.pointer, problem.line, problem.column, problem.found,
                                 problem.allowed, problem.hint});
    }
    return result;
}

template <class Map>
void add_differences(const Map& a, const Map& b, const std::string& prefix,
                     std::vector<std::string>& out) {
    for (const auto& [key, value] : a) {
        const auto other = b.find(key);
        if (other == b.end() || other->second != value) {
            out.push_back(prefix + key);
        }
    }
    for (const auto& [key, value] : b) {
        if (a.count(key) == 0) {
            out.push_back(prefix + key);
        }
    }
}

// "<word>" or "<word: …>", but no markup.
bool is_bracketed(std::string_view text) {
    if (text.size() < 3 || text.front() != '<' || text.back() != '>') return false;
    const std::string_view inner = text.substr(1, text.size() - 2);
    const std::string_view word = inner.substr(0, inner.find(':'));
    return inner.find_first_of("<>") == std::string_view::npos &&
           std::all_of(word.begin(), word.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

// "<claim: …>" as `steady init` writes it today, and the sentences that it wrote before.
bool is_placeholder(const JsonValue& value) {
    static constexpr std::array<std::string_view, 3> kBefore = {
        "What should get faster, in one sentence",
        "Why you believe so: the mechanism, in one sentence",
        "what would have to change before a rejected idea deserves another try"};
    const std::string& text = value.text;
    if (value.kind != JsonValue::Kind::string) return false;
    return is_bracketed(text) || std::find(kBefore.begin(), kBefore.end(), text) != kBefore.end();
}

// Only where people write sentences: a command's argument may well read "<eos>".
void check_placeholders(const JsonValue& root, std::vector<JsonProblem>& problems) {
    static const JsonValue none;
    const JsonValue* hypothesis = root.find("hypothesis");
    if (hypothesis == nullptr) hypothesis = &none;
    for (const auto& [where, value] :
         {std::pair("/owner", root.find("owner")),
          std::pair("/hypothesis/claim", hypothesis->find("claim")),
          std::pair("/hypothesis/because", hypothesis->find("because")),
          std::pair("/retry_if", root.find("retry_if"))}) {
        if (value == nullptr || !is_placeholder(*value)) continue;
        problems.push_back({where, value->line, value->column,
                            fmt::format("the template's placeholder \"{}\"",
                                        escape_line(shorten(value->text, 60))),
                            "your own sentence", ""});
    }
}

// Each experiment that a sweep stands for must be sound by itself: nothing is measured otherwise.
void check_choices(const Spec& spec, const JsonValue& root, std::vector<JsonProblem>& problems) {
    const JsonValue& axes = *resolve_pointer(root, "/sweep/axes");
    const auto report = [&](const std::string& found, const std::string& allowed) {
        problems.push_back({"/sweep/axes", axes.line, axes.column, found, allowed, ""});
    };
    std::size_t number = 0, compared = 0;
    for (const SweepChoice& choice : sweep_choices(*spec.sweep)) {
        ++number;
        if (is_baseline(spec, choice)) continue;
        ++compared;
        for (const SpecResult& one :
             {screening_spec(spec, choice, number), confirmation_spec(spec, choice)}) {
            if (one.spec) continue;
            const SpecError& error = one.errors.at(0);
            report(fmt::format("with {}, {}: {}", escape_line(choice_text(choice)), error.pointer,
                               error.found),
                   error.allowed);
            return;
        }
    }
    if (compared == 0) report("settings that all equal A", "at least one that differs from A");
}

SpecResult parse(std::string_view text, std::string_view stem, bool from_people) {
    JsonDocument document = read_json(text);
    std::vector<JsonProblem> problems = std::move(document.problems);
    if (!document.root) {
        return failed(std::move(problems));
    }
    const JsonValue& root = *document.root;
    check_rule(spec_rules(), root, "", problems);
    SpecResult result;
    Spec spec = decode_spec(root);
    check_joint_rules(spec, root, stem, problems, result.warnings, from_people);
    if (from_people) check_placeholders(root, problems);
    if (!problems.empty()) {
        return failed(std::move(problems));
    }
    spec.canonical = canonical_json(root);
    spec.sha256 = sha256_hex(spec.canonical);
    if (spec.sweep) check_choices(spec, root, problems);
    if (!problems.empty()) {
        return failed(std::move(problems));
    }
    result.spec = std::move(spec);
    return result;
}

}  // namespace

SpecResult parse_spec(std::string_view text, std::string_view stem) {
    return parse(text, stem, false);
}

SpecResult parse_question(std::string_view text, std::string_view stem) {
    return parse(text, stem, true);
}

std::string describe(const SpecError& error, std::string_view file) {
    std::string out = fmt::format(
        "{}:{}:{} {}: found {}, allowed: {}", escape_line(file), error.line, error.column,
        error.pointer.empty() ? "(whole file)" : escape_line(error.pointer), error.found,
        error.allowed);
    return error.hint.empty() ? out : out + "; " + error.hint;
}

std::vector<std::string> arms_difference(const Spec& spec) {
    std::vector<std::string> out;
    const auto a = spec.arms.find("A");
    const auto b = spec.arms.find("B");
    if (a == spec.arms.end() || b == spec.arms.end()) {
        return out;
    }
    add_differences(a->second.kernels, b->second.kernels, "kernels.", out);
    add_differences(a->second.steps, b->second.steps, "steps.", out);
    add_differences(a->second.engine_flags, b->second.engine_flags, "engine_flags.", out);
    add_differences(a->second.env, b->second.env, "env.", out);
    const int threads = spec.subject.threads;
    if (a->second.threads.value_or(threads) != b->second.threads.value_or(threads)) {
        out.emplace_back("threads");
    }
    if (a->second.rev != b->second.rev) {
        out.emplace_back("rev");
    }
    if (a->second.run != b->second.run) {
        out.emplace_back("run");
    }
    if (a->second.args != b->second.args) {
        out.emplace_back("args");
    }
    if (spec.sweep) {
        for (const auto& [path, values] : spec.sweep->axes) {
            // {name} in B's words differs from A's words as it is written.
            if (!path.starts_with("args.")) out.push_back(path);
        }
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

const Gate* deciding_gate(const Spec& spec) {
    for (const Gate& gate : spec.gates) {
        if (gate.role == Role::decides) {
            return &gate;
        }
    }
    return nullptr;
}

const char* name(Level level) {
    constexpr std::array kNames = {"correctness", "micro", "block", "model"};
    return kNames.at(static_cast<std::size_t>(level));
}

const char* name(Role role) {
    constexpr std::array kNames = {"advice", "guard", "decides"};
    return kNames.at(static_cast<std::size_t>(role));
}

const char* name(Mode mode) {
    constexpr std::array kNames = {"duet", "process_pairs", "lockstep"};
    return kNames.at(static_cast<std::size_t>(mode));
}

std::string gpu_device(const ArmSpec& arm) {
    const auto device = arm.engine_flags.find("device");
    const bool gpu = device != arm.engine_flags.end() && device->second.starts_with("cuda");
    return gpu ? device->second : "";
}

std::string gpu_device(const Spec& spec) {
    for (const auto& [letter, arm] : spec.arms) {
        if (std::string device = gpu_device(arm); !device.empty()) return device;
    }
    return "";
}

std::string noise_subject(const Spec& spec) {
    if (!is_outside(spec)) {
        return spec.subject.model;
    }
    return "program " + (spec.subject.name.empty() ? spec.subject.repo : spec.subject.name);
}

}  // namespace steady
