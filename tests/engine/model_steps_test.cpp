// The alternatives of a step that differ only in how work is cut into launches: the same bits, and
// the number of launches that each one's file promises.
#include <gtest/gtest.h>

#include <cstring>

#include "engine/model/forward.h"
#include "engine/run/decode.h"
#include "engine/run/model.h"
#include "engine/run/profile.h"
#include "kernels/base/error.h"
#include "tests/support/tiny_models.h"

namespace steady {
namespace {

struct Ran {
    std::vector<float> logits;
    double launches = 0;
    std::int64_t n_dense = 0, n_moe = 0, n_used = 0;
    bool shared = false;
};

Ran run(const std::string& name, const PlanRequest& plan, int threads) {
    Model model(tiny::path(name));
    ArmOptions options;
    options.plan = plan;
    options.threads.threads = threads;
    options.batch = 1;  // the alternatives of decoding
    auto arms = model.make_arms({options}, 64);
    Ran ran;
    const std::vector<std::int32_t> all = tiny::prompts(name)[1].tokens;
    const auto logits = feed(*arms[0], std::span(all).first(4));
    ran.logits = {logits.begin(), logits.end()};
    ran.launches = applied_arm(*arms[0]).launches_per_token;
    const Config& c = arms[0]->config;
    ran.n_dense = std::min(c.n_dense_blocks, c.n_blocks);
    ran.n_moe = c.n_blocks - ran.n_dense;
    ran.n_used = c.n_experts_used;
    ran.shared = c.n_shared_experts > 0;
    return ran;
}

std::vector<float> copy(std::span<const float> values) { return {values.begin(), values.end()}; }

bool has_q4_0_experts(const std::string& name) {
    const ModelTraits traits = Model(tiny::path(name)).uses.traits;
    return traits.has_experts && traits.experts_are_q4_0;
}

PlanRequest steps(std::map<std::string, std::string> chosen, bool reference) {
    PlanRequest plan{{}, std::move(chosen)};
    if (reference) plan.kernels["*"] = "reference";
    return plan;
}

class Steps : public testing::TestWithParam<std::string> {};

TEST_P(Steps, WholeHeadsInOneLaunchChangeNoBit) {
    for (const bool reference : {true, false}) {
        for (const int threads : {1, 2, 3}) {
            const Ran plain = run(GetParam(), steps({{"mla", "absorbed"}}, reference), threads);
            const Ran heads = run(GetParam(), steps({{"mla", "heads"}}, reference), threads);
            EXPECT_EQ(heads.logits, plain.logits) << threads << " threads";
            EXPECT_EQ(heads.launches,
                      plain.launches - 2.0 * static_cast<double>(plain.n_moe + plain.n_dense));
        }
    }
}

// Spans are joined to what whole heads give, by the same bits for every number of threads; where
// one span is enough nothing changes at all. Sanitizers see one number of threads, one depth of
// each form and no reference variants, which take most of the time: those run deep in
// kernels_variants_test.
TEST_P(Steps, SpansOfPositionsAreJoinedToTheWhole) {
    Model model(tiny::path(GetParam()));
    const std::vector<std::int32_t> tokens = tiny::prompts(GetParam())[1].tokens;
    const auto logits_at = [&](std::int64_t depth, const std::string& mla, bool reference,
                               int threads) {
        ArmOptions options;
        options.plan = steps({{"mla", mla}}, reference);
        options.threads.threads = threads;
        auto arms = model.make_arms({options}, 2100);
        feed(*arms[0], std::span(tokens).first(4));
        repeat_prompt(*arms[0], 4, depth);
        return copy(feed(*arms[0], std::span(tokens).subspan(4, 2), 4 + depth));
    };
    using Depths = std::vector<std::int64_t>;
    const auto some = [](std::vector<int> all) {
        return STEADY_SANITIZED ? std::vector<int>{all.back()} : all;
    };
    const std::vector<bool> variants =
        STEADY_SANITIZED ? std::vector{false} : std::vector{true, false};
    // Two bytes per value go through the same cut, from twice the positions on.
    for (const bool reference : variants) {
        const std::vector<float> whole = logits_at(2080, "absorbed", reference, 1);
        const std::vector<float> spans = logits_at(2080, "spans_i8x2", reference, 1);
        EXPECT_LE(tiny::rel_l2(spans, whole), reference ? 2e-3 : 0.08);
        for (const int threads : some({2, 3, 5})) {
            EXPECT_EQ(logits_at(2080, "spans_i8x2", reference, threads), spans) << threads;
        }
    }
    for (const bool reference : variants) {
        EXPECT_EQ(logits_at(1000, "spans", reference, 2),
                  logits_at(1000, "absorbed", reference, 2));
        for (const std::int64_t depth :
             STEADY_SANITIZED ? Depths{1531} : Depths{1020, 1531, 2080}) {
            const std::vector<float> whole = logits_at(depth, "absorbed", reference, 1);
            const std::vector<float> spans = logits_at(depth, "spans", reference, 1);
            EXPECT_LE(tiny::rel_l2(spans, whole), reference ? 1e-5 : 0.08) << depth;
            EXPECT_NE(spans, whole) << depth;
            for (const int threads : some({2, 3})) {
                EXPECT_EQ(logits_at(depth, "spans", reference, threads), spans) << depth;
            }
        }
    }
}

// Depth repeats the rows that the prompt left, in every block.
TEST_P(Steps, DepthHoldsThePromptsRows) {
    Model model(tiny::path(GetParam()));
    ArmOptions options;
    options.plan = steps({{"mla", "absorbed"}}, false);
    auto arms = model.make_arms({options}, 64);
    KvCache& cache = arms[0]->cache;
    feed(*arms[0], std::span(tiny::prompts(GetParam())[1].tokens).first(3));
    repeat_prompt(*arms[0], 3, 11);
    const auto bytes = static_cast<std::size_t>(cache.row_bytes());
    for (std::int64_t block = 0; block < model.config.n_blocks; ++block) {
        for (std::int64_t p = 3; p < 14; ++p) {
            EXPECT_EQ(std::memcmp(cache.row(block, p), cache.row(block, p % 3), bytes), 0) << p;
        }
        EXPECT_NE(std::memcmp(cache.row(block, 0), cache.row(block, 1), bytes), 0);
    }
}

// The forms that keep two bytes per value in groups of positions, and how a value is read there.
struct TwoBytes {
    const char* step;
    const CacheFormat* format;
};
constexpr const CacheFormat* kI16 = &kCacheFormat<MlaAttentionI16::Codec>;
constexpr const CacheFormat* kI8x2 = &kCacheFormat<MlaAttentionI8x2::Codec>;
constexpr TwoBytes kTwoBytes[] = {{"absorbed_i16", kI16}, {"spans_i8x2", kI8x2}};

// In the forms that keep groups of positions too, whatever the prompt's length.
TEST_P(Steps, DepthHoldsThePromptsGroups) {
    for (const TwoBytes& tested : kTwoBytes) {
        Model model(tiny::path(GetParam()));
        const Config& c = model.config;
        ArmOptions options;
        options.plan = steps({{"mla", tested.step}}, true);
        auto arms = model.make_arms({options}, 64);
        const KvCache& cache = arms[0]->cache;
        feed(*arms[0], std::span(tiny::prompts(GetParam())[1].tokens).first(3));
        repeat_prompt(*arms[0], 3, 30);
        int differ = 0;
        for (std::int64_t block = 0; block < c.n_blocks; ++block) {
            const auto value = [&](std::int64_t p, std::int64_t column) {
                return tested.format->value(cache.groups(block), p, column, c.kv_rank, c.n_rot);
            };
            for (std::int64_t column = 0; column < c.latent_size(); ++column) {
                for (std::int64_t p = 3; p < 33; ++p) {
                    ASSERT_EQ(value(p, column), value(p % 3, column)) << block << ' ' << p;
                }
                differ += value(0, column) != value(1, column) ? 1 : 0;
            }
            EXPECT_EQ(value(33, 0), 0) << "behind the end";
        }
        EXPECT_GT(differ, 0) << tested.step;
    }
}

// Rounded about as finely as half floats or finer: two bytes a value and little of the exact
// result's accuracy; threads change no bit, and a context of one position has room.
TEST_P(Steps, ACacheOfTwoBytesPerValueIsNearlyExact) {
    Model model(tiny::path(GetParam()));
    const tiny::Prompt prompt = tiny::prompts(GetParam())[1];
    const auto make = [&](const char* step, bool reference, int threads, int batch, int context) {
        ArmOptions options;
        options.plan = steps({{"mla", step}}, reference);
        options.threads.threads = threads;
        options.batch = batch;
        return std::move(model.make_arms({options}, context)[0]);
    };
    for (const TwoBytes& tested : kTwoBytes) {
        const double within = tested.format == kI16 ? 2e-3 : 5e-4;
        for (const bool reference : {true, false}) {
            for (const int batch : {1, 64}) {
                std::vector<float> first;
                for (const int threads : {1, 2, 3}) {
                    const auto arm = make(tested.step, reference, threads, batch, 64);
                    const std::vector<float> logits = copy(feed(*arm, prompt.tokens));
                    EXPECT_LE(tiny::rel_l2(logits, prompt.exact_last), reference ? within : 0.08)
                        << tested.step;
                    if (first.empty()) first = logits;
                    EXPECT_EQ(logits, first) << threads << " threads, batch " << batch;
                }
            }
        }
        EXPECT_EQ(feed(*make(tested.step, true, 1, 1, 1), std::span(prompt.tokens).first(1)).size(),
                  static_cast<std::size_t>(model.config.n_vocab));
    }
    const Config& c = model.config;
    EXPECT_EQ(make("absorbed_i16", true, 1, 1, 64)->cache.row_bytes(), 2 * c.latent_size() + 8);
    EXPECT_EQ(
        make("spans_i8x2", true, 1, 1, 64)->cache.row_bytes(),
        2 * (mla_i8x2::blocks(c.kv_rank) + mla_i8x2::blocks(c.n_rot)) * mla_i8x2::kColumns + 8);
}

// A byte per value of the cache costs what the rounding of the latent costs; cuts change no bit.
TEST_P(Steps, ACacheOfBytesStaysWithinTheBoundOfEightBits) {
    Model model(tiny::path(GetParam()));
    const tiny::Prompt prompt = tiny::prompts(GetParam())[1];
    if (!MlaQ8Shape{model.config.n_heads, model.config.kv_rank, model.config.n_rot, 1}
             .problem()
             .empty()) {
        const PlanRequest plan = steps({{"mla", "heads_q8"}}, true);
        EXPECT_THROW(run(GetParam(), plan, 1), Error);
        return;
    }
    std::vector<float> first;
    for (const int threads : {1, 2, 3}) {
        ArmOptions options;
        options.plan = steps({{"mla", "heads_q8"}}, true);
        options.threads.threads = threads;
        auto arms = model.make_arms({options}, 64);
        const auto logits = feed(*arms[0], prompt.tokens);
        EXPECT_LE(tiny::rel_l2(logits, prompt.exact_last), 0.08);
        if (first.empty()) first = {logits.begin(), logits.end()};
        EXPECT_EQ(std::vector<float>(logits.begin(), logits.end()), first);
    }
}

// The Q8_0 rounding of the folded matrix is all that parts it from the absorbed form, token by
// token as in a batch.
TEST_P(Steps, KeysFoldedIntoTheQueryAgreeWithinTheirRounding) {
    Model model(tiny::path(GetParam()));
    if (!model.uses.traits.keys_fold) {
        EXPECT_THROW(run(GetParam(), steps({{"mla", "folded"}}, true), 1), Error);
        return;
    }
    const tiny::Prompt prompt = tiny::prompts(GetParam())[1];
    for (const bool reference : {true, false}) {
        for (const int batch : {1, 64}) {
            ArmOptions options;
            options.plan = steps({{"mla", "folded"}}, reference);
            options.batch = batch;
            options.threads.threads = 2;
            auto arms = model.make_arms({options}, 64);
            const auto logits = feed(*arms[0], prompt.tokens);
            EXPECT_LE(tiny::rel_l2(logits, prompt.exact_last), reference ? 0.03 : 0.08);
            const bool smaller = GetParam() == "tiny-glm-f32";  // 8 bits in place of 32
            EXPECT_EQ(arms[0]->weights.bytes_per_token <
                          model.make_arms({ArmOptions{}}, 64)[0]->weights.bytes_per_token,
                      smaller);
        }
    }
}

// Products with 8-bit activations alone: 16 bits would write over what the norm has left.
TEST_P(Steps, ANormThatQuantisesChangesNoBit) {
    for (const std::string isa : {"reference", "avx512"}) {
        if (!cpu::has(isa == "avx512" ? cpu::avx512 : cpu::avx2)) continue;
        for (const int batch : {1, 64}) {
            std::vector<std::vector<float>> seen;
            for (const std::string norm : {"apart", "quantising"}) {
                Model model(tiny::path(GetParam()));
                ArmOptions options;
                options.plan = {{{"q4_0_matvec", "avx2"},
                                 {"rms_norm", isa},
                                 {"rms_norm_q8", isa},
                                 {"quantize_q8", isa}},
                                {{"norm", norm}}};
                if (has_q4_0_experts(GetParam())) options.plan.kernels["q4_0_experts"] = "avx2";
                options.batch = batch;
                auto arms = model.make_arms({options}, 64);
                seen.push_back(copy(feed(*arms[0], tiny::prompts(GetParam())[1].tokens)));
                EXPECT_EQ(arms[0]->counter<RmsNormQ8>().calls > 0, norm == "quantising");
            }
            EXPECT_EQ(seen[0], seen[1]) << isa << ", batch " << batch;
        }
    }
}

// Two bytes per value: half the memory, every step that keeps floats, within the champions' bound;
// neither batches nor launches change a bit.
TEST_P(Steps, ACacheOfHalvesStaysWithinTheBoundOfEightBits) {
    Model model(tiny::path(GetParam()));
    const tiny::Prompt prompt = tiny::prompts(GetParam())[1];
    const auto opened = [&](const std::string& type, const std::string& mla, bool reference) {
        ArmOptions options;
        options.plan = steps({{"mla", mla}}, reference);
        if (!reference) options.plan.activations = Input::q16;
        set_engine_flag(options, "cache", type);
        options.threads.threads = 2;
        return std::move(model.make_arms({options}, 64)[0]);
    };
    for (const std::string type : {"f16", "bf16"}) {
        for (const bool reference : {true, false}) {
            std::vector<float> absorbed;
            for (const std::string mla : {"absorbed", "heads", "materialised"}) {
                const auto plain = opened("f32", mla, reference);
                const auto arm = opened(type, mla, reference);
                EXPECT_EQ(2 * arm->cache.bytes(), plain->cache.bytes());
                const std::vector<float> floats = copy(feed(*plain, prompt.tokens));
                const std::vector<float> halves = copy(feed(*arm, prompt.tokens));
                EXPECT_LE(tiny::rel_l2(halves, prompt.exact_last), 0.08) << type << ' ' << mla;
                EXPECT_NE(halves, floats) << type << ' ' << mla;
                if (mla == "absorbed") absorbed = halves;
                if (mla == "heads" && !reference) {
                    EXPECT_EQ(halves, absorbed) << type;
                }
            }
        }
        EXPECT_THROW(opened(type, "heads_q8", true), Error);
        EXPECT_THROW(opened(type, "absorbed_i16", true), Error);
        EXPECT_THROW(opened(type, "spans_i8x2", true), Error);
    }
}

TEST(KvCacheSize, FollowsTheTypeAndIsRefusedWithTheArithmetic) {
    Model model(tiny::path(tiny::kModels[0]));
    Config config = model.config;
    config.n_blocks = std::int64_t{1} << 20;
    struct Asked {
        CacheKind kind;
        const char* bytes;
    };
    const auto groups = [](const CacheFormat* format) {
        return CacheKind{CacheForm::groups, Type::f32, format};
    };
    for (const auto& [kind, bytes] :
         {Asked{{CacheForm::rows, Type::f32}, "4"}, Asked{{CacheForm::rows, Type::bf16}, "2"},
          Asked{groups(kI16), "2"}, Asked{groups(kI8x2), "2"},
          Asked{groups(&kCacheFormat<MlaAttentionQ8::Codec>), "1"}}) {
        try {
            const KvCache cache(config, std::int64_t{1} << 20, kind);
            ADD_FAILURE() << "it fitted into memory: " << cache.bytes();
        } catch (const Error& error) {
            const std::string what = error.what();
            EXPECT_NE(what.find(std::string("values × ") + bytes + " bytes"), std::string::npos)
                << what;
        }
    }
    ArmOptions options;
    try {
        set_engine_flag(options, "cache", "q8");
        ADD_FAILURE() << "it was taken";
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("f32, f16 or bf16"), std::string::npos);
    }
}

TEST_P(Steps, TheSharedExpertBesideTheOthersChangesNoBit) {
    if (!has_q4_0_experts(GetParam())) GTEST_SKIP() << "no experts in q4_0";
    for (const bool reference : {true, false}) {
        for (const int threads : {1, 2, 3}) {
            const Ran fused = run(GetParam(), steps({{"moe", "fused"}}, reference), threads);
            const Ran joined = run(GetParam(), steps({{"moe", "joined"}}, reference), threads);
            EXPECT_EQ(joined.logits, fused.logits) << threads << " threads";
            const double fewer = fused.shared ? static_cast<double>(fused.n_moe) : 0;
            EXPECT_EQ(joined.launches, fused.launches - fewer);
        }
    }
}

TEST_P(Steps, IndexedProductsAreTheLooseOnesInFewerLaunches) {
    for (const bool reference : {true, false}) {
        const Ran loose = run(GetParam(), steps({{"moe", "unfused"}}, reference), 2);
        const Ran indexed = run(GetParam(), steps({{"moe", "indexed"}}, reference), 2);
        const Ran together = run(GetParam(), steps({{"moe", "indexed_gate_up"}}, reference), 2);
        EXPECT_EQ(indexed.logits, loose.logits);
        EXPECT_EQ(together.logits, loose.logits);
        // Loose: gate with up, and down, for each expert.
        const auto n_moe = static_cast<double>(loose.n_moe);
        const double without = loose.launches - n_moe * 2 * static_cast<double>(loose.n_used);
        EXPECT_EQ(indexed.launches, without + 3 * n_moe);
        EXPECT_EQ(together.launches, without + 2 * n_moe);
    }
}

TEST_P(Steps, NoCutChangesABit) {
    const std::vector<float> expected = run(GetParam(), {}, 1).logits;
    for (const std::string cut : {"static", "steal", "dynamic", "dynamic:1", "dynamic:64"}) {
        Model model(tiny::path(GetParam()));
        ArmOptions options;
        options.threads.threads = 2;
        set_engine_flag(options, "cut", cut);
        EXPECT_EQ(engine_flags(options)["cut"], cut);
        auto arms = model.make_arms({options}, 64);
        const std::vector<std::int32_t> all = tiny::prompts(GetParam())[1].tokens;
        const auto logits = feed(*arms[0], std::span(all).first(4));
        EXPECT_EQ(std::vector<float>(logits.begin(), logits.end()), expected) << cut;
    }
}

INSTANTIATE_TEST_SUITE_P(All, Steps, testing::ValuesIn(tiny::kPassModels), [](const auto& model) {
    std::string name = model.param;
    for (char& c : name) c = c == '-' ? '_' : c;
    return name;
});

// Masking shows what a lesser machine would run: everything, slower, and nothing that it lacks.
TEST_P(Steps, ALesserCpuRunsTheModelWithWhatItHas) {
    for (const std::string level : {"x86-64-v2", "avx2", "avx512"}) {
        cpu::Features hidden;
        ASSERT_TRUE(cpu::beyond_level(level, hidden));
        cpu::mask(hidden);
        Model model(tiny::path(GetParam()));
        auto arms = model.make_arms({ArmOptions{}}, 64);
        for_each_op(arms[0]->plan.kernels, [&](const auto& choice) {
            EXPECT_TRUE(cpu::has(choice.variant->needs)) << level << ' ' << choice.variant->name;
        });
        const tiny::Prompt prompt = tiny::prompts(GetParam())[1];
        const auto logits = feed(*arms[0], prompt.tokens);
        EXPECT_LE(tiny::rel_l2(logits, prompt.exact_last), 0.08) << level;
        ArmOptions forced;
        forced.plan.kernels["q4_0_matvec"] = "avx512_vnni_rows16";
        try {
            model.make_arms({forced}, 64);
            ADD_FAILURE() << level << " took a variant that it cannot run";
        } catch (const Error& error) {
            const std::string what = error.what();
            EXPECT_NE(what.find("this CPU lacks"), std::string::npos) << what;
            EXPECT_NE(what.find("Choices here"), std::string::npos) << what;
        }
        cpu::mask(cpu::none);
    }
}

// A cache of integers is the default where the model's weights are rounded anyway and an experiment
// has decided for its kernel, and nowhere else: not on Intel's CPUs with VNNI and without AMX,
// whose own verdict is for floats.
TEST_P(Steps, IntegersAreTheDefaultWhereTheModelRounds) {
    const auto format = [&](const PlanRequest& plan, const std::string& type) {
        Model model(tiny::path(GetParam()));
        ArmOptions options;
        options.plan = plan;
        set_engine_flag(options, "cache", type);
        return model.make_arms({options}, 64)[0]->plan.mla->format;
    };
    // Whether for this much of a CPU a kernel over integers uses as much of it as that over floats.
    for (const char* level : {"native", "amx", "avx512_vnni", "avx512", "avx2", "x86-64-v2"}) {
        cpu::Features hidden;
        ASSERT_TRUE(cpu::beyond_level(level, hidden));
        cpu::mask(hidden);
        const bool floats =
            cpu::class_name().starts_with("intel-") && cpu::class_name().ends_with("-avx512_vnni");
        const bool sixteen_bits = !floats && (cpu::has(cpu::avx512_vnni) ||
                                              (cpu::has(cpu::avx2) && !cpu::has(cpu::avx512)));
        const CacheFormat* decided = cpu::has(cpu::amx) ? kI8x2 : sixteen_bits ? kI16 : nullptr;
        EXPECT_EQ(format({}, "f32"), GetParam() == "tiny-glm-f32" ? nullptr : decided) << level;
        cpu::mask(cpu::none);
    }
    EXPECT_EQ(format({}, "f16"), nullptr);
    EXPECT_EQ(format({{{"*", "reference"}}, {}}, "f32"), nullptr);
    EXPECT_EQ(format({{{"mla_attention", "reference"}}, {}}, "f32"), nullptr);
    EXPECT_EQ(format({{}, {{"mla", "absorbed_i16"}}}, "f32"), kI16);
    if (cpu::has(cpu::avx2)) {
        EXPECT_EQ(format({{{"mla_attention", "avx2_f16"}}, {}}, "f16"), nullptr);
    }
}

TEST(CutFlag, SaysWhatIsAllowed) {
    ArmOptions options;
    for (const char* bad : {"dynamic:", "dynamic:0", "dynamic:8", "dynamic:65", "dynamic:x", "8"}) {
        try {
            set_engine_flag(options, "cut", bad);
            ADD_FAILURE() << bad;
        } catch (const Error& error) {
            EXPECT_NE(std::string(error.what()).find("dynamic:N"), std::string::npos);
        }
    }
}

}  // namespace
}  // namespace steady
