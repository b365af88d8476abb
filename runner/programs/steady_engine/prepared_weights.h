// The memory file with a model's weights: the first engine process packs them into it, all others
// map them. It outlives an experiment, so that the next one on the same model starts in
// milliseconds instead of reading the model again.
#pragma once

#include <cstdint>
#include <string>

#include "runner/platform/files.h"

namespace steady {

class PreparedWeights {
public:
    // An experiment with this model begins. A file that layouts of earlier experiments have filled
    // is given back. Error: the system gives no memory file.
    void begin(const std::string& model_path);
    // For the engine processes of the experiment that has begun.
    int descriptor() const { return file_.get(); }
    // Weights lie there, perhaps of another model, or in layouts that this experiment does not
    // need: when an engine refuses to open on them, renew and ask again.
    bool filled() const;
    // A new, empty file for the experiment that has begun.
    void renew();
    // Gives the memory back once no process maps it.
    void drop() { file_.reset(); }

private:
    Fd file_;
    std::uint64_t model_bytes_ = 0;
};

}  // namespace steady
