// `steady init` and `steady validate`: from an empty page to a file without mistakes.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/protocol/error.h"
#include "runner/cli/verbs.h"
#include "runner/cli/workspace.h"
#include "runner/edges/files.h"

namespace steady {
namespace {

// {0} is the id. Every line says what to put there; the file is valid as it stands.
constexpr const char* kTemplate =
    R"(// One question. Say what you believe before you look; `steady validate` checks this file.
{{
  "$schema": "./schema/experiment.v1.schema.json",
  "id": "{0}", // equals the file's name
  "owner": "you",
  "hypothesis": {{
    "claim": "What should get faster, in one sentence",
    "because": "Why you believe so: the mechanism, in one sentence",
    "predict": {{ "metric": "decode_tps", "change": ["+1%", "+5%"] }} // scored after the verdict
  }},
  "subject": {{
    "program": "steady-engine",
    "model": "synth-small-glm-4.7-flash-s1.gguf", // a file under a model root; this one is made on need
    "workload": "prose",                          // experiments/workloads/prose.json
    "threads": 2
  }},
  // A is the baseline, B the candidate. Both are the engine's defaults plus these flags:
  // "kernels" (op → variant, see `steady-kernels list`), "steps", "threads", "engine_flags".
  "arms": {{
    "A": {{ "kernels": {{ "q4_0_experts": "reference" }} }},
    "B": {{ "kernels": {{ "q4_0_experts": "avx2" }} }}
  }},
  "expect_diff": ["kernels.q4_0_experts"], // exactly what differs; anything else makes the run invalid
  // The ladder: correctness → micro → block → model. Only a "decides" gate at level model accepts.
  "gates": [
    {{ "id": "tokens", "level": "correctness", "role": "guard",
      "need": {{ "top1_agree": ">=0.95", "kl": "<=0.01" }} }},
    {{ "id": "alone", "level": "micro", "role": "advice", "metric": "op_ns", "op": "q4_0_experts" }},
    {{ "id": "block", "level": "block", "role": "guard", "metric": "block_ns", "margin": "2%" }},
    {{ "id": "decode", "level": "model", "role": "decides", "metric": "decode_tps",
      "goal": "gain", "worth": "1%" }}, // worth: the smallest gain worth having
    {{ "id": "tail", "level": "model", "role": "guard", "metric": "token_ns_p90", "margin": "2%" }}
  ],
  "schedule": {{ "mode": "duet", "pairs": {{ "max": 50 }}, "aa_pairs": 6 }},
  "retry_if": "what would have to change before a rejected idea deserves another try"
}}
)";

nlohmann::json error_json(const SpecError& error) {
    return {{"pointer", error.pointer}, {"line", error.line},       {"column", error.column},
            {"found", error.found},     {"allowed", error.allowed}, {"hint", error.hint}};
}

}  // namespace

int verb_init(const Arguments& arguments) {
    std::string id = arguments.words[0];
    if (id.ends_with(".json")) id.resize(id.size() - 5);
    const std::string stem = std::filesystem::path(id).filename().string();
    const std::string path = id.find('/') != std::string::npos
                                 ? id + ".json"
                                 : project_root() + "/experiments/" + id + ".json";
    const std::string text = fmt::format(kTemplate, stem);
    const SpecResult result = parse_spec(text, stem);
    if (!result.spec) throw Error(describe(result.errors.at(0), path));
    if (std::filesystem::exists(path) && !arguments.has("force")) {
        throw Error(path + " exists; --force writes over it");
    }
    write_file_atomic(path, text);
    if (arguments.has("json")) {
        fmt::print("{}\n", nlohmann::json{{"file", path}}.dump(2));
    } else {
        fmt::print("{}\nnext: edit it, then steady validate {}\n", path, path);
    }
    return kExitOk;
}

int verb_validate(const Arguments& arguments) {
    nlohmann::json files = nlohmann::json::array();
    std::string text;
    bool good = true;
    for (const std::string& file : arguments.words) {
        const SpecResult result =
            parse_spec(read_file(file), std::filesystem::path(file).stem().string());
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
