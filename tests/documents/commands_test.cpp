// Every block of commands in a guide, run as it stands: in a copy of the tree with an empty
// database (for the first guide, none), one line after the other. A block that cannot run here says
// so after its fence
// ("```sh not run: needs root"), and the test prints that.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <regex>
#include <sstream>

#include "tests/support/guides.h"
#include "tests/support/ready_cluster.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
const fs::path kSource = STEADY_SOURCE_DIR;

struct Ran {
    int code = -1;
    std::string text;  // stdout and stderr
};

std::string read(const fs::path& path) {
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

fs::path temporary_folder(const char* pattern) {
    std::string path = (fs::temp_directory_path() / pattern).string();
    if (::mkdtemp(path.data()) == nullptr) throw std::runtime_error("mkdtemp " + path);
    ::chmod(path.c_str(), 0755);
    return path;
}

// A checkout whose programs are built: the launcher finds them up to date.
class Checkout {
public:
    explicit Checkout(bool first_start)
        : root_(temporary_folder("steady-guide-XXXXXX")),
          state_(temporary_folder("steady-state-XXXXXX")) {
        copy(kSource, root_);
        fs::create_directories(root_ / "build/release");
        fs::create_directory_symlink(STEADY_BIN_DIR, root_ / "build/release/bin");
        std::ofstream(root_ / "build/release/.built-programs") << "\n";
        shorten();
        if (!first_start) give_ready_cluster(state_.string(), Fsync::off);
    }
    ~Checkout() {
        end_cluster(state_.string());
        std::error_code ignored;
        fs::remove_all(root_, ignored);
        fs::remove_all(state_, ignored);
    }
    Checkout(const Checkout&) = delete;
    Checkout& operator=(const Checkout&) = delete;

    // The questions that guides ask, in the checkout: which verdict they end with is not tested, so
    // the fewest pairs that a question may have, few tokens, and one thread, since other tests run
    // beside them.
    void shorten() const {
        static const std::regex kPairs(R"re("pairs": \{+ "max": \d+)re");
        static const std::regex kTokens(R"re("tokens": \d+, )re");
        static const std::regex kThreads(R"re("threads": \d+)re");
        static const std::regex kOwnNoise(R"re("aa_pairs": \d+)re");
        for (const char* folder : {"experiments", "experiments/selftest"}) {
            for (const auto& entry : fs::directory_iterator(root_ / folder)) {
                const std::string name = entry.path().filename().string();
                const bool asked = name.starts_with("my-") || name == "quickstart.json" ||
                                   fs::path(folder).filename() == "selftest";
                if (!asked || entry.path().extension() != ".json") continue;
                std::string text = std::regex_replace(read(entry.path()), kTokens, "");
                text = std::regex_replace(text, kThreads, R"("threads": 1)");
                text = std::regex_replace(text, kOwnNoise, R"("aa_pairs": 2)");
                text = std::regex_replace(text, kPairs, R"("tokens": 32, "pairs": { "max": 10)");
                std::ofstream(entry.path()) << text;
            }
        }
    }

    // One line of shell in the checkout, as a user's own shell would run it.
    Ran run(const std::string& line) const {
        const std::string out = (state_ / ".out").string();
        const pid_t pid = ::fork();
        if (pid == 0) {
            const int to = ::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
            ::dup2(::open("/dev/null", O_RDONLY), 0);
            ::dup2(to, 1);
            ::dup2(to, 2);
            if (::chdir(root_.c_str()) != 0) ::_exit(126);
            const std::vector<std::string> environment = {
                "PATH=" STEADY_BIN_DIR ":/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
                "HOME=" + state_.string(),
                "USER=reader",
                "LANG=C.UTF-8",
                "STEADY_STATE_DIR=" + state_.string(),
                "STEADY_HOST_LOCK=" + state_.string() + "/host.lock"};
            std::vector<char*> settings;
            for (const std::string& one : environment) {
                settings.push_back(const_cast<char*>(one.c_str()));
            }
            settings.push_back(nullptr);
            ::execle("/bin/bash", "bash", "-o", "pipefail", "-c", line.c_str(), nullptr,
                     settings.data());
            ::_exit(127);
        }
        int status = 0;
        ::waitpid(pid, &status, 0);
        return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read(out)};
    }

private:
    // The tests' data, half of the tree, is only read.
    static void copy(const fs::path& from, const fs::path& to) {
        static const std::set<std::string> kLeft = {"build", ".git", ".steady", "node_modules",
                                                    "screenshots"};
        for (const auto& entry : fs::directory_iterator(from)) {
            const fs::path name = entry.path().filename();
            if (kLeft.contains(name.string())) continue;
            if (entry.path() == kSource / "tests/data") {
                fs::create_directory_symlink(entry.path(), to / name);
            } else if (entry.is_directory()) {
                fs::create_directory(to / name, entry.path());
                copy(entry.path(), to / name);
            } else {
                fs::copy(entry.path(), to / name);
            }
        }
    }

    fs::path root_, state_;
};

