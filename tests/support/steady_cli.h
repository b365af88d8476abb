// Runs the real `steady` as a user would: real processes, a real private database, a project folder
// and a state folder of its own, thrown away afterwards. The database has its schema from the start
// (ready_cluster.h). The host lock is its own too, so that no test waits for another's measurement:
// one whose verdict rests on times runs alone (TIMED in tests/CMakeLists.txt).
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/ready_cluster.h"
#include "tests/support/small_experiment.h"

namespace steady {

struct CliResult {
    int code = -1;  // exit code, or 128 + signal
    std::string out, err;
    nlohmann::json json() const { return nlohmann::json::parse(out, nullptr, false); }
};

class SteadyCli {
public:
    // A project root with experiments/workloads and journal, an empty database.
    explicit SteadyCli(Fsync fsync = Fsync::off);
    ~SteadyCli();  // stops the database and removes both folders
    SteadyCli(const SteadyCli&) = delete;
    SteadyCli& operator=(const SteadyCli&) = delete;

    CliResult run(const std::vector<std::string>& arguments) const;
    pid_t start(const std::vector<std::string>& arguments) const;  // output thrown away
    // Both outputs go to one file, such as /dev/full; the exit code.
    int run_into(const std::string& file, const std::vector<std::string>& arguments) const;

    // `worker --once` until the job is over: a worker leaves while another measures. The last
    // worker's result.
    CliResult work(const std::string& id, const std::vector<std::string>& options = {}) const;

    // Writes <root>/experiments/<id>.json from a JSON value, its id set, and returns the path.
    std::string experiment(const std::string& id, nlohmann::json spec) const;

    // A setting of the environment for every later start.
    void set(const std::string& name, const std::string& value) {
        settings_.push_back(name + "=" + value);
    }

    void unset(const std::string& name) {
        std::erase_if(settings_,
                      [&](const std::string& one) { return one.starts_with(name + "="); });
    }

    const std::filesystem::path& root() const { return root_; }
    const std::filesystem::path& state() const { return state_; }

private:
    std::filesystem::path root_, state_;
    std::vector<std::string> settings_;
};

}  // namespace steady
