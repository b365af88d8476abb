// The executor against a program that speaks the protocol and misbehaves as told: every failure
// becomes the pair's outcome, and no half-measured value survives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "kernels/base/error.h"
#include "runner/judge/gpu_clocks.h"
#include "runner/judge/op_times.h"
#include "runner/judge/placement.h"
#include "runner/programs/steady_engine/engine_executor.h"

namespace steady {
namespace {

class ExecutorTest : public ::testing::Test {
protected:
    ExecutorTest() {
        std::filesystem::create_directories(folder_);
        spec_.arms["A"].kernels = {{"q4_0_matvec", "reference"}};
        spec_.arms["B"].kernels = {{"q4_0_matvec", "avx2"}};
        spec_.subject.threads = 2;
    }
    ~ExecutorTest() override { std::filesystem::remove_all(folder_); }

    EngineExecutor make(const std::string& behaviour, double timeout_s = 10) {
        std::ofstream(folder_ + "/model") << behaviour << "\n";
        EngineExecutorOptions options;
        options.spec = &spec_;
        options.engine_path = std::string(STEADY_BIN_DIR) + "/steady-fake-engine";
        options.model_path = folder_ + "/model";
        options.stop = &stop_;
        options.timeout_s = timeout_s;
        options.weights = weights_;
        return EngineExecutor(options);
    }
    static MeasureRequest request(PairKind kind = PairKind::measure) {
        MeasureRequest request;
        request.scope = "model";
        request.pair.kind = kind;
        request.pair.coins = "01100110";
        request.chunk = 2;
        request.warmup_tokens = 4;
        request.tokens = 12;
        return request;
    }

