// Synthetic models have the true sizes, load, and are the same for the same options.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "engine/gguf/inspect.h"
#include "engine/synth/synth.h"
#include "engine/text/tokenizer.h"
#include "kernels/formats/formats.h"
#include "tests/support/gguf_bytes.h"

namespace steady::test {
namespace {

struct TemporaryFile {
    std::string path = testing::TempDir() + "synth-" + std::to_string(getpid()) + ".gguf";
    ~TemporaryFile() { unlink(path.c_str()); }
    std::string bytes() const {
        std::ostringstream out;
        out << std::ifstream(path, std::ios::binary).rdbuf();
        return out.str();
    }
};

std::uint64_t bytes_of(const SynthTensor& tensor) {
    auto bytes = static_cast<std::uint64_t>(
        row_bytes(tensor.type, static_cast<std::int64_t>(tensor.dims[0])));
    for (std::size_t i = 1; i < tensor.dims.size(); ++i) bytes *= tensor.dims[i];
    return bytes;
}

double total_gigabytes(const std::string& arch) {
    double total = 0.0;
    for (const SynthTensor& tensor : synth_tensors({.arch = arch})) {
        total += static_cast<double>(bytes_of(tensor)) * 1e-9;
    }
    return total;
}

const SynthTensor& named(const std::vector<SynthTensor>& tensors, const std::string& name) {
    for (const SynthTensor& tensor : tensors) {
        if (tensor.name == name) return tensor;
    }
    throw Error("no tensor " + name);
}

// 17.1 GB and 844 tensors are the figures of the published GLM-4.7-Flash.
TEST(Synth, HasTheTrueGeometries) {
    const auto glm = synth_tensors({.arch = "glm-4.7-flash"});
    EXPECT_EQ(glm.size(), 844U);
    EXPECT_NEAR(total_gigabytes("glm-4.7-flash"), 17.1, 0.05);
    EXPECT_EQ(named(glm, "blk.46.ffn_down_exps.weight").dims,
              (std::vector<std::uint64_t>{1536, 2048, 64}));
    EXPECT_EQ(named(glm, "blk.1.ffn_gate_shexp.weight").type, Type::q5_k);
    EXPECT_EQ(named(glm, "blk.1.ffn_down_shexp.weight").type, Type::q6_k);
    EXPECT_EQ(named(glm, "blk.1.exp_probs_b.bias").type, Type::f32);
    EXPECT_EQ(named(glm, "blk.0.attn_k_b.weight").dims, (std::vector<std::uint64_t>{192, 512, 20}));

    const auto deepseek = synth_tensors({.arch = "deepseek-v2-lite"});
    EXPECT_EQ(named(deepseek, "blk.26.ffn_down_exps.weight").type, Type::q4_0);  // rows of 1408
    EXPECT_EQ(named(deepseek, "blk.0.ffn_down.weight").dims,
              (std::vector<std::uint64_t>{10944, 2048}));
    EXPECT_EQ(named(deepseek, "blk.0.attn_q.weight").dims,
              (std::vector<std::uint64_t>{2048, 3072}));
    EXPECT_THROW(named(deepseek, "blk.1.exp_probs_b.bias"), Error);

    const auto youtu = synth_tensors({.arch = "youtu-llm-2b"});
    EXPECT_THROW(named(youtu, "output.weight"), Error);  // tied
    EXPECT_EQ(named(youtu, "blk.31.ffn_gate.weight").dims,
              (std::vector<std::uint64_t>{2048, 6144}));
}

class SynthArchitectures : public testing::TestWithParam<std::string> {};

TEST_P(SynthArchitectures, MakeTinyModelsThatLoad) {
    const TemporaryFile file;
    const SynthOptions options{.arch = GetParam(), .size = SynthSize::tiny, .out = file.path};
    const SynthResult result = synthesise(options);
    const GgufFile loaded = GgufFile::open(file.path);
    EXPECT_EQ(loaded.file_bytes(), result.file_bytes);
    EXPECT_LT(result.file_bytes, 8U << 20);
    EXPECT_EQ(loaded.tensors().size(), synth_tensors(options).size());
    const Tokenizer tokenizer = Tokenizer::load(loaded);
    EXPECT_EQ(tokenizer.n_vocab(), 320);
    EXPECT_EQ(tokenizer.decode(tokenizer.encode("the hen sat")), "the hen sat");
    EXPECT_GT(bytes_per_token(loaded).total(), 1U << 20);
}

INSTANTIATE_TEST_SUITE_P(Synth, SynthArchitectures, testing::ValuesIn(synth_architectures()),
                         [](const auto& one) { return std::to_string(one.index); });

TEST(Synth, IsTheSameForTheSameOptions) {
    const TemporaryFile file;
    SynthOptions options{
        .arch = "glm-4.7-flash", .size = SynthSize::tiny, .out = file.path, .n_threads = 1};
    synthesise(options);
    const std::string one = file.bytes();
    options.n_threads = 3;
    synthesise(options);
    EXPECT_TRUE(file.bytes() == one) << "depends on the number of threads";
    options.seed = 2;
    synthesise(options);
    EXPECT_FALSE(file.bytes() == one) << "the seed does nothing";
}

// The weights of every matrix have mean 0 and the deviation that was asked for, whatever their
// format; none is infinite or NaN.
TEST(Synth, ScalesItsWeights) {
    const TemporaryFile file;
    const SynthOptions options{.arch = "glm-4.7-flash", .size = SynthSize::tiny, .out = file.path};
    synthesise(options);
    const GgufFile loaded = GgufFile::open(file.path);
    for (const SynthTensor& wanted : synth_tensors(options)) {
        const Tensor& tensor = loaded.require_tensor(wanted.name);
        std::vector<std::byte> bytes(tensor.bytes);
        loaded.read(tensor, bytes);
        const auto n = static_cast<std::size_t>(tensor.n_values());
        std::vector<float> values(n);
        dequantize(tensor.type, bytes.data(), values.data(), static_cast<std::int64_t>(n));
        double sum = 0.0;
        double squares = 0.0;
        for (const float value : values) {
            ASSERT_TRUE(std::isfinite(value)) << wanted.name;
            sum += static_cast<double>(value);
            squares += static_cast<double>(value) * static_cast<double>(value);
        }
        const double mean = sum / static_cast<double>(n);
        const double deviation = std::sqrt(squares / static_cast<double>(n) - mean * mean);
        const double expected = static_cast<double>(wanted.deviation);
        const double error = 5.0 / std::sqrt(std::min<double>(static_cast<double>(n), 8192.0));
        EXPECT_NEAR(mean, static_cast<double>(wanted.mean), expected * error) << wanted.name;
        EXPECT_NEAR(deviation / expected, 1.0, n >= 256 ? 0.2 : 1.0) << wanted.name;
    }
}

TEST(Synth, SaysWhatIsWrongAndLeavesNothingBehind) {
    const auto message = [](const SynthOptions& options) {
        try {
            synthesise(options);
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    EXPECT_EQ(
        message({.arch = "llama", .out = "x"}),
        "synth: --arch: found 'llama', allowed: glm-4.7-flash, deepseek-v2-lite, youtu-llm-2b");
    EXPECT_NE(message({.arch = "youtu-llm-2b", .n_blocks = 2000, .out = "x"}).find("1 to 1024"),
              std::string::npos);
    EXPECT_NE(message({.arch = "youtu-llm-2b"}).find("--out"), std::string::npos);
    EXPECT_NE(message({.arch = "youtu-llm-2b", .size = SynthSize::tiny, .out = "/no/such/x"})
                  .find("No such file"),
              std::string::npos);
    const std::string directory = testing::TempDir() + "synth-target-" + std::to_string(getpid());
    std::filesystem::create_directory(directory);
    EXPECT_NE(message({.arch = "youtu-llm-2b", .size = SynthSize::tiny, .out = directory}),
              "accepted");
    for (const auto& entry : std::filesystem::directory_iterator(testing::TempDir())) {
        EXPECT_EQ(entry.path().string().find(directory + "."), std::string::npos) << entry.path();
    }
    std::filesystem::remove(directory);
}

}  // namespace
}  // namespace steady::test
