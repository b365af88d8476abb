// The three clients as users get them, and programs that speak wrongly, die or hang.
#include "runner/programs/lockstep/lockstep_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "kernels/base/error.h"
#include "runner/platform/files.h"
#include "runner/programs/lockstep/lockstep_pair.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kClients = std::string(STEADY_SOURCE_DIR) + "/runner/programs/lockstep/clients";

ChildOptions options(std::vector<std::string> argv) {
    ChildOptions out;
    out.argv = std::move(argv);
    out.term_grace_s = 0.3;
    return out;
}

ChildOptions program(const std::string& steps, const std::string& how = "") {
    ChildOptions out = options({std::string(STEADY_BIN_DIR) + "/steady-lockstep-program", steps});
    if (!how.empty()) out.argv.push_back(how);
    return out;
}

std::function<ChildOptions()> starting(const ChildOptions& child) {
    return [child] { return child; };
}

double value_of(const std::vector<AdapterRow>& rows, const std::string& metric) {
    return select_series(rows, {.metric = metric}).values.at(0);
}

class Folder {
public:
    Folder() : path_(scratch_dir() + "/steady-lockstep-" + random_hex(6)) {
        make_directories(path_);
    }
    ~Folder() { fs::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    const std::string& path() const { return path_; }
    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(path_ + "/" + name) << text;
        return path_ + "/" + name;
    }

private:
    std::string path_;
};

TEST(LockstepClients, CPlusPlus) {
    LockstepSession session(program("1000"), 30);
    for (const int n : {1, 3}) {
        const auto rows = session.run(n, 30);
        EXPECT_EQ(value_of(rows, "steps"), 1000.0 * n);
        EXPECT_GT(value_of(rows, "wall_seconds"), 0);
        EXPECT_LT(value_of(rows, "wall_seconds"), 20);
    }
    session.quit();
}

TEST(LockstepClients, Python) {
    const Folder folder;
    fs::copy(kClients + "/steady_lockstep.py", folder.path());
    const std::string own =
        folder.write("own.py",
                     "import steady_lockstep\n"
                     "def work(n, out):\n"
                     "    print('a line of its own')\n"
                     "    if n == 7: raise ValueError('seven')\n"
                     "    out.add('score', 2 * n, 'points', 'higher', file='x')\n"
                     "steady_lockstep.serve(work)\n");
    LockstepSession session(options({"/usr/bin/python3", own}), 30);
    const auto rows = session.run(2, 30);
    const Series score = select_series(rows, {.metric = "score", .any = "x"});
    EXPECT_EQ(score.values, std::vector<double>{4});
    EXPECT_EQ(score.unit, "points");
    EXPECT_EQ(score.direction, Direction::higher_is_better);
    session.quit();

    LockstepSession failing(options({"/usr/bin/python3", own}), 30);
    try {
        failing.run(7, 30);
        ADD_FAILURE() << "no failure";
    } catch (const LockstepFailure& failure) {
        EXPECT_EQ(failure.outcome, "error");
        EXPECT_THAT(failure.what(), HasSubstr("ValueError('seven')"));
    }
}

TEST(LockstepClients, PythonFunctionWithoutALineOfItsOwn) {
    const Folder folder;
    folder.write("timed.py", "def parse():\n    return sum(range(1000))\n");
    ChildOptions child =
        options({"/usr/bin/python3", kClients + "/steady_lockstep.py", "timed:parse"});
    child.directory = folder.path();
    LockstepSession session(child, 30);
    EXPECT_GT(value_of(session.run(5, 30), "wall_seconds"), 0);
    session.quit();
}

