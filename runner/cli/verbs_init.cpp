// `steady init` and `steady validate`: write an experiment file and check it.
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "kernels/base/error.h"
#include "runner/cli/verbs.h"
#include "runner/cli/workspace.h"
#include "runner/platform/files.h"
#include "runner/spec/spec_runnable.h"

namespace steady {
namespace {

// {0} id, {1} owner, {2} claim, {3} because, all quoted as JSON. The question is the quickstart's:
// any x86-64 CPU with AVX2 answers it within a minute.
constexpr const char* kTemplate =
    R"(// One question. Replace what stands in <…>; `steady validate` names what is left.
{{
  "$schema": "./schema/experiment.v1.schema.json",
  "id": {0}, // equals the file's name
  "owner": {1},
  "hypothesis": {{
    "claim": {2},
    "because": {3},
    // The change that you expect in B. It is stored before the first pair and scored afterwards.
    "predict": {{ "metric": "decode_tps", "change": ["+100%", "+600%"] }}
  }},
  "subject": {{
    "program": "steady-engine",
    "model": "synth-tiny-glm-4.7-flash-s1.gguf", // a file under a model root; this one is made on need
    "workload": "prose",                         // experiments/workloads/prose.json
    "threads": 2
  }},
  // A is the baseline, B the candidate. Both are the engine's defaults plus these flags:
  // "kernels" (op → variant, see `steady-kernels list`), "steps", "threads", "engine_flags".
  "arms": {{
    "A": {{ "kernels": {{ "q4_0_experts": "reference" }} }},
    "B": {{ "kernels": {{ "q4_0_experts": "avx2" }} }}
  }},
  "expect_diff": ["kernels.q4_0_experts"], // all that differs; another difference makes the run invalid
  // Gates run in this order: correctness, micro, block, model. Only a gate of level model with role
  // "decides" accepts; a "guard" stops a candidate that is worse; "advice" is shown.
  "gates": [
    {{ "id": "tokens", "level": "correctness", "role": "guard",
      "need": {{ "top1_agree": ">=0.9", "kl": "<=0.02" }} }},
    {{ "id": "alone", "level": "micro", "role": "advice", "metric": "op_ns", "op": "q4_0_experts" }},
    {{ "id": "block", "level": "block", "role": "guard", "metric": "block_ns", "margin": "2%" }},
    {{ "id": "decode", "level": "model", "role": "decides", "metric": "decode_tps",
      "goal": "gain", "worth": "5%" }}, // worth: the smallest gain that is worth having
    {{ "id": "tail", "level": "model", "role": "guard", "metric": "token_ns_p90", "margin": "2%" }}
  ],
  "schedule": {{ "mode": "duet", "pairs": {{ "max": 40 }}, "aa_pairs": 6 }}
  // After a reject: "retry_if" says what must change before the idea deserves another try.
}}
)";

// The same for a program of somebody's own: it runs as it is, wherever there is an awk.
constexpr const char* kOutsideTemplate =
    R"(// One question about any program. Replace what stands in <…>; `steady validate` names what is left.
{{
  "$schema": "./schema/experiment.v1.schema.json",
  "id": {0}, // equals the file's name
  "owner": {1},
  "hypothesis": {{
    "claim": {2},
    "because": {3},
    // The change that you expect in B. It is stored before the first pair and scored afterwards.
    "predict": {{ "metric": "wall_seconds", "change": ["+100%", "+1000%"] }}
  }},
  "subject": {{
    "program": "outside",
    "name": {0} // the label under which the noise of this program is kept
    // Two revisions of a repository: give both arms a "rev" ("." is the files as they are), and here
    // "repo": ".",
    // "build": [["cmake", "-B", "{{src}}/build"], ["cmake", "--build", "{{src}}/build"]]
  }},
  // A is the baseline, B the candidate. They may differ in "rev", "run", "args" and "env".
  // A command is a list of arguments; no shell runs.
  "arms": {{
    "A": {{ "run": ["awk", "BEGIN {{ for (i = 0; i < 500000; i++) s += i; print s }}"] }},
    "B": {{ "run": ["awk", "BEGIN {{ n = 500000; print n * (n - 1) / 2 }}"] }}
  }},
  "expect_diff": ["run"], // all that differs; another difference makes the run invalid
  // Proof that a setting took effect: log_has, log_lacks, file_has or counter_at_least.
  // "applied": {{ "B": {{ "log_has": "cache: on" }}, "A": {{ "log_lacks": "cache: on" }} }},
  // What both arms print is compared first. Then one gate decides; a "guard" stops a candidate that
  // is worse, "advice" is shown.
  "gates": [
    // "stdout" may also be "matches:EXPRESSION"; "file": "out.bin" compares a file that both write;
    // "check": ["cmp", "{{out_a}}", "{{out_b}}"] asks a program.
    {{ "id": "same", "level": "correctness", "role": "guard", "need": {{ "exit": 0, "stdout": "equal" }} }},
    // A benchmark that prints its own numbers: "adapter": "google-benchmark", "select": "BM_parse/1024"
    // (runner/adapters/README.md lists the adapters).
    {{ "id": "time", "level": "model", "role": "decides", "metric": "wall_seconds", "worth": "1%" }},
    {{ "id": "memory", "level": "model", "role": "guard", "metric": "peak_memory_bytes", "margin": "5%" }}
  ],
  "schedule": {{ "mode": "process_pairs", "pairs": {{ "max": 100 }}, "aa_pairs": 6, "warmup_runs": 1 }}
  // Several workloads: "matrix" with a gate per cell. Several values of B: "sweep".
  // Both: experiments/README.md.
}}
)";

