// A hostile program as a job: a registered program whose candidate tries what it must not. Run by
// its own user on the own machine each attempt works; run by a worker none does. The attempts one
// by one, with more of them: confine_hostile_test.cpp.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "runner/platform/files.h"
#include "runner/programs/confine/confine.h"
#include "tests/support/git_fixture.h"
#include "tests/support/process_alive.h"
#include "tests/support/steady_cli.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using Json = nlohmann::json;
using Words = std::vector<std::string>;

// Processes that have the word among their arguments.
int running_with(const std::string& word) {
    int n = 0;
    for (const auto& entry : fs::directory_iterator("/proc")) {
        std::ifstream in(entry.path() / "cmdline", std::ios::binary);
        const std::string words((std::istreambuf_iterator<char>(in)), {});
        n += words.find(word) != words.npos;
    }
    return n;
}

class OutsideHostile : public ::testing::Test {
protected:
    void SetUp() override {
        if (const auto trouble = confinement_trouble(); !trouble.empty()) GTEST_SKIP() << trouble;
        if (::geteuid() != 0) GTEST_SKIP() << "only root can make a file that makes root";
        fs::copy_file(STEADY_BIN_DIR "/steady-hostile", repository.path() + "/hostile");
        fs::create_directories(open_folder());
        fs::copy_file(STEADY_BIN_DIR "/steady-hostile", setuid_file());
        ASSERT_EQ(::chmod(setuid_file().c_str(), 04755), 0);
        fs::create_directories(cli.state() / "builds/trees/other");
        std::ofstream(cli.state() / "builds/trees/other/secret") << "secret";
        std::ofstream(cli.state() / "secret") << "secret";
        listen();
        fs::create_directories(cli.state() / "sources");
        fs::create_directory_symlink(repository.path(), cli.state() / "sources/hostile");
        write_attempts();
    }
    void TearDown() override {
        std::error_code ignored;
        fs::remove(beat_file, ignored);
    }

    std::string open_folder() const { return repository.beside("open"); }
    std::string setuid_file() const { return open_folder() + "/setuid"; }

