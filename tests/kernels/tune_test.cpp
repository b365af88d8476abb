// The tuner: who wins a halving, what its cache is keyed by, and that the numbers are checked
// before anything is timed. No test looks at who was faster.
#include "kernels/tool/tune.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "kernels/base/error.h"
#include "kernels/registry/cpu.h"
#include "kernels/tool/verbs.h"

namespace steady::tool {
namespace {

using Json = nlohmann::ordered_json;
using Order = std::vector<std::size_t>;

TEST(BetterHalf, KeepsTheBestRoundedUpBestFirst) {
    EXPECT_EQ(better_half({5, 1, 4, 2}), (Order{1, 3}));
    EXPECT_EQ(better_half({5, 1, 4}), (Order{1, 2}));
    EXPECT_EQ(better_half({7}), (Order{0}));
    EXPECT_EQ(better_half({3, 3, 3}), (Order{0, 1}));
}

class TuneCache : public testing::Test {
protected:
    void TearDown() override { std::filesystem::remove_all(folder_); }
    // Tests run side by side, each a process of its own.
    std::string folder_ = testing::TempDir() + "/tune_test-" + std::to_string(::getpid());
    std::string path_ = folder_ + "/deeper/tune.json";
    TuneKey key_{"add", "n=64", 1, false, "some cpu", "0123"};
};

TEST_F(TuneCache, FindsExactlyTheSameKey) {
    EXPECT_TRUE(find_tuned(read_tune_cache(path_), key_).is_null());
    store_tuned(path_, key_, {{"winner", "x"}});
    EXPECT_EQ(find_tuned(read_tune_cache(path_), key_)["winner"], "x");
    for (const auto& change : std::vector<std::function<void(TuneKey&)>>{
             [](TuneKey& k) { k.op = "rope"; }, [](TuneKey& k) { k.shape = "n=65"; },
             [](TuneKey& k) { k.threads = 2; }, [](TuneKey& k) { k.warm = true; },
             [](TuneKey& k) { k.machine = "another machine"; },
             [](TuneKey& k) { k.build = "4567"; }}) {
        TuneKey other = key_;
        change(other);
        EXPECT_TRUE(find_tuned(read_tune_cache(path_), other).is_null()) << to_json(other);
    }
    store_tuned(path_, key_, {{"winner", "y"}});
    EXPECT_EQ(read_tune_cache(path_).size(), 1U);
    EXPECT_EQ(find_tuned(read_tune_cache(path_), key_)["winner"], "y");
}

TEST_F(TuneCache, AFileThatIsNoCacheIsAnErrorThatSaysWhatToDo) {
    std::filesystem::create_directories(folder_);
    for (const char* text : {"not json", "{}", "[1]", "[{\"key\": 1}]"}) {
        std::ofstream(folder_ + "/bad.json") << text;
        try {
            read_tune_cache(folder_ + "/bad.json");
            ADD_FAILURE() << text;
        } catch (const Error& error) {
            EXPECT_NE(std::string(error.what()).find("delete the file"), std::string::npos);
        }
    }
}

Json tuned(std::vector<std::string> words, const std::string& cache) {
    words.insert(words.begin(), "tune");
    words.insert(words.end(), {"--warm", "--json", "--cache", cache});
    testing::internal::CaptureStdout();
    const int code = run_tool(words);
    std::fflush(nullptr);
    const std::string out = testing::internal::GetCapturedStdout();
    cpu::mask(cpu::none);
    EXPECT_EQ(code, 0);
    return Json::parse(out)["results"][0];
}

TEST_F(TuneCache, RefusesWrongNumbersAndRemembersTheRest) {
    const std::vector<std::string> what{"--op", "q4_0_matvec", "--shape", "rows=64,cols=64"};
    const Json first = tuned(what, path_);
    EXPECT_FALSE(first["cached"]);
    std::set<std::string> refused;
    for (const Json& each : first["refused"]) refused.insert(each["variant"]);
    EXPECT_TRUE(refused.contains("broken_lost_row"));
    EXPECT_TRUE(refused.contains("broken_ulp"));
    for (const Json& each : first["rounds"][0]) {
        EXPECT_FALSE(refused.contains(each["variant"].get<std::string>()));
    }
    // Halving: each round has the better half of the one before, rounded up.
    for (std::size_t i = 1; i < first["rounds"].size(); ++i) {
        EXPECT_EQ(first["rounds"][i].size(), (first["rounds"][i - 1].size() + 1) / 2);
    }
    EXPECT_EQ(first["winner"]["arm"]["kernels"]["q4_0_matvec"], first["winner"]["variant"]);
    const Json again = tuned(what, path_);
    EXPECT_TRUE(again["cached"]);
    EXPECT_EQ(again["winner"], first["winner"]);
}

TEST_F(TuneCache, CutsTakePartWhereThereAreThreads) {
    const Json found = tuned(
        {"--op", "add", "--shape", "n=4096", "--threads", "2", "--variant", "reference"}, path_);
    std::set<std::string> cuts;
    for (const Json& each : found["rounds"][0]) cuts.insert(each["cut"]);
    EXPECT_EQ(cuts, (std::set<std::string>{"static", "dynamic:2", "dynamic", "dynamic:32"}));
    EXPECT_EQ(found["winner"]["arm"].contains("engine_flags"), found["winner"]["cut"] != "static");
    EXPECT_FALSE(std::filesystem::exists(path_)) << "a search among some is not remembered";
}

}  // namespace
}  // namespace steady::tool
