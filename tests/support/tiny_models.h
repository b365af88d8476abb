// The tiny reference models of tests/data/models: prompts, exact logits, greedy continuations. Four
// models cover the three families and an all-float one.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

namespace steady::tiny {

inline const std::vector<std::string> kModels = {"tiny-glm", "tiny-dsv2", "tiny-youtu",
                                                 "tiny-glm-f32"};
// For tests of passes, which take long under a sanitizer: there with one model. By Clang's coverage
// passes of the others run no line besides, but the softmax of the router, which its op's check
// runs.
inline const std::vector<std::string> kPassModels =
    STEADY_SANITIZED ? std::vector<std::string>{"tiny-glm"} : kModels;

// Relative L2 distance to exact logits that an engine may have.
constexpr double kExact = 1e-5;      // float activations
constexpr double kQuantised = 0.08;  // 8-bit activations, on these prompts

inline std::string path(const std::string& name, const std::string& suffix = ".gguf") {
    return std::string(STEADY_SOURCE_DIR) + "/tests/data/models/" + name + suffix;
}

struct Prompt {
    std::vector<std::int32_t> tokens;
    std::vector<std::int32_t> greedy;  // 16 tokens, exact arithmetic
    std::vector<float> exact_last;     // logits after the prompt
    std::vector<float> exact_gen15;    // … and 15 greedy tokens
};

inline std::vector<Prompt> prompts(const std::string& name) {
    std::ifstream text(path(name, ".json"));
    const nlohmann::json json = nlohmann::json::parse(text);
    const std::size_t n_vocab = json.at("n_vocab");
    std::ifstream binary(path(name, ".logits.bin"), std::ios::binary);
    std::vector<Prompt> all;
    const auto read = [&](std::size_t prompt, std::size_t kind) {
        std::vector<float> logits(n_vocab);
        binary.seekg(static_cast<std::streamoff>((prompt * 6 + kind) * n_vocab * sizeof(float)));
        binary.read(reinterpret_cast<char*>(logits.data()),
                    static_cast<std::streamsize>(n_vocab * sizeof(float)));
        EXPECT_TRUE(binary.good());
        return logits;
    };
    for (const auto& each : json.at("prompts")) {
        const std::size_t i = all.size();
        all.push_back({each.at("tokens"), each.at("greedy16_exact"), read(i, 0), read(i, 1)});
    }
    return all;
}

inline double rel_l2(std::span<const float> found, std::span<const float> exact) {
    double difference = 0, size = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
        const double d = static_cast<double>(found[i]) - static_cast<double>(exact[i]);
        difference += d * d;
        size += static_cast<double>(exact[i]) * static_cast<double>(exact[i]);
    }
    return std::sqrt(difference / size);
}

}  // namespace steady::tiny
