// Made weights: the old form keeps its bytes, the realistic one has what is published of trained
// models (engine/synth/realistic.h). Bounds leave room for the rounding of other CPUs' kernels.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <numeric>
#include <sstream>

#include "engine/run/model.h"
#include "engine/run/weight_traits.h"
#include "engine/synth/realistic.h"
#include "engine/synth/synth.h"

namespace steady::test {
namespace {

struct MadeFile {
    std::string path = testing::TempDir() + "weights-" + std::to_string(getpid()) + ".gguf";
    MadeFile(const std::string& arch, SynthWeights weights) {
        synthesise({.arch = arch, .size = SynthSize::tiny, .weights = weights, .out = path});
    }
    MadeFile(const MadeFile&) = delete;
    MadeFile& operator=(const MadeFile&) = delete;
    ~MadeFile() { unlink(path.c_str()); }
};

// Each token of the tiny vocabulary once.
WeightTraits traits_of(const std::string& arch, SynthWeights weights) {
    const MadeFile file(arch, weights);
    Model model(file.path);
    std::vector<std::int32_t> tokens(300);
    std::iota(tokens.begin(), tokens.end(), 0);
    ArmOptions fine, coarse;
    fine.threads.threads = coarse.threads.threads = 1;
    set_engine_flag(fine, "activations", "q16");
    set_engine_flag(coarse, "activations", "q8");
    auto arms = model.make_arms({fine, coarse}, 300);
    return weight_traits(*arms[0], *arms[1], tokens);
}

std::uint64_t fnv_of(const std::string& path) {
    std::ostringstream out;
    out << std::ifstream(path, std::ios::binary).rdbuf();
    std::uint64_t hash = 0xCBF29CE484222325U;
    for (const char c : out.str()) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
    }
    return hash;
}

TEST(RandomWeights, KeepTheBytesThatRecordsRanOn) {
    EXPECT_EQ(fnv_of(MadeFile("glm-4.7-flash", SynthWeights::random).path), 0x7DB61D32D57A2E27U);
    EXPECT_EQ(fnv_of(MadeFile("deepseek-v2-lite", SynthWeights::random).path), 0xA2C5034A1403048FU);
    EXPECT_EQ(fnv_of(MadeFile("youtu-llm-2b", SynthWeights::random).path), 0x5250BAF457BB28BAU);
}

TEST(RandomWeights, OfGlmAskForTheSameFewExperts) {
    const WeightTraits traits = traits_of("glm-4.7-flash", SynthWeights::random);
    EXPECT_GT(traits.load_above_mean, 2);
    EXPECT_GT(traits.idle_experts, 0.4);
    EXPECT_GT(traits.repeats_first, 4);
    EXPECT_EQ(traits.outlier_channels, 0);
}

class RealisticWeights : public testing::TestWithParam<const char*> {};

TEST_P(RealisticWeights, HaveOutliersABalancedLoadAndNearTies) {
    const WeightTraits traits = traits_of(GetParam(), SynthWeights::realistic);
    EXPECT_EQ(traits.outlier_channels, 1) << "6 of 2048 channels, at least one";
    EXPECT_NEAR(traits.largest_channel, kOutlierFactor, 6);
    ASSERT_EQ(traits.routed_blocks, 2);
    EXPECT_LT(traits.load_above_mean, traits.balanced_above_mean + 0.72);
    EXPECT_EQ(traits.idle_experts, 0);
    EXPECT_LT(traits.repeats_first, 2.3);
    EXPECT_GT(traits.changed_choices, 0.005);
    EXPECT_LT(traits.changed_choices, 0.2);
}

INSTANTIATE_TEST_SUITE_P(Models, RealisticWeights,
                         testing::Values("glm-4.7-flash", "deepseek-v2-lite"),
                         [](const auto& one) { return std::to_string(one.index); });

TEST(RealisticForm, OfADenseModelHaveOutliersOnly) {
    const WeightTraits traits = traits_of("youtu-llm-2b", SynthWeights::realistic);
    EXPECT_EQ(traits.outlier_channels, 1);
    EXPECT_EQ(traits.routed_blocks, 0);
}

TEST(RealisticForm, ChannelsFollowFromTheSeed) {
    const steady::Geometry glm = geometry_of({.arch = "glm-4.7-flash"});
    EXPECT_EQ(outlier_channels(glm, 1).size(), 6U);
    EXPECT_EQ(outlier_channels(glm, 1), outlier_channels(glm, 1));
    EXPECT_NE(outlier_channels(glm, 1), outlier_channels(glm, 2));
}

}  // namespace
}  // namespace steady::test
