// Models made on demand stay within their budgets; an engine that writes whatever it is told to
// stands for the real one.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "kernels/base/error.h"
#include "runner/cli/made_models.h"
#include "runner/cli/workspace.h"
#include "runner/platform/files.h"
#include "runner/platform/process.h"

namespace steady {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class MadeModels : public ::testing::Test {
protected:
    MadeModels() {
        fs::create_directories(folder_);
        ::setenv("STEADY_STATE_DIR", folder_.c_str(), 1);
        write_engine("1000");
        arguments_.options["engine"] = folder_ + "/engine";
        arguments_.options["quiet"] = "1";
    }
    ~MadeModels() override {
        ::unsetenv("STEADY_STATE_DIR");
        std::error_code error;
        fs::remove_all(folder_, error);
    }
    void write_engine(const std::string& bytes) {
        std::ofstream(folder_ + "/engine")
            << "#!/bin/sh\nwhile [ $# -gt 0 ]; do [ \"$1\" = --out ] && out=$2; shift; done\n"
            << "exec head -c " << bytes << " /dev/zero > \"$out\"\n";
        fs::permissions(folder_ + "/engine", fs::perms::owner_all);
    }
    std::string make(const std::string& name, const ModelBudget& budget) {
        const auto model = made_model_of(name);
        EXPECT_TRUE(model) << name;
        return make_model(*model, budget, arguments_);
    }
    bool lies(const std::string& name) const {
        return fs::exists(made_models_folder() + "/" + name);
    }
    static std::string tiny(int seed) {
        return fmt::format("synth-tiny-glm-4.7-flash-s{}.gguf", seed);
    }
    // As if it were that large: a file with a hole takes no room.
    void grow(const std::string& name, std::uint64_t bytes) {
        fs::resize_file(made_models_folder() + "/" + name, bytes);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }

    std::string folder_ = scratch_dir() + "/steady-models-" + random_hex(6);
    Arguments arguments_;
};

constexpr std::uint64_t kMb = 1000000;

TEST_F(MadeModels, NamesSayTheirSize) {
    EXPECT_FALSE(made_model_of("glm.gguf"));
    EXPECT_FALSE(made_model_of("synth-tiny-gpt-s1.gguf"));
    EXPECT_FALSE(made_model_of("synth-full-glm-4.7-flash-s1.gguf.part"));
    EXPECT_GT(made_model_of("synth-full-glm-4.7-flash-s1.gguf")->bytes, 17000 * kMb);
    EXPECT_GT(made_model_of("synth-full-glm-4.7-flash-b3-s1.gguf")->bytes, 1291403104U);
    EXPECT_GT(made_model_of("synth-small-youtu-llm-2b-s1.gguf")->bytes, 126283392U);
    EXPECT_GT(made_model_of(tiny(1))->bytes, 4970208U);
    const auto realistic = made_model_of("synth-tiny-glm-4.7-flash-realistic-s7.gguf");
    ASSERT_TRUE(realistic);
    EXPECT_TRUE(realistic->realistic);
    EXPECT_EQ(realistic->seed, "7");
    EXPECT_GT(realistic->bytes, 4970240U);
    EXPECT_FALSE(made_model_of(tiny(1))->realistic);
    EXPECT_EQ(made_model_of("synth-full-glm-4.7-flash-realistic-b3-s1.gguf")->blocks, 3);
    EXPECT_THROW(made_model_of("synth-full-glm-4.7-flash-b99999-s1.gguf"), Error);
}

TEST_F(MadeModels, TooLargeIsRefusedBeforeAByteIsWritten) {
    ModelBudget budget;
    budget.submitter = "token ci";
    budget.submitter_bytes = 1000 * kMb;
    try {
        make("synth-full-deepseek-v2-lite-s1.gguf", budget);
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_EQ(error.exit_code, kExitUsage) << "the job fails at once and is not tried again";
        EXPECT_THAT(error.what(), HasSubstr("--submitter-budget"));
        EXPECT_THAT(error.what(), HasSubstr("token ci"));
    }
    budget.submitter.clear();
    budget.all_bytes = 1000 * kMb;
    EXPECT_THROW(make("synth-full-deepseek-v2-lite-s1.gguf", budget), Error);
    EXPECT_EQ(std::distance(fs::directory_iterator(made_models_folder()), {}), 1) << "its lock";
}

TEST_F(MadeModels, TheLongestUnusedMakesRoom) {
    ModelBudget budget;
    budget.all_bytes = 100 * kMb;
    for (int seed : {1, 2, 3}) {
        make(tiny(seed), budget);
        grow(tiny(seed), 30 * kMb);
    }
    mark_used(made_models_folder() + "/" + tiny(1));
    grow(tiny(3), 35 * kMb);
    make(tiny(4), budget);
    EXPECT_TRUE(lies(tiny(1))) << "used a moment ago";
    EXPECT_FALSE(lies(tiny(2)));
    EXPECT_TRUE(lies(tiny(3)));
    EXPECT_TRUE(lies(tiny(4)));
}

TEST_F(MadeModels, ASubmittersOwnModelsMakeRoomFirst) {
    ModelBudget budget;
    make(tiny(1), budget);
    grow(tiny(1), 30 * kMb);
    budget.submitter = "token ci";
    budget.submitter_bytes = 40 * kMb;
    make(tiny(2), budget);
    grow(tiny(2), 38 * kMb);
    make(tiny(3), budget);
    EXPECT_TRUE(lies(tiny(1))) << "another's, though unused for longest";
    EXPECT_FALSE(lies(tiny(2)));
    EXPECT_TRUE(lies(tiny(3)));
}

TEST_F(MadeModels, AnEngineCannotWriteMoreThanWasCounted) {
    write_engine("99000000");
    EXPECT_THROW(make(tiny(1), {}), Error);
    EXPECT_FALSE(lies(tiny(1)));
    for (const auto& entry : fs::directory_iterator(made_models_folder())) {
        EXPECT_EQ(entry.path().filename(), ".lock") << entry.path() << " is left";
    }
}

// A whole model takes a minute: SIGTERM, a cancelled job and a lost lease do not wait for it.
TEST_F(MadeModels, AStopEndsTheMakingAndTheWaitForIt) {
    StopSignal stop;
    std::ofstream(folder_ + "/engine")
        << "#!/bin/sh\nwhile [ $# -gt 0 ]; do [ \"$1\" = --out ] && out=$2; shift; done\n"
        << "echo half > \"$out\"\necho > '" << folder_ << "/begun'\nexec sleep 600\n";
    const auto interrupted = [&] {
        try {
            make_model(*made_model_of(tiny(1)), {}, arguments_, &stop);
        } catch (const Error& error) {
            return error.exit_code;
        }
        return kExitOk;
    };
    std::jthread first([&] { EXPECT_EQ(interrupted(), kExitInterrupted); });
    while (!fs::exists(folder_ + "/begun")) std::this_thread::yield();
    std::jthread second([&] { EXPECT_EQ(interrupted(), kExitInterrupted); });
    stop.raise();
    first.join();
    second.join();
    for (const auto& entry : fs::directory_iterator(made_models_folder())) {
        EXPECT_EQ(entry.path().filename(), ".lock") << entry.path() << " is left";
    }
}

TEST_F(MadeModels, HalfAModelOfAKilledCommandIsRemoved) {
    make(tiny(1), {});
    const std::string half = made_models_folder() + "/" + tiny(2) + ".4711.part";
    std::ofstream(half) << "half";
    make(tiny(3), {});
    EXPECT_FALSE(fs::exists(half));
    EXPECT_TRUE(lies(tiny(1)));
}

TEST_F(MadeModels, AModelThatLiesThereIsUsed) {
    make(tiny(1), {});
    write_engine("wrong");
    EXPECT_THAT(resolve_model(tiny(1), arguments_), HasSubstr(tiny(1)));
}

// A question on the user's own file: named after the file and its content, so that another content
// is another question, and the old one's link stays.
TEST_F(MadeModels, AQuestionOnOnesOwnModelIsAQuestionOfItsOwn) {
    const std::string own = folder_ + "/My Model.gguf";
    std::ofstream(own) << "weights";
    std::ofstream(folder_ + "/engine") << "#!/bin/sh\n[ $1 = plan ] && exit 0\nexit 3\n";
    arguments_.words = {"quickstart"};
    arguments_.options["model"] = own;
    const Spec asked = load_spec("quickstart"), first = question_on_own_model(arguments_);
    EXPECT_THAT(first.subject.model, testing::MatchesRegex("My-Model-[0-9a-f]{8}\\.gguf"));
    EXPECT_THAT(first.id, testing::StartsWith("quickstart-on-"));
    EXPECT_NE(first.sha256, asked.sha256);
    EXPECT_EQ(first.expect_diff, asked.expect_diff);
    EXPECT_EQ(fs::canonical(resolve_model(first.subject.model, arguments_)), fs::canonical(own));
    EXPECT_EQ(question_on_own_model(arguments_).sha256, first.sha256);
    std::ofstream(own) << "other weights";
    EXPECT_NE(question_on_own_model(arguments_).subject.model, first.subject.model);
}

TEST_F(MadeModels, WhatTheEngineCannotRunIsRefusedWithItsReason) {
    const auto complaint = [&] {
        try {
            question_on_own_model(arguments_);
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    std::ofstream(folder_ + "/engine")
        << "#!/bin/sh\necho found llama, allowed: deepseek2 >&2\nexit 2\n";
    arguments_.words = {"quickstart"};
    arguments_.options["model"] = folder_ + "/none.gguf";
    EXPECT_THAT(complaint(), testing::HasSubstr("is no file; allowed: a GGUF file"));
    arguments_.options["model"] = folder_ + "/engine";
    EXPECT_THAT(complaint(), testing::HasSubstr("found llama, allowed: deepseek2"));
    arguments_.words = {"sort-in-locale-c"};
    EXPECT_THAT(complaint(), testing::HasSubstr("an outside program, which has no model"));
}

}  // namespace
}  // namespace steady
