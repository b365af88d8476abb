// The memory file with a model's weights: the first engine process packs them into it, all others
// map them. It outlives an experiment, so that the next one on the same model starts in
// milliseconds instead of reading the model again.
#pragma once

#include <cstdint>
#include <optional>
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
    // Copies the weights to other memory: a new file, its parts placed in an order that the seed
    // decides, each part of the old one given back at once. No process may have the file mapped.
    // Returns the seconds that it took; nothing when no weights lie there. When the system gives no
    // memory the file is empty afterwards, and the next engine loads them again.
    std::optional<double> redraw(std::uint64_t seed);
    // A number that names where the weights lie; another after each renew and redraw.
    std::uint32_t placement() const { return placement_; }
    // Weights lie there since an experiment before the one that has begun.
    bool inherited() const { return inherited_ && filled(); }
    // Gives the memory back once no process maps it.
    void drop() { file_.reset(); }

private:
    Fd new_file() const;
    void placed_anew();

    Fd file_;
    bool inherited_ = false;
    std::uint32_t placement_ = 0;
    std::uint64_t model_bytes_ = 0;
};

}  // namespace steady