    std::string folder_ = "/tmp/steady-exec-" + random_hex(6);
    Spec spec_;
    StopSignal stop_;
    std::shared_ptr<PreparedWeights> weights_ = std::make_shared<PreparedWeights>();
};

TEST_F(ExecutorTest, AGoodPairIsFilled) {
    const auto measured = make("").measure(request());
    EXPECT_EQ(measured.outcome, "ok") << measured.detail;
    EXPECT_EQ(measured.pair.a.at("token_ns").size(), 16U);
    EXPECT_EQ(measured.pair.b.at("token_ns").front(), 900);
    EXPECT_EQ(measured.pair.a.count("launches_per_token"), 0U) << "zero in both arms: not measured";
    EXPECT_EQ(measured.pair.a.count("rss_bytes"), 1U);
}

TEST_F(ExecutorTest, ClocksOfAGpuAreKeptWithThePair) {
    spec_.arms["A"].engine_flags = spec_.arms["B"].engine_flags = {{"device", "cuda"}};
    const auto measured = make("clocks").measure(request());
    EXPECT_EQ(measured.outcome, "ok") << measured.detail;
    EXPECT_EQ(measured.pair.a.at(kSmClock), std::vector<double>(8, 1980));
    EXPECT_EQ(measured.pair.b.at(kSmClock), std::vector<double>(8, 1965));
    EXPECT_EQ(measured.pair.b.at(kMemoryClock), std::vector<double>(8, 2619));
    EXPECT_EQ(measured.pair.b.at(kClockReasons), std::vector<double>(8, 5)) << "1 + NVML's bits";
    const auto broken = make("clocks-short").measure(request());
    EXPECT_EQ(broken.outcome, "ok") << "times are good all the same";
    EXPECT_EQ(broken.pair.a.count(kSmClock) + broken.pair.b.count(kSmClock), 0U);
    EXPECT_EQ(make("").measure(request()).pair.a.count(kSmClock), 0U) << "an older engine";
}

TEST_F(ExecutorTest, AnAaPairIsTwiceTheBaseline) {
    const auto measured = make("").measure(request(PairKind::aa));
    EXPECT_EQ(measured.pair.a, measured.pair.b);
}

TEST_F(ExecutorTest, ProcessPairsFollowTheCoinAndUseOneHalf) {
    spec_.schedule.mode = Mode::process_pairs;
    auto ask = request();
    ask.pair.coins = "1";
    const auto measured = make("").measure(ask);
    EXPECT_EQ(measured.outcome, "ok") << measured.detail;
    EXPECT_EQ(measured.pair.b.at("token_ns").size(), 16U);
}

TEST_F(ExecutorTest, EveryBadReplyIsAProtocolOutcome) {
    for (const char* behaviour : {"wrong-nonce", "no-nonce", "nan", "negative", "zero", "huge",
                                  "text", "few", "many", "unknown", "missing", "array", "half",
                                  "garbage", "empty", "two", "bare-nan", "quiet-exit"}) {
        const auto measured = make(behaviour).measure(request());
        EXPECT_EQ(measured.outcome, "protocol") << behaviour << ": " << measured.detail;
        EXPECT_TRUE(measured.pair.a.empty()) << behaviour;
        EXPECT_FALSE(measured.detail.empty()) << behaviour;
    }
}

// Half of the processes open B first; an op's times are its own arm's all the same.
TEST_F(ExecutorTest, AProfileJoinsEightProcesses) {
    const protocol::ProfileReply profile = make("").profile().value();
    const protocol::ProfileRow& a = profile.arms.at("A").at(0);
    const protocol::ProfileRow& b = profile.arms.at("B").at(0);
    EXPECT_EQ(a.variant, "reference");
    EXPECT_EQ(b.variant, "avx2");
    EXPECT_EQ(a.process_ns, std::vector<double>(8, 1000));
    EXPECT_EQ(b.process_ns, std::vector<double>(8, 900));
    EXPECT_EQ(profile.launches_per_token.at("A"), 10);
    EXPECT_EQ(profile.barrier_ns_per_token.at("B"), 90);
    EXPECT_EQ(profile.read_gb_per_s, 40);  // of the processes that were asked for it
}

TEST_F(ExecutorTest, AnEngineOfVersion1IsNotAskedToLeaveOutTheReadSpeed) {
    EXPECT_EQ(make("version-1").profile().value().read_gb_per_s, 40);
}

TEST_F(ExecutorTest, AProfileThatFailsIsSaid) {
    for (const char* behaviour : {"crash", "wrong-nonce", "unknown", "half", "refuse"}) {
        EXPECT_THROW(make(behaviour).profile(), CandidateFailed) << behaviour;
    }
    const protocol::ProfileReply profile = make("one-arm").profile().value();
    EXPECT_FALSE(op_times(profile).at(0).change) << "compared with an arm that said nothing";
}

TEST_F(ExecutorTest, EndingsAreToldApart) {
    EXPECT_EQ(make("crash").measure(request()).outcome, "signal");
    EXPECT_EQ(make("abort").measure(request()).outcome, "crash");
    EXPECT_EQ(make("bad-end").measure(request()).outcome, "crash");
    EXPECT_EQ(make("refuse").measure(request()).outcome, "crash");
    EXPECT_EQ(make("flood").measure(request()).outcome, "output_cap");
    EXPECT_EQ(make("hang", 0.3).measure(request()).outcome, "timeout");
}

TEST_F(ExecutorTest, AStopEndsTheRunningPair) {
    std::jthread asker([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        stop_.raise();
    });
    EXPECT_EQ(make("hang", 60).measure(request()).outcome, "cancelled");
}

TEST_F(ExecutorTest, ADisturbedWindowIsDiscardedByItsReason) {
    const auto measured = make("steal").measure(request());
    EXPECT_EQ(measured.outcome, "ok");
    EXPECT_EQ(measured.pair.discarded, "noise: steal 50.0 %");
}

TEST_F(ExecutorTest, WherePairAfterPairStaysNoisyTheFirstTryCounts) {
    auto executor = make("steal");
    MeasureRequest asked = request();
    const auto discarded = [&](int attempt) {
        asked.pair.attempt = attempt;
        return !executor.measure(asked).pair.discarded.empty();
    };
    for (int pair = 0; pair < 2; ++pair) {
        EXPECT_TRUE(discarded(0));
        EXPECT_TRUE(discarded(1));
        EXPECT_FALSE(discarded(2)) << "the last try counts";
    }
    EXPECT_FALSE(discarded(0));
}

TEST_F(ExecutorTest, RefusedArmsAreTheUsersErrorAndAWrongCandidateIsNot) {
    auto refusing = make("refuse-open");
    try {
        refusing.open();
        FAIL();
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), ::testing::HasSubstr("unknown variant avx9"));
    }
    EXPECT_EQ(make("").correctness().positions, 32);
    EXPECT_THROW(make("crash").correctness(), CandidateFailed);
}