// Comments and continued lines put together.
std::vector<std::string> commands_of(const Block& block) {
    std::vector<std::string> commands;
    std::string open;
    for (const std::string& line : block.lines) {
        const std::size_t at = line.find_first_not_of(' ');
        if (open.empty() && (at == std::string::npos || line[at] == '#')) continue;
        open += line;
        if (open.ends_with('\\')) {
            open.back() = ' ';
            continue;
        }
        commands.push_back(open);
        open.clear();
    }
    return commands;
}

// What may come out: "# exit N" in the line; a verdict where the verb ends with one, since a test
// does not decide what a noisy machine finds; else success.
std::set<int> allowed_codes(const std::string& command) {
    std::smatch given;
    if (std::regex_search(command, given, std::regex(R"re(# exit (\d+))re"))) {
        return {std::stoi(given[1])};
    }
    const std::regex verdict(R"re(steady (run|rerun|demo|sweep|watch|ab|bench) |steady demo)re");
    if (std::regex_search(command, verdict)) return {0, 10, 11};
    if (std::regex_search(command, std::regex("steady doctor"))) return {0, 12};
    return {0};
}

// Programs that go on until they are stopped get a few seconds and Ctrl-C.
bool goes_on(const std::string& command) {
    return std::regex_search(command, std::regex(R"re(steady (serve|worker)\b(?!.*--once))re"));
}

void expect_runs(const Checkout& checkout, const std::string& where, const std::string& command) {
    if (goes_on(command)) {
        const Ran ran = checkout.run("timeout --preserve-status -s INT 4 " + command);
        if (ran.text.find("in use") != std::string::npos) {
            std::cout << where << ": the port is taken on this machine: " << command << "\n";
            return;
        }
        EXPECT_TRUE(ran.code == 0 || ran.code == 130)
            << where << ": " << command << "\nexit " << ran.code << "\n"
            << ran.text;
        return;
    }
    const auto begin = std::chrono::steady_clock::now();
    const Ran ran = checkout.run(command);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::cout << where << ": " << took.count() << " s: " << command << std::endl;
    EXPECT_TRUE(allowed_codes(command).contains(ran.code))
        << where << ": " << command << "\nexit " << ran.code << "\n"
        << ran.text;
}

class Commands : public ::testing::TestWithParam<std::string> {};

TEST_P(Commands, RunAsTheyStand) {
    const Checkout checkout(GetParam() == "README.md");
    for (const Guide& guide : read_guides(kSource)) {
        if (guide.path != GetParam()) continue;
        for (const Block& block : guide.blocks) {
            if (block.language != "sh") continue;
            const std::string where = guide.path + ":" + std::to_string(block.line);
            if (!block.note.empty()) {
                std::cout << where << ": " << block.note << "\n";
                continue;
            }
            for (const std::string& command : commands_of(block)) {
                expect_runs(checkout, where, command);
                if (command.find("steady init ") != std::string::npos) checkout.shorten();
            }
        }
    }
}

std::vector<std::string> guides_with_commands() {
    std::vector<std::string> paths;
    for (const Guide& guide : read_guides(kSource)) {
        for (const Block& block : guide.blocks) {
            if (block.language != "sh") continue;
            paths.push_back(guide.path);
            break;
        }
    }
    return paths;
}

INSTANTIATE_TEST_SUITE_P(Guides, Commands, ::testing::ValuesIn(guides_with_commands()),
                         [](const auto& one) {
                             return std::regex_replace(one.param, std::regex("[^A-Za-z0-9]"), "_");
                         });

}  // namespace
}  // namespace steady