constexpr const char* kClaim = "<claim: what should get faster, in one sentence>";
constexpr const char* kBecause = "<because: the mechanism, in one sentence>";

std::string quoted(const std::string& text) { return nlohmann::json(text).dump(); }

// --owner, else who is logged in.
std::string owner(const Arguments& arguments) {
    for (const char* variable : {"USER", "LOGNAME"}) {
        const char* user = std::getenv(variable);
        if (user != nullptr && *user != '\0') return arguments.get("owner", user);
    }
    return arguments.get("owner", "me");
}

std::string from_template(const std::string& id, const Arguments& arguments) {
    return fmt::format(fmt::runtime(arguments.has("outside") ? kOutsideTemplate : kTemplate),
                       quoted(id), quoted(owner(arguments)), quoted(arguments.get("claim", kClaim)),
                       quoted(arguments.get("because", kBecause)));
}

// An existing question under a new id, with what else the options change; comments are dropped.
std::string from_file(const std::string& id, const Arguments& arguments) {
    const std::string source = find_experiment(arguments.get("from"));
    static_cast<void>(load_spec(source));  // throws when the file has a mistake
    auto copy = nlohmann::ordered_json::parse(read_file(source), nullptr, true, true);
    copy["$schema"] = "./schema/experiment.v1.schema.json";
    copy["id"] = id;
    copy["owner"] = owner(arguments);
    for (const char* word : {"claim", "because"}) {
        if (arguments.has(word)) copy["hypothesis"][word] = arguments.get(word);
    }
    if (arguments.has("model")) copy["subject"]["model"] = arguments.get("model");
    return copy.dump(2) + "\n";
}

nlohmann::json error_json(const SpecError& error) {
    return {{"pointer", error.pointer}, {"line", error.line},       {"column", error.column},
            {"found", error.found},     {"allowed", error.allowed}, {"hint", error.hint}};
}

}  // namespace

int verb_init(const Arguments& arguments) {
    std::string id = arguments.words[0];
    if (id.ends_with(".json")) id.resize(id.size() - 5);
    const std::string stem = std::filesystem::path(id).filename().string();
    const std::string path = id.find('/') != std::string::npos ? id + ".json" : experiment_file(id);
    if (arguments.has("model") && !arguments.has("from")) {
        throw Error("--model goes with --from; without it, edit subject.model in the file");
    }
    if (arguments.has("outside") && arguments.has("from")) {
        throw Error("--outside is another template: leave it out with --from");
    }
    const std::string text =
        arguments.has("from") ? from_file(stem, arguments) : from_template(stem, arguments);
    const SpecResult result = parse_spec(text, stem);
    if (!result.spec) throw Error(describe(result.errors.at(0), path));
    if (std::filesystem::exists(path) && !arguments.has("force")) {
        throw Error(path + " exists; --force overwrites it");
    }
    write_experiment(path, text);
    const bool filled = parse_question(text, stem).spec.has_value();
    return print(
        arguments, {{"file", path}, {"filled", filled}},
        fmt::format("{}\nnext: {}steady validate {}", path,
                    filled ? "" : "replace the placeholders in <…>, then ", arguments.words[0]));
}

int verb_validate(const Arguments& arguments) {
    nlohmann::json files = nlohmann::json::array();
    std::string text;
    bool good = true;
    for (const std::string& asked : arguments.words) {
        const std::string file = find_experiment(asked);
        SpecResult result =
            parse_question(read_file(file), std::filesystem::path(file).stem().string());
        if (result.spec) {
            result.errors = not_runnable(*result.spec, RunPlace::here);
            if (!result.errors.empty()) result.spec.reset();
        }
        nlohmann::json errors = nlohmann::json::array();
        for (const SpecError& error : result.errors) {
            errors.push_back(error_json(error));
            text += describe(error, file) + "\n";
        }
        for (const std::string& warning : result.warnings) {
            text += fmt::format("{}: note: {}\n", file, warning);
        }
        if (result.spec) {
            text += fmt::format("{}: valid, hash {}\n", file, result.spec->sha256.substr(0, 8));
        }
        files.push_back({{"file", file},
                         {"valid", result.spec.has_value()},
                         {"sha256", result.spec ? result.spec->sha256 : ""},
                         {"errors", errors},
                         {"warnings", result.warnings}});
        good = good && result.spec.has_value();
    }
    if (arguments.has("json")) {
        fmt::print("{}\n", nlohmann::json{{"files", files}}.dump(2));
    } else {
        fmt::print("{}", text);
    }
    return good ? kExitOk : kExitUsage;
}

}  // namespace steady
