// A file opened for decoding: its numbers, its weights in memory, and arms over them. Arms are made
// together, so that their plans are known before one byte is read and layouts are shared.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/gguf/file.h"
#include "engine/model/arm.h"
#include "engine/model/config.h"
#include "engine/model/device_memory.h"
#include "engine/model/weight_store.h"

namespace steady {

struct Model {
    GgufFile file;
    Config config;
    ModelUses uses;
    WeightStore store;
    DeviceWeights device_weights;

    // weights_descriptor: a memory file for the weights that outlives this process, or -1.
    // Error: a file that cannot be read, or is not such a model.
    explicit Model(const std::string& path, int weights_descriptor = -1);

    // Resolves the plans, loads the weights that they need and makes one arm for each request.
    std::vector<std::unique_ptr<Arm>> make_arms(const std::vector<ArmOptions>& requests,
                                                std::int64_t context);
};

}  // namespace steady
