// Damaged files: no crash, no hang, no memory beyond 256 MiB. STEADY_MUTATIONS=N makes N of them,
// STEADY_SEED=N begins elsewhere; a failure prints the seed that repeats it.
#include <cstdlib>

#include "tests/support/gguf_mutation_run.h"

namespace steady::test {
namespace {

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(GgufMutation, IsAlwaysAnswered) {
    const auto n = static_cast<int>(setting("STEADY_MUTATIONS", 400));
    const std::map<Outcome, int> outcomes = run_mutations(setting("STEADY_SEED", 1), n);
    // Both ends must be reached, or the mutator has lost its bite.
    EXPECT_GT(outcomes.at(Outcome::refused), n / 4);
    EXPECT_GT(outcomes.at(Outcome::vocabulary_too), n / 20);
    for (const auto& [outcome, times] : outcomes)
        EXPECT_GT(times, n / 100) << static_cast<int>(outcome);
}

TEST(GgufMutation, FollowsFromItsSeed) {
    const Mutator mutator(file_bytes("tokenizer/vocabulary-glm4.gguf"));
    EXPECT_EQ(mutator.mutate(5), mutator.mutate(5));
    EXPECT_NE(mutator.mutate(5), mutator.mutate(6));
}

}  // namespace
}  // namespace steady::test
