// Verbs about files: inspect what a model holds, make a random one.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "engine/gguf/inspect.h"
#include "engine/synth/synth.h"
#include "engine/verbs/verbs.h"
#include "kernels/base/error.h"

namespace steady {

int run_inspect(const Arguments& arguments) {
    const GgufFile file = GgufFile::open(arguments.positionals[0]);
    fmt::print("{}\n", arguments.json() ? inspect_json(file) : inspect_text(file));
    return kExitOk;
}

int run_synth(const Arguments& arguments) {
    SynthOptions options;
    options.arch = arguments.text("--arch");
    options.out = arguments.text("--out");
    if (options.arch.empty() || options.out.empty()) {
        std::string all;
        for (const std::string& arch : synth_architectures()) all += " " + arch;
        throw Error{"synth: give --arch and --out FILE; architectures:" + all};
    }
    const std::string size = arguments.text("--size", "full");
    if (size != "full" && size != "small" && size != "tiny") {
        throw Error{fmt::format("--size: '{}'; allowed full, small, tiny", size)};
    }
    options.size = size == "full"    ? SynthSize::full
                   : size == "small" ? SynthSize::small
                                     : SynthSize::tiny;
    const std::string weights = arguments.text("--weights", "random");
    if (weights != "random" && weights != "realistic") {
        throw Error{fmt::format("--weights: '{}'; allowed random, realistic", weights)};
    }
    options.weights = weights == "random" ? SynthWeights::random : SynthWeights::realistic;
    options.n_blocks = static_cast<int>(arguments.number("--blocks", 1, 1024, 0));
    options.seed = static_cast<std::uint64_t>(arguments.number("--seed", 0, INT64_MAX, 1));
    options.n_threads = static_cast<int>(arguments.number("--threads", 1, 1024, 0));
    const SynthResult result = synthesise(options);
    if (arguments.json()) {
        const nlohmann::ordered_json reply{{"file", options.out},
                                           {"file_bytes", result.file_bytes},
                                           {"n_tensors", result.n_tensors}};
        fmt::print("{}\n", reply.dump());
    } else {
        fmt::print("{}: {} tensors, {:.3f} GB\n", options.out, result.n_tensors,
                   static_cast<double>(result.file_bytes) / 1e9);
    }
    return kExitOk;
}

}  // namespace steady
