// The mutation test: damaged files, and what must hold however they are read.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>
#include <map>
#include <sstream>

#include "tests/support/gguf_bytes.h"
#include "tests/support/gguf_mutator.h"
#include "tests/support/gguf_use.h"

namespace steady::test {

inline std::string file_bytes(const std::string& name) {
    std::ostringstream out;
    out << std::ifstream(std::string(STEADY_SOURCE_DIR) + "/tests/data/" + name, std::ios::binary)
               .rdbuf();
    return out.str();
}

// `n` mutations of a small model's header and of two vocabularies. Returns how often each outcome
// came; the peak of resident memory must stay below 256 MiB.
inline std::map<Outcome, int> run_mutations(std::uint64_t first_seed, int n) {
    const std::string model = file_bytes("models/tiny-glm.gguf");
    const std::size_t header = FieldWalker(model).header_bytes();
    const std::vector<Mutator> mutators = {Mutator(model.substr(0, header)),
                                           Mutator(file_bytes("tokenizer/vocabulary-youtu.gguf"))};
    std::map<Outcome, int> outcomes;
    for (int i = 0; i < n; ++i) {
        const std::uint64_t seed = first_seed + static_cast<std::uint64_t>(i);
        const bool is_model = seed % 4 != 0;
        const std::string bytes = mutators[is_model ? 0 : 1].mutate(seed);
        const int descriptor = memory_file(bytes);
        // The tensors' bytes are a hole: no copying of megabytes for every mutation.
        if (is_model && bytes.size() >= header / 2) {
            EXPECT_EQ(ftruncate(descriptor, static_cast<off_t>(model.size())), 0);
        }
        SCOPED_TRACE("seed " + std::to_string(seed));
        ++outcomes[use_everything(descriptor)];
    }
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
#ifndef __SANITIZE_ADDRESS__  // its quarantine keeps what was freed
    EXPECT_LT(usage.ru_maxrss, 256 * 1024) << "KiB";
#endif
    return outcomes;
}

}  // namespace steady::test