void put_bytes(const PreparedWeights& weights, std::size_t n) {
    const std::string bytes(n, 'w');
    ASSERT_EQ(::pwrite(weights.descriptor(), bytes.data(), n, 0), static_cast<ssize_t>(n));
}

TEST_F(ExecutorTest, WeightsStayForTheNextExperiment) {
    make("").open();
    put_bytes(*weights_, 1);
    const std::string model = folder_ + "/model";
    std::filesystem::resize_file(model, 100000);
    weights_->begin(model);
    EXPECT_TRUE(weights_->filled()) << "whether they fit is the engine's to say";
    put_bytes(*weights_, 130000);
    weights_->begin(model);
    EXPECT_FALSE(weights_->filled()) << "more than the model and a fifth: others' layouts";
}

TEST_F(ExecutorTest, EachBlockOfPairsHasAPlacementOfItsOwn) {
    auto executor = make("");
    executor.open();
    // More than one part, the last one not whole.
    std::string bytes((std::size_t{70} << 20U) + 12345, 'w');
    for (std::size_t i = 0; i < bytes.size(); i += 4096) bytes[i] = static_cast<char>(i / 4096);
    ASSERT_EQ(::pwrite(weights_->descriptor(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
    std::vector<double> placements;
    std::vector<bool> moved;
    for (int number = 0; number < 7; ++number) {
        MeasureRequest one = request();
        one.pair.number = number;
        const auto measured = executor.measure(one);
        ASSERT_EQ(measured.outcome, "ok") << measured.detail;
        placements.push_back(measured.pair.a.at(kPlacement).front());
        EXPECT_EQ(measured.pair.a.at(kPlacement), measured.pair.b.at(kPlacement));
        moved.push_back(measured.pair.a.contains(kPlacementSeconds));
    }
    EXPECT_EQ(moved, (std::vector<bool>{false, false, false, true, false, false, true}));
    EXPECT_EQ(placements[0], placements[2]);
    EXPECT_NE(placements[2], placements[3]);
    EXPECT_EQ(placements[3], placements[5]);
    EXPECT_NE(placements[5], placements[6]);
    std::string now(bytes.size(), ' ');
    ASSERT_EQ(::pread(weights_->descriptor(), now.data(), now.size(), 0),
              static_cast<ssize_t>(now.size()));
    EXPECT_TRUE(now == bytes) << "the weights are the same";
    // Another experiment does not begin on the placement of the one before.
    const std::string model = folder_ + "/model";
    std::filesystem::resize_file(model, bytes.size());
    weights_->begin(model);
    ASSERT_TRUE(weights_->filled());
    const auto next = make("").measure(request());
    EXPECT_NE(next.pair.a.at(kPlacement).front(), placements[6]);
}

TEST_F(ExecutorTest, WeightsThatTheEngineWillNotTakeAreMadeAnew) {
    // It refuses the arms for want of room, or ends at once: another model's, another build's.
    for (const char* behaviour : {"refuse-full", "leave-full"}) {
        auto executor = make(behaviour);
        put_bytes(*weights_, 1);
        EXPECT_NO_THROW(executor.open()) << behaviour;
        EXPECT_FALSE(weights_->filled()) << behaviour;
    }
    // A resumed experiment begins with a pair.
    auto resumed = make("refuse-full");
    put_bytes(*weights_, 1);
    const auto measured = resumed.measure(request());
    EXPECT_EQ(measured.outcome, "ok") << measured.detail;
    auto refusing = make("refuse-open");
    put_bytes(*weights_, 1);
    EXPECT_THROW(refusing.open(), Error) << "asked twice, refused twice";
}

}  // namespace
}  // namespace steady
