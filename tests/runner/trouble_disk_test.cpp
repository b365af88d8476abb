// A disk that fails, is full, or loses power. The spool holds what a worker was told is stored, so
// every pair whose add() returned must be readable afterwards; a model file is read whole or
// refused.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/gguf/file.h"
#include "runner/queue/spool.h"
#include "tests/support/failing_calls.h"
#include "tests/support/loop_disk.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
using test::FailingCall;
using test::How;

constexpr int kPairs = 6;

struct Trouble {
    const char* name;
    How how;
    int error;
};
constexpr Trouble kTroubles[] = {{"EIO", How::error, EIO},
                                 {"ENOSPC", How::error, ENOSPC},
                                 {"EINTR", How::interrupted, 0},
                                 {"too short", How::too_short, 0}};

Pair pair_of(int number) {
    Pair pair;
    pair.gate = 1;
    pair.number = number;
    pair.coins = "01";
    pair.a["token_ns"] = pair.b["token_ns"] = {1.5, 2.5, 1.0 / 3};
    return pair;
}

Lease lease() { return {1, 1, 1, "0123456789abcdef", "spooled"}; }

// The numbers of the pairs that a reader finds, as replay_spools() reads them.
std::set<int> found_in(const std::string& path) {
    std::set<int> found;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        const auto entry = nlohmann::json::parse(line, nullptr, false);
        if (entry.is_object() && entry.contains("number"))
            found.insert(entry.at("number").get<int>());
    }
    return found;
}

class DiskTrouble : public ::testing::Test {
protected:
    DiskTrouble() { fs::create_directories(folder_); }
    ~DiskTrouble() override {
        std::error_code error;
        fs::remove_all(folder_, error);
    }
    std::string folder_ = scratch_dir() + "/steady-trouble-" + random_hex(6);
};

TEST_F(DiskTrouble, EachCallOfTheSpoolFailsOnce) {
    int n_failed = 0;
    for (const Trouble& trouble : kTroubles) {
        for (int n = 1;; ++n) {
            ASSERT_LT(n, 200);
            const std::string folder = fmt::format("{}/{}-{}", folder_, trouble.name, n);
            fs::create_directories(folder);
            std::set<int> acknowledged;
            std::string path;
            bool happened = false;
            {
                const FailingCall failing(n, trouble.how, trouble.error);
                try {
                    Spool spool(folder, lease());
                    path = spool.path();
                    for (int i = 0; i < kPairs; ++i) {
                        const int at = spool.add(pair_of(i), "");
                        acknowledged.insert(i);
                        spool.mark_stored(at);
                    }
                } catch (const HostTrouble& error) {
                    EXPECT_THAT(error.what(), ::testing::HasSubstr(folder)) << "which file";
                } catch (const Error& error) {
                    EXPECT_THAT(error.what(), ::testing::HasSubstr(folder)) << "which folder";
                }
                happened = failing.happened();
            }
            EXPECT_THAT(found_in(path), ::testing::IsSupersetOf(acknowledged))
                << trouble.name << ", call " << n;
            if (!happened) {
                EXPECT_EQ(acknowledged.size(), std::size_t{kPairs});
                break;
            }
            ++n_failed;
        }
    }
    EXPECT_GT(n_failed, 4 * 3 * kPairs);
    fmt::print("{} calls of the spool failed, nothing acknowledged was lost\n", n_failed);
}

TEST_F(DiskTrouble, EachCallOfReadingAModelFailsOnce) {
    const std::string path = STEADY_SOURCE_DIR "/tests/data/models/tiny-glm.gguf";
    const auto contents = [&] {
        const GgufFile file = GgufFile::open(path);
        std::vector<std::byte> bytes;
        for (const Tensor& tensor : file.tensors()) {
            const std::size_t at = bytes.size();
            bytes.resize(at + tensor.bytes);
            file.read(tensor, std::span(bytes).subspan(at));
        }
        return bytes;
    };
    const auto good = contents();
    int n_failed = 0, n_recovered = 0;
    for (const Trouble& trouble : kTroubles) {
        for (int n = 1;; ++n) {
            const FailingCall failing(n, trouble.how, trouble.error);
            try {
                const auto read = contents();
                EXPECT_TRUE(read == good) << trouble.name << ", call " << n;
                n_recovered += failing.happened() ? 1 : 0;
            } catch (const Error& error) {
                EXPECT_THAT(error.what(), ::testing::HasSubstr("tiny-glm.gguf"));
                EXPECT_EQ(trouble.how, How::error) << error.what();
            }
            if (!failing.happened()) break;
            ++n_failed;
        }
    }
    EXPECT_GT(n_failed, 40);
    fmt::print("{} calls failed, {} of them without harm\n", n_failed, n_recovered);
}

class SmallDisk : public DiskTrouble {
protected:
    void SetUp() override {
        if (!file_system_.why_not().empty()) {
            GTEST_SKIP() << "SKIPPED: " << file_system_.why_not();
        }
    }
    std::string disk_ = folder_ + "/disk";
    test::LoopDisk file_system_{folder_ + "/disk.img", disk_, 24};
};

TEST_F(SmallDisk, AFullDiskIsSaidAndWhatWasAcknowledgedStays) {
    Spool spool(disk_ + "/spool", lease());
    spool.add(pair_of(0), "");
    {
        std::ofstream ballast(disk_ + "/ballast", std::ios::binary);
        const std::string block(1 << 12, 'x');
        while (ballast.write(block.data(), 1 << 12).flush()) {
        }
    }
    int n_added = 1;
    try {
        for (; n_added < 1000; ++n_added) spool.add(pair_of(n_added), "");
        ADD_FAILURE() << "a thousand pairs on a full disk";
    } catch (const HostTrouble& error) {
        EXPECT_THAT(error.what(), ::testing::HasSubstr("No space left on device"));
        EXPECT_THAT(error.what(), ::testing::HasSubstr(spool.path()));
    }
    EXPECT_THROW(Spool(disk_ + "/other", lease()), Error);
    fs::remove(disk_ + "/ballast");
    spool.add(pair_of(n_added), "");
    EXPECT_EQ(found_in(spool.path()).size(), static_cast<std::size_t>(n_added) + 1)
        << "the torn line in between costs nobody else's pair";
}

TEST_F(SmallDisk, APowerCutLosesNothingAcknowledged) {
    Spool spool(disk_ + "/spool", lease());
    const std::string name = fs::path(spool.path()).filename();
    for (int i = 0; i < kPairs; ++i) {
        spool.mark_stored(spool.add(pair_of(i), ""));
        const std::string place = file_system_.after_power_cut();
        EXPECT_EQ(found_in(place + "/spool/" + name).size(), static_cast<std::size_t>(i) + 1)
            << "power was cut after pair " << i;
    }
}

}  // namespace
}  // namespace steady