    void listen() {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        ASSERT_EQ(::bind(server.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
        ASSERT_EQ(::listen(server.get(), 64), 0);
        ::getsockname(server.get(), reinterpret_cast<sockaddr*>(&address), &size);
        port = std::to_string(ntohs(address.sin_port));
    }

    std::string database_socket() const {
        std::string url = cli.run({"db", "url"}).out;
        const std::size_t at = url.find("host=") + 5;
        return url.substr(at, url.find_first_of("&\n", at) - at) + "/.s.PGSQL.5432";
    }

    // One line for each attempt, ending in worked or stopped.
    void write_attempts() {
        const std::vector<std::pair<std::string, std::string>> attempts = {
            {"database", "unix " + database_socket()},
            {"state", "read " + (cli.state() / "secret").string()},
            {"cache", "read " + (cli.state() / "builds/trees/other/secret").string()},
            {"network", "tcp " + port},
            {"setuid", "become " + setuid_file()},
            {"write", "write " + open_folder() + "/mark"},
        };
        std::string tries =
            "try() { if ./hostile $2 $3 > /dev/null 2>&1; then echo \"$1 worked\"; "
            "else echo \"$1 stopped\"; fi; }\n";
        std::string all_work, all_stop;
        for (const auto& [name, words] : attempts) {
            tries += "try " + name + " " + words + "\n";
            all_work += "echo " + name + " worked\n";
            all_stop += "echo " + name + " stopped\n";
        }
        tries += "./hostile outlive " + beat_file + "\nwhile [ ! -s " + beat_file +
                 " ]; do :; done\necho left one behind\n";
        for (std::string* told : {&all_work, &all_stop}) *told += "echo left one behind\n";
        repository.write("attempts.sh", tries);
        repository.write("all-work.sh", all_work);
        repository.write("all-stop.sh", all_stop);
        commit = repository.commit("A program with bad intentions");
    }

    Json question(const Words& a, const Words& b) const {
        return {
            {"owner", "test"},
            {"hypothesis",
             {{"claim", "B does what it should not."}, {"because", "It was written for that."}}},
            {"subject", {{"program", "outside"}, {"name", "hostile"}, {"repo", "hostile"}}},
            {"arms", {{"A", {{"rev", commit}, {"run", a}}}, {"B", {{"rev", commit}, {"run", b}}}}},
            {"expect_diff", {"run"}},
            {"gates", Json::array({{{"id", "output"},
                                    {"level", "correctness"},
                                    {"role", "guard"},
                                    {"need", {{"exit", 0}, {"stdout", "equal"}}}},
                                   {{"id", "memory"},
                                    {"level", "model"},
                                    {"role", "advice"},
                                    {"metric", "peak_memory_bytes"}}})},
            {"schedule", {{"pairs", {{"max", 2}}}, {"aa_pairs", 0}, {"timeout_s", 20}}}};
    }

    void register_program() const {
        const Json file = {
            {"name", "hostile"},
            {"repository", repository.path()},
            {"refs", {"main"}},
            {"run", Json::array({Words{"/bin/sh", "all-stop.sh"}, Words{"/bin/sh", "attempts.sh"},
                                 Words{"./hostile", "bomb"}, Words{"./hostile", "flood"},
                                 Words{"./hostile", "hang"},
                                 Words{"./hostile", "memories", "4", "33554432"}})},
            {"readable", Words{open_folder()}},
            {"limits", {{"processes", 40}, {"memory_mb", 96}}}};
        std::ofstream(repository.beside("hostile.json")) << file.dump();
        const CliResult added = cli.run({"program", "add", repository.beside("hostile.json")});
        ASSERT_EQ(added.code, 0) << added.err;
    }

    Json through_worker(const std::string& id, const Json& spec) const {
        const CliResult queued = cli.run({"submit", cli.experiment(id, spec), "--json"});
        EXPECT_EQ(queued.code, 0) << queued.err;
        const std::string job = queued.json().value("id", "");
        const CliResult worked = cli.work(job);
        const Json shown = cli.run({"show", job, "--json"}).json();
        EXPECT_EQ(shown.value("state", ""), "done") << worked.err;
        return shown;
    }

    SteadyCli cli;
    GitFixture repository;
    Fd server{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    std::string port, commit;
    const std::string beat_file = "/tmp/steady-beat-" + random_hex(8);
};

// The proof that the attempts are real: nothing but the confinement stops them.
TEST_F(OutsideHostile, FreeEveryAttemptWorks) {
    const Json spec = question({"/bin/sh", "all-work.sh"}, {"/bin/sh", "attempts.sh"});
    const CliResult done = cli.run({"run", cli.experiment("free", spec), "--json"});
    EXPECT_EQ(done.json().at("reason"), "micro_only") << done.out << done.err;
    EXPECT_TRUE(fs::exists(open_folder() + "/mark"));
    EXPECT_EQ(running_with(beat_file), 0) << "it outlives its run";
}

TEST_F(OutsideHostile, ByAWorkerNoneDoes) {
    register_program();
    const Json shown = through_worker(
        "confined", question({"/bin/sh", "all-stop.sh"}, {"/bin/sh", "attempts.sh"}));
    EXPECT_EQ(shown.at("reason"), "micro_only") << "see line N of the sentence: " << shown;
    EXPECT_FALSE(fs::exists(open_folder() + "/mark"));
    EXPECT_EQ(running_with(beat_file), 0) << "it outlives its job";
}

// One run of B that does not end by itself, or ends badly, in a job of a worker.
TEST_F(OutsideHostile, EachWayOfNotEndingIsAVerdictAndLeavesNothing) {
    register_program();
    struct Case {
        const char* id;
        Words run;
        const char* says;
    };
    std::vector<Case> cases = {{"bomb", {"./hostile", "bomb"}, "timeout"},
                               {"flood", {"./hostile", "flood"}, "output_cap"},
                               {"hang", {"./hostile", "hang"}, "timeout"}};
    if (tree_means().memory) {  // each of its processes stays below the limit
        cases.push_back({"memory", {"./hostile", "memories", "4", "33554432"}, "exit code 1"});
    }
    for (const Case& one : cases) {
        Json spec = question({"/bin/sh", "all-stop.sh"}, one.run);
        spec["gates"][0]["need"] = {{"exit", 0}};
        spec["schedule"]["timeout_s"] = 2;
        const Json shown = through_worker(one.id, spec);
        EXPECT_EQ(shown.at("reason"), "wrong_output") << one.id << shown;
        EXPECT_THAT(shown.at("sentence"), HasSubstr(one.says)) << one.id;
        for (int i = 0; i < 300 && running_below(cli.state()) > 0; ++i)  // the kernel buries them
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        EXPECT_EQ(running_below(cli.state()), 0) << one.id;
        EXPECT_EQ(running_with("./hostile"), 0) << one.id;
    }
}

}  // namespace
}  // namespace steady
