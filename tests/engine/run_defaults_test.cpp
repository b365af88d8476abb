// A machine's own defaults: the file, its mistakes, and what a plan takes from it; the form of
// activations that is asked for; a class's own verdicts before those of others.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "engine/exec/champions.h"
#include "engine/exec/options.h"
#include "engine/exec/tuned_defaults.h"
#include "engine/run/model.h"
#include "kernels/base/error.h"
#include "kernels/registry/cpu.h"
#include "tests/support/tiny_models.h"

namespace steady {
namespace {

class Defaults : public testing::Test {
protected:
    void TearDown() override {
        use_tuned_defaults("none");
        std::filesystem::remove(path_);
    }
    std::string file(const std::string& text) {
        std::ofstream(path_) << text;
        return path_;
    }
    std::string of_class(const std::string& cpu_class, const std::string& choices) {
        return file(R"({"version": 1, "cpu_class": ")" + cpu_class + R"(", "choices": [)" +
                    choices + "]}");
    }
    static KernelPlan plan(const PlanRequest& request = {}) {
        const Model model(tiny::path("tiny-glm"));
        return resolve_plan(request, model.uses.shapes, model.uses.traits);
    }
    template <class Op>
    static std::pair<std::string, std::string> choice(const KernelPlan& plan) {
        const auto& made = std::get<Choice<Op>>(plan.kernels);
        return {std::string(made.variant->name), std::string(reason_name(made.reason))};
    }

private:
    // Of this process: ctest runs the tests of this file beside each other.
    const std::string path_ =
        testing::TempDir() + "engine-defaults-" + std::to_string(getpid()) + ".json";
};

using Chosen = std::pair<std::string, std::string>;

TEST_F(Defaults, AFileOfThisClassComesBeforeTheChampionsAndAfterFlags) {
    use_tuned_defaults(of_class(cpu::class_name(),
                                R"({"op": "swiglu", "variant": "reference", "effect": "+2 %"},
                                   {"op": "norm", "variant": "quantising"})"));
    const KernelPlan tuned = plan();
    EXPECT_EQ(choice<Swiglu>(tuned), Chosen("reference", "tuned"));
    EXPECT_EQ(tuned.norm->name, "quantising");
    EXPECT_EQ(reason_name(tuned.norm_reason), "tuned");
    EXPECT_NE(choice<RmsNorm>(tuned).second, "tuned");
    EXPECT_NE(plan_text(tuned).find("engine-defaults-"), std::string::npos);
    EXPECT_EQ(choice<Swiglu>(plan({{{"swiglu", "reference"}}, {}})).second, "flag");
    use_tuned_defaults("none");
    EXPECT_NE(choice<Swiglu>(plan()).second, "tuned");
}

TEST_F(Defaults, AFileOfAnotherClassIsNotUsedAndThePlanSaysSo) {
    use_tuned_defaults(of_class("other-1-avx2", R"({"op": "swiglu", "variant": "reference"})"));
    const KernelPlan other = plan();
    EXPECT_NE(choice<Swiglu>(other).second, "tuned");
    EXPECT_NE(plan_text(other).find("they are for other-1-avx2"), std::string::npos);
}

// A variant that was deleted since, or that this model's shapes rule out, gives way to champions.
TEST_F(Defaults, AChoiceThatCannotRunGivesWay) {
    use_tuned_defaults(of_class(cpu::class_name(), R"({"op": "swiglu", "variant": "gone"})"));
    EXPECT_NE(choice<Swiglu>(plan()).second, "tuned");
}

TEST_F(Defaults, MistakesNameTheFileAndWhatIsAllowed) {
    const std::pair<const char*, const char*> cases[] = {
        {"[]", "not a JSON object"},
        {"{", "not a JSON object"},
        {R"({"version": 2})", "\"version\" must be 1"},
        {R"({"version": 1})", "needs \"cpu_class\""},
        {R"({"version": 1, "cpu_class": "x"})", "\"choices\" must be a list"},
        {R"({"version": 1, "cpu_class": "x", "choices": [1]})", "choices[0] is not an object"},
        {R"({"version": 1, "cpu_class": "x", "choices": [{"op": "add"}]})",
         "choices[0] needs \"variant\""},
        {R"({"version": 1, "cpu_class": "x", "choices": [{"op": "add", "variant": "avx2"},
            {"op": "add", "variant": "avx512"}]})",
         "names add a second time"},
    };
    for (const auto& [text, expected] : cases) {
        const std::string path = file(text);
        try {
            use_tuned_defaults(path);
            ADD_FAILURE() << text;
        } catch (const Error& error) {
            EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
            EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
        }
    }
    EXPECT_THROW(use_tuned_defaults("/nowhere/at/all.json"), Error);
}

TEST(Flags, AClassHasTheTokensPerPassThatItsVerdictChose) {
    EXPECT_EQ(flag_champion("batch", "amd-26-avx512_vnni"), "256");
    EXPECT_EQ(flag_champion("batch", "amd-25-avx512_vnni"), "256");
    EXPECT_EQ(flag_champion("batch", "amd-27-avx512_vnni"), "");
    EXPECT_EQ(flag_champion("cut", "amd-26-avx512_vnni"), "");
    const std::string_view here = flag_champion("batch", cpu::class_name());
    EXPECT_EQ(engine_flags({}).at("batch"), here.empty() ? "64" : here);
    ArmOptions options;
    set_engine_flag(options, "batch", "32");
    EXPECT_EQ(engine_flags(options).at("batch"), "32");
}

TEST(Flags, AGpuHasWhatItsVerdictsChose) {
    ArmOptions options;
    set_engine_flag(options, "device", "cuda");
    EXPECT_EQ(engine_flags(options).at("launch"), flag_champion("launch", "NVIDIA H200"));
    EXPECT_EQ(engine_flags(options).at("batch"), flag_champion("batch", "NVIDIA H100 80GB HBM3"));
}

TEST(Activations, TheFormAskedForIsTakenWhereAnOpHasIt) {
    if (!cpu::has(cpu::avx2)) GTEST_SKIP() << "x86-64-v2 has floats only";
    const Model model(tiny::path("tiny-glm"));
    for (const auto& [text, form] : {std::pair{"q8", Input::q8}, {"q16", Input::q16}}) {
        ArmOptions options;
        set_engine_flag(options, "activations", text);
        EXPECT_EQ(engine_flags(options).at("activations"), text);
        const KernelPlan plan = resolve_plan(options.plan, model.uses.shapes, model.uses.traits);
        EXPECT_EQ(plan.variant<Q4_0Matvec>().input, form) << text;
        EXPECT_EQ(plan.variant<Q4_0Experts>().input, form) << text;
        EXPECT_EQ(plan.variant<Q6_KMatvec>().input, Input::q8) << text;  // it has no other
    }
    ArmOptions options;
    EXPECT_THROW(set_engine_flag(options, "activations", "q4"), Error);
}

}  // namespace
}  // namespace steady
