// Models of sizes that no published file has, in every weight type, against the plain program in
// double precision: the engine may assume nothing but what the file says.
#include <gtest/gtest.h>

#include "engine/run/decode.h"
#include "engine/run/model.h"
#include "tests/support/model_file.h"
#include "tests/support/tiny_models.h"

namespace steady::test {
namespace {

// 8-bit activations: these sizes are far smaller than real ones, so errors average out less.
constexpr double kSmallSizes = 0.1;

const std::vector<std::int32_t> kTokens{3, 17, 17, 40, 5};

struct Asked {
    PlanRequest plan;
    double bound;
};

void expect_agreement(const MadeModel& made, bool champions = true) {
    const std::vector<float> exact = made.plain.logits(kTokens);
    const OpenFile opened(made.file);
    const PlanRequest reference{{{"*", "reference"}}, {}};
    const PlanRequest steps{{{"*", "reference"}}, {{"mla", "materialised"}, {"moe", "unfused"}}};
    std::vector<Asked> asked{{reference, tiny::kExact}, {steps, tiny::kExact}};
    if (champions) {
        asked.push_back({{}, kSmallSizes});
        asked.push_back({{{}, steps.steps}, kSmallSizes});
    }
    for (const Asked& each : asked) {
        std::vector<float> single;
        for (const std::int64_t batch : {1, 3, 64}) {  // in two passes, and in one
            Model model(opened.path());
            ArmOptions options;
            options.plan = each.plan;
            options.threads.threads = batch == 3 ? 2 : 1;
            options.batch = batch;
            auto arms = model.make_arms({options}, 8);
            const auto last = feed(*arms[0], kTokens);
            EXPECT_LE(tiny::rel_l2(last, exact), each.bound)
                << plan_text(arms[0]->plan) << "batch " << batch << ", first " << last[0]
                << ", exact " << exact[0];
            if (batch == 1) single.assign(last.begin(), last.end());
            // The fused experts' reference keeps doubles where a batch, expert by expert, has
            // floats in between: only there may the last bits move.
            const bool doubles = arms[0]->plan.moe->needs_q4_0_experts &&
                                 arms[0]->plan.variant<Q4_0Experts>().name == "reference";
            if (doubles) {
                EXPECT_LE(tiny::rel_l2(last, single), 1e-6) << "a batch of " << batch;
            } else {
                EXPECT_TRUE(std::equal(last.begin(), last.end(), single.begin()))
                    << plan_text(arms[0]->plan) << "a batch of " << batch << " gives other bits";
            }
        }
    }
}

Type always_f32(const std::string&) { return Type::f32; }

struct Named {
    const char* name;
    plain::Sizes sizes;
};

class Geometry : public testing::TestWithParam<Named> {};

const Named kGeometries[] = {
    {"plain", {}},
    {"one_head", {.heads = 1, .q_rank = 0, .rot = 2, .nope = 3, .value = 5}},
    {"odd_widths",
     {.dim = 50,
      .q_rank = 7,
      .kv_rank = 9,
      .rot = 6,
      .nope = 5,
      .value = 11,
      .ff = 37,
      .experts = 5,
      .used = 3,
      .expert_ff = 13,
      .shared = 2}},
    {"three_dense_blocks", {.blocks = 5, .dense = 3}},
    {"no_dense_block", {.dense = 0}},
    {"all_dense", {.blocks = 3, .dense = 3, .experts = 0, .tied = true}},
    {"all_experts_used", {.experts = 6, .used = 6, .sigmoid = false, .bias = false}},
    {"one_expert", {.experts = 1, .used = 1, .normalise = false}},
    {"no_shared_expert", {.shared = 0}},
    {"softmax_with_bias", {.sigmoid = false, .scale = 2.5}},
    {"softmax_normalised", {.sigmoid = false, .bias = false, .normalise = true, .scale = 1}},
    {"tied_with_experts", {.tied = true}},
    {"wide_rotation", {.rot = 48, .nope = 2, .base = 10}},
    {"values_wider_than_keys", {.rot = 4, .nope = 4, .value = 60}},
    {"yarn_deepseek", {.rot = 64, .base = 1e4, .yarn = plain::Yarn{}}},
    {"yarn_m_is_one", {.rot = 16, .base = 1e4, .yarn = plain::Yarn{32, 2048, 0.1}}},
    {"yarn_without_multiplier", {.rot = 16, .base = 1e4, .yarn = plain::Yarn{8, 64, 0}}},
    {"twenty_seven_blocks",
     {.blocks = 27,
      .q_rank = 0,
      .sigmoid = false,
      .bias = false,
      .normalise = false,
      .scale = 1,
      .base = 1e4,
      .epsilon = 1e-6,
      .yarn = plain::Yarn{}}},
    {"many_experts", {.dim = 32, .experts = 300, .used = 9, .expert_ff = 8}},
};

TEST_P(Geometry, ReferenceIsExact) {
    expect_agreement(make_model(GetParam().sizes, 11, always_f32));
}

// Long enough rows for every block type, so that champions with packed layouts meet odd counts.
TEST_P(Geometry, QuantisedWeightsToo) {
    plain::Sizes sizes = GetParam().sizes;
    for (int* width : {&sizes.dim, &sizes.kv_rank, &sizes.expert_ff, &sizes.ff, &sizes.nope}) {
        *width = (*width + 31) / 32 * 32;
    }
    if (sizes.q_rank > 0) sizes.q_rank = (sizes.q_rank + 31) / 32 * 32;
    if (sizes.blocks > 9) sizes.blocks = 9;  // 8-bit errors add up over blocks
    expect_agreement(make_model(sizes, 12, [](const std::string& name) {
        return name.find("gate_inp") == std::string::npos ? Type::q4_0 : Type::f32;
    }));
}

INSTANTIATE_TEST_SUITE_P(All, Geometry, testing::ValuesIn(kGeometries),
                         [](const auto& one) { return one.param.name; });

class EveryType : public testing::TestWithParam<Type> {};

// Every matrix of the model in this type, the router too.
TEST_P(EveryType, InEveryMatrix) {
    const plain::Sizes sizes{.dim = 256,
                             .heads = 2,
                             .q_rank = 256,
                             .kv_rank = 256,
                             .rot = 64,
                             .nope = 256,
                             .value = 128,
                             .ff = 256,
                             .expert_ff = 256};
    const auto made = make_model(sizes, 13, [](const std::string&) { return GetParam(); });
    for (const FileTensor& tensor : made.file.tensors) {
        if (tensor.dims.size() == 1) continue;
        ASSERT_EQ(tensor.type, GetParam()) << tensor.name;
    }
    // A quantised router with 8-bit activations may choose another expert: that is no error bound.
    expect_agreement(made, false);
}

INSTANTIATE_TEST_SUITE_P(All, EveryType, testing::ValuesIn(kAllTypes),
                         [](const auto& one) { return std::string(type_name(one.param)); });

// Each tensor another type: nothing may assume that gate and up, or two blocks, are alike.
TEST(Types, MixedInOneModel) {
    for (std::uint64_t seed = 0; seed < (STEADY_SANITIZED ? 1 : 4); ++seed) {
        Random random(seed);
        const plain::Sizes sizes{.dim = 256,
                                 .blocks = 4,
                                 .heads = 2,
                                 .q_rank = 256,
                                 .kv_rank = 256,
                                 .rot = 64,
                                 .nope = 256,
                                 .value = 128,
                                 .ff = 256,
                                 .expert_ff = 256};
        expect_agreement(make_model(sizes, seed + 20,
                                    [&](const std::string& name) {
                                        const auto pick = random.integer(0, 10);
                                        return name.find("gate_inp") != std::string::npos
                                                   ? Type::f32
                                                   : kAllTypes[pick];
                                    }),
                         false);
    }
}

TEST(Types, AnUnknownOneIsAnErrorThatNamesTensorAndType) {
    MadeModel made = make_model({}, 1, always_f32);
    FileTensor* tensor = made.file.find("blk.1.ffn_up_exps.weight");
    tensor->type = static_cast<Type>(23);  // iq4_xs
    try {
        const OpenFile opened(made.file);
        const Model model(opened.path());
        FAIL() << "accepted";
    } catch (const Error& error) {
        const std::string text = error.what();
        EXPECT_NE(text.find("blk.1.ffn_up_exps.weight"), std::string::npos) << text;
        EXPECT_NE(text.find("iq4_xs"), std::string::npos) << text;
        EXPECT_NE(text.find("q4_0"), std::string::npos) << "allowed types are missing: " << text;
    }
}

}  // namespace
}  // namespace steady::test
