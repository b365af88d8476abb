// A few hundred damaged files with every run of the unit tests; the ten thousand are in
// gguf_mutation_long.cpp.
#include "tests/support/gguf_mutation_run.h"

namespace steady::test {
namespace {

TEST(GgufMutation, IsAlwaysAnswered) {
    const std::map<Outcome, int> outcomes = run_mutations(1, 400);
    // Both ends must be reached, or the mutator has lost its bite.
    EXPECT_GT(outcomes.at(Outcome::refused), 100);
    EXPECT_GT(outcomes.at(Outcome::vocabulary_too), 20);
}

TEST(GgufMutation, FollowsFromItsSeed) {
    const Mutator mutator(file_bytes("tokenizer/vocabulary-glm4.gguf"));
    EXPECT_EQ(mutator.mutate(5), mutator.mutate(5));
    EXPECT_NE(mutator.mutate(5), mutator.mutate(6));
}

}  // namespace
}  // namespace steady::test
