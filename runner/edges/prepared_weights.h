// The memory file with a model's weights: the first engine process packs them into it, all others
// map them. It outlives an experiment, so that the next one on the same model starts in
// milliseconds instead of reading the model again.
#pragma once

#include <cstdint>
#include <string>

#include "runner/edges/files.h"

namespace steady {

class PreparedWeights {
public:
    // An experiment with this model and this engine begins. What another model or another build
    // left is given back, and so is a file that layouts of earlier experiments have filled. Error:
    // the system gives no memory file.
    void begin(const std::string& model_path, const std::string& engine_path);
    // For the engine processes of the experiment that has begun.
    int descriptor() const { return file_.get(); }
    // Weights lie there, perhaps in layouts that this experiment does not need.
    bool filled() const;
    // A new, empty file for the experiment that has begun.
    void renew();
    // Gives the memory back once no process maps it.
    void drop() { file_.reset(); }

private:
    Fd file_;
    std::string identity_;
    std::uint64_t model_bytes_ = 0;
};

}  // namespace steady
