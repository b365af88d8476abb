// Models made on demand, "synth-<size>-<architecture>[-realistic][-b<blocks>]-s<seed>.gguf":
// random weights, or realistic ones (engine/synth), in that model's true structure. Whoever may
// submit can ask for any number of them, so they live under a budget: refused before a byte is
// written when they are too large, and the ones that were used longest ago make room.
// And the user's own model in the place of one of those: whether a gain that was found on made
// weights holds there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runner/cli/command_line.h"
#include "runner/spec/spec.h"

namespace steady {

class StopSignal;

struct MadeModel {
    std::string name, size, architecture, seed;
    bool realistic = false;   // else random weights
    int blocks = 0;           // 0: as many as the model has
    std::uint64_t bytes = 0;  // at most
};

// What the name asks for; nothing when it is no such name.
std::optional<MadeModel> made_model_of(const std::string& name);

struct ModelBudget {
    std::uint64_t all_bytes = std::uint64_t{64} << 30U;
    std::uint64_t submitter_bytes = std::uint64_t{32} << 30U;
    std::string submitter;  // empty: who sits at this machine, without a share of their own
};

// --model-budget and --submitter-budget where the verb has them, else the defaults.
ModelBudget model_budget(const Arguments& arguments, const std::string& submitter);

// <state>/models; the file there counts as used now.
std::string made_models_folder();
void mark_used(const std::string& path);

// Makes the model and returns its path; stop ends it. Throws Error when it goes beyond the budget
// or was stopped (kExitInterrupted), and HostTrouble when the disk has no room for it now.
std::string make_model(const MadeModel& model, const ModelBudget& budget,
                       const Arguments& arguments, const StopSignal* stop = nullptr);

// The question of an experiment file, or of a stored record by its id, with the model of --model in
// place of its own. It is a question of its own: its model is named after the file and the file's
// content, and <state>/models holds a link of that name, so that `rerun` finds it. Throws Error
// where the question has no model, or the engine cannot run the file.
Spec question_on_own_model(const Arguments& arguments);

}  // namespace steady
