// fork and exec with a clean environment: the developer's own STEADY_* settings must not leak in.
#include "tests/support/steady_cli.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

namespace steady {
namespace {

namespace fs = std::filesystem;

std::string slurp(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
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

pid_t launch(const fs::path& root, const fs::path& state, const std::vector<std::string>& arguments,
             const std::vector<std::string>& more, const std::string& out, const std::string& err) {
    std::vector<std::string> argv = {STEADY_BIN_DIR "/steady"};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    std::vector<std::string> env = {"PATH=/usr/local/bin:/usr/bin:/bin",
                                    "HOME=" + state.string(),
                                    "LANG=C.UTF-8",
                                    "STEADY_ROOT=" + root.string(),
                                    "STEADY_STATE_DIR=" + state.string(),
                                    "STEADY_HOST_LOCK=" + state.string() + "/host.lock",
                                    "STEADY_SOURCES=" + state.string() + "/sources",
                                    "STEADY_MODELS=" STEADY_SOURCE_DIR "/tests/data/models"};
    env.insert(env.end(), more.begin(), more.end());
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    ::setpgid(0, 0);
    ::dup2(::open("/dev/null", O_RDONLY), 0);
    ::dup2(::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644), 1);
    ::dup2(::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644), 2);
    if (::chdir(root.c_str()) != 0) ::_exit(126);
    std::vector<char*> words, settings;
    for (std::string& word : argv) words.push_back(word.data());
    std::vector<std::string> copies = env;
    for (std::string& setting : copies) settings.push_back(setting.data());
    words.push_back(nullptr);
    settings.push_back(nullptr);
    ::execve(words[0], words.data(), settings.data());
    ::_exit(127);
}

}  // namespace

SteadyCli::SteadyCli(Fsync fsync)
    : root_(temporary_folder("steady-root-XXXXXX")),
      state_(temporary_folder("steady-state-XXXXXX")) {
    fs::create_directories(root_ / "journal");
    fs::create_directories(root_ / "experiments");
    fs::copy(fs::path(STEADY_SOURCE_DIR) / "experiments/workloads", root_ / "experiments/workloads",
             fs::copy_options::recursive);
    give_ready_cluster(state_.string(), fsync);
}

SteadyCli::~SteadyCli() {
    end_cluster(state_.string());
    std::error_code ignored;
    fs::remove_all(root_, ignored);
    fs::remove_all(state_, ignored);
}

CliResult SteadyCli::run(const std::vector<std::string>& arguments) const {
    const fs::path out = root_ / ".out", err = root_ / ".err";
    const pid_t pid = launch(root_, state_, arguments, settings_, out.string(), err.string());
    int status = 0;
    ::waitpid(pid, &status, 0);
    CliResult result;
    result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    result.out = slurp(out);
    result.err = slurp(err);
    return result;
}

CliResult SteadyCli::work(const std::string& id, const std::vector<std::string>& options) const {
    std::vector<std::string> words = {"worker", "--once"};
    words.insert(words.end(), options.begin(), options.end());
    CliResult worked;
    for (int i = 0; i < 600; ++i) {
        worked = run(words);
        const auto state = run({"show", id, "--json"}).json().value("state", "");
        if (worked.code != 0 || (state != "queued" && state != "running")) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
    return worked;
}

pid_t SteadyCli::start(const std::vector<std::string>& arguments) const {
    return launch(root_, state_, arguments, settings_, "/dev/null",
                  (root_ / ".started.err").string());
}

int SteadyCli::run_into(const std::string& file, const std::vector<std::string>& arguments) const {
    const pid_t pid = launch(root_, state_, arguments, settings_, file, file);
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string SteadyCli::experiment(const std::string& id, nlohmann::json spec) const {
    spec["id"] = id;
    const fs::path path = root_ / "experiments" / (id + ".json");
    std::ofstream(path) << spec.dump(2);
    return path.string();
}

}  // namespace steady
