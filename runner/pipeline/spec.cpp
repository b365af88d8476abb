// parse_spec: read, check against the table, decode, check what joins fields, then hash. Problems
// of all steps are merged in file order, so that a person mends the file from top to bottom.
#include "runner/pipeline/spec.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <memory>

#include "engine/protocol/error.h"
#include "runner/pipeline/json_reader.h"
#include "runner/pipeline/spec_decode.h"
#include "runner/pipeline/spec_rules.h"
#include "runner/pipeline/text.h"

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

}  // namespace

std::string sha256_hex(std::string_view bytes) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1) {
        throw Error{"SHA-256 failed in the crypto library", kExitInternal};
    }
    std::string out;
    for (unsigned i = 0; i < size; ++i) {
        out += fmt::format("{:02x}", digest[i]);
    }
    return out;
}

SpecResult parse_spec(std::string_view text, std::string_view stem) {
    JsonDocument document = read_json(text);
    std::vector<JsonProblem> problems = std::move(document.problems);
    if (!document.root) {
        return failed(std::move(problems));
    }
    const JsonValue& root = *document.root;
    check_rule(spec_rules(), root, "", problems);
    SpecResult result;
    Spec spec = decode_spec(root);
    check_joint_rules(spec, root, stem, problems, result.warnings);
    if (!problems.empty()) {
        return failed(std::move(problems));
    }
    spec.canonical = canonical_json(root);
    spec.sha256 = sha256_hex(spec.canonical);
    result.spec = std::move(spec);
    return result;
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
    if (a->second.args != b->second.args) {
        out.emplace_back("args");
    }
    if (spec.sweep) {
        for (const auto& [path, values] : spec.sweep->axes) {
            out.push_back(path);
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

const char* name(Mode mode) { return mode == Mode::duet ? "duet" : "process_pairs"; }

}  // namespace steady