TEST(LockstepClients, Shell) {
    const Folder folder;
    const std::string script = folder.write(
        "work.sh", ". " + kClients +
                       "/steady_lockstep.sh\n"
                       "work() { echo a line of its own; [ \"$1\" -lt 5 ] || return 4\n"
                       "  steady_result loops \"$1\" loops; cat; }\n"
                       "steady_lockstep work\n");
    LockstepSession session(options({"/bin/sh", script}), 30);
    EXPECT_EQ(value_of(session.run(3, 30), "loops"), 3);
    EXPECT_EQ(value_of(session.run(4, 30), "loops"), 4);
    session.quit();
    LockstepSession failing(options({"/bin/sh", script}), 30);
    try {
        failing.run(5, 30);
        ADD_FAILURE() << "no failure";
    } catch (const LockstepFailure& failure) {
        EXPECT_THAT(failure.what(), HasSubstr("the work ended with status 4"));
    }
}

struct Wrong {
    const char* how;
    const char* outcome;
    const char* says;
};

TEST(LockstepSession, WrongProgramsFailByName) {
    const Wrong kWrong[] = {
        {"mute", "timeout", "before it said \"ready 1\""},
        {"old", "protocol", "it said \"ready 0\", allowed: ready 1"},
        {"chatter", "protocol", "\"parsing file 1\", allowed: done 1 or a line"},
        {"miscount", "protocol", "\"done 7\""},
        {"hang", "timeout", "before it said \"done 1\""},
        {"crash", "signal", "Abort"},
        {"leave", "protocol", "ended before it said \"done 1\": exit code 0"},
        {"flood", "output_cap", "more than 256 KiB of results in one turn"},
        {"nonsense", "protocol", "no \"value\""},
        {"bad-end", "crash", "after quit: exit code 3"},
        {"throw", "error", "the disk is full"},
    };
    for (const Wrong& wrong : kWrong) {
        try {
            const double patience = std::string(wrong.outcome) == "timeout" ? 0.3 : 30;
            LockstepSession session(program("10", wrong.how), patience);
            session.run(1, patience);
            session.quit();
            ADD_FAILURE() << wrong.how << " passed";
        } catch (const LockstepFailure& failure) {
            EXPECT_EQ(failure.outcome, wrong.outcome) << wrong.how << ": " << failure.what();
            EXPECT_THAT(failure.what(), HasSubstr(wrong.says)) << wrong.how;
        }
    }
    EXPECT_THROW(LockstepSession(options({"/nowhere/program"}), 5), Error);
}

TEST(LockstepPair, TurnsFollowTheCoins) {
    const LockstepTurns turns = take_turns({.a = starting(program("200000")),
                                            .b = starting(program("400000")),
                                            .coins = "0110",
                                            .warmup_turns = 1,
                                            .repetitions = 2,
                                            .timeout_s = 60});
    ASSERT_EQ(turns.a.size(), 4U);
    ASSERT_EQ(turns.b.size(), 4U);
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(value_of(turns.a[i], "steps"), 400000);
        EXPECT_EQ(value_of(turns.b[i], "steps"), 800000);
    }
}

TEST(LockstepPair, TheArmThatFailsIsNamed) {
    for (const bool in_a : {true, false}) {
        const auto good = starting(program("10")), bad = starting(program("10", "crash"));
        try {
            take_turns({.a = in_a ? bad : good, .b = in_a ? good : bad, .coins = "10"});
            ADD_FAILURE() << "passed";
        } catch (const LockstepFailure& failure) {
            EXPECT_EQ(failure.arm, in_a ? "A" : "B");
            EXPECT_EQ(failure.outcome, "signal");
        }
    }
}

TEST(LockstepPair, AProgramThatWorksWhileItWaitsIsRefused) {
    try {
        take_turns({.a = starting(program("5000000")),
                    .b = starting(program("5000000", "greedy")),
                    .coins = std::string(10, '0'),
                    .timeout_s = 60});
        ADD_FAILURE() << "passed";
    } catch (const LockstepFailure& failure) {
        EXPECT_EQ(failure.arm, "B");
        EXPECT_THAT(failure.what(),
                    AllOf(HasSubstr("while it should have waited"), HasSubstr("process_pairs")));
    }
}

}  // namespace
}  // namespace steady
