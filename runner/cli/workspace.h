// Finds what a command names: the project's root, an experiment file, its model and workload, the
// programs beside steady. Experiment files hold names, never paths, so that a file means the same
// on every host.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runner/cli/command_line.h"
#include "runner/spec/spec.h"

namespace steady {

class StopSignal;

// "a,,b" → a, b
std::vector<std::string> split_list(const std::string& text, char separator = ',');

// Where experiments and entries are written: STEADY_ROOT, else the nearest folder above the working
// directory that holds experiments/ and journal/, else the one above the executable; without a
// project, data_dir() when installed, else the working directory.
std::string project_root();

// Where experiments and workloads are searched: the project's, then those of the installation.
std::vector<std::string> experiment_folders();

// Relative to the working directory when it lies below.
std::string path_from_here(const std::string& file);

// The experiment file that a command's word names: a path; else a name, with or without ".json", of
// a file in one of experiment_folders() or below. The path is
// relative to the working directory when it lies below. Throws Error (exit 2) with the nearest
// name.
std::string find_experiment(const std::string& asked);

// Finds, reads and decodes an experiment file. Throws Error (exit 2) with all mistakes, one per
// line.
Spec load_spec(const std::string& asked);

// experiments/<name>.json under the project's root: where a new one is written.
std::string experiment_file(const std::string& name);

// A question that Steady itself asks, such as that of `demo`: <name>.json in experiment_folders().
std::string own_experiment(const std::string& name);

// Writes it, with the folder where that is missing.
void write_experiment(const std::string& path, const std::string& text);

// A spec that a command put together, named after its "id". Throws Error with its first mistake.
Spec decode_spec(const nlohmann::json& document);

struct Workload {
    int prompt_tokens = 16;
    int depth = 0;  // positions behind the prompt that repeat its rows in the cache
    std::string text;
};

// workloads/<name>.json or .txt in one of experiment_folders(); empty name: "prose".
Workload load_workload(const std::string& name);

// A model's file under --models, STEADY_MODELS, <root>/models or <state>/models.
// "synth-<tiny|small|full>-<architecture>[-realistic][-b<blocks>]-s<seed>.gguf" is made there on
// first use: made weights in that model's true structure, within the budget of made_models.h;
// submitter: whose experiment asks, empty for who sits at this machine; stop ends the making.
// Throws Error with the folders that were searched.
std::string resolve_model(const std::string& name, const Arguments& arguments,
                          const std::string& submitter = {}, const StopSignal* stop = nullptr);

// --engine, else steady-engine beside this executable; steady-kernels is the file beside the engine
// whose name differs in that word.
std::string engine_path(const Arguments& arguments);
std::string kernels_path(const std::string& engine);

}  // namespace steady
