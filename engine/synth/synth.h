// Made model files with the true geometry and mix of number formats of the three models, so that
// speed can be measured and the engine tested without the trained weights. The weights are random,
// or random with what trained ones are known for (realistic.h). They are scaled so that activations
// and logits stay sane through any number of blocks; the same options give the same bytes on every
// machine, whatever the number of threads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/formats/formats.h"

namespace steady {

enum class SynthSize {
    full,   // the model's true sizes
    small,  // 100 to 300 MB: what a token reads is more than a last-level cache of 32 MB holds
    tiny,   // a few MB, made in milliseconds; for tests and the demo
};

enum class SynthWeights {
    random,     // as all records before 2026-11-25
    realistic,  // outlier channels, balanced routers with near-ties: realistic.h
};

struct SynthOptions {
    std::string arch{};  // "glm-4.7-flash", "deepseek-v2-lite" or "youtu-llm-2b"
    SynthSize size = SynthSize::full;
    SynthWeights weights = SynthWeights::random;
    int n_blocks = 0;  // 0: as many as the model has
    std::uint64_t seed = 1;
    std::string out{};  // path; written beside itself and renamed when complete
    int n_threads = 0;  // 0: all CPUs
};

struct SynthTensor {
    std::string name;
    Type type;
    std::vector<std::uint64_t> dims;  // dims[0] is the row length
    float mean = 0.0F;
    float deviation = 1.0F;
    // Columns whose values are multiplied by `factor`; of f32 tensors only.
    std::vector<std::uint32_t> channels{};
    float factor = 1.0F;
};

struct SynthResult {
    std::uint64_t file_bytes = 0;
    std::uint64_t n_tensors = 0;
};

const std::vector<std::string>& synth_architectures();

// The tensors that synthesise would write, in file order. Error for an unknown architecture or a
// number of blocks outside of 1..1024.
std::vector<SynthTensor> synth_tensors(const SynthOptions& options);

// Writes the file. Error if the options are wrong or the disk refuses; then no file is left.
SynthResult synthesise(const SynthOptions& options);

}  // namespace steady
