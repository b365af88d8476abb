// Where a command finds its things: the project's root, an experiment file, its model and workload,
// the programs beside steady. Names in experiment files never are paths, so that a file means the
// same on every host.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "runner/cli/command_line.h"
#include "runner/pipeline/spec.h"

namespace steady {

// STEADY_ROOT, else the nearest folder above the working directory that holds experiments/ and
// journal/, else the one above the executable, else the working directory.
std::string project_root();

// Reads and decodes an experiment file. Throws Error (exit 2) with every mistake, one a line.
Spec load_spec(const std::string& file);

// experiments/<name>.json under the project's root.
std::string experiment_file(const std::string& name);

// A spec that a command put together, named after its "id". Throws Error with its first mistake.
Spec decode_spec(const nlohmann::json& document);

struct Workload {
    int prompt_tokens = 16;
    int depth = 0;  // positions behind the prompt that repeat its rows in the cache
    std::string text;
};

// experiments/workloads/<name>.json or .txt under the project's root; empty name: "prose".
Workload load_workload(const std::string& name);

// A model's file under --models, STEADY_MODELS, <root>/models or <state>/models.
// "synth-<tiny|small|full>-<architecture>[-b<blocks>]-s<seed>.gguf" is made there on first use:
// random weights in that model's true structure. Throws Error naming where was looked.
std::string resolve_model(const std::string& name, const Arguments& arguments);

// --engine, else steady-engine beside this executable; steady-kernels is the file beside the engine
// whose name differs in that word.
std::string engine_path(const Arguments& arguments);
std::string kernels_path(const std::string& engine);

}  // namespace steady
