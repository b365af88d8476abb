// What makes this machine noisy: its settings, its load, its GPUs and its database.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "kernels/base/error.h"
#include "runner/cli/records.h"
#include "runner/cli/verbs.h"
#include "runner/platform/disk.h"
#include "runner/platform/files.h"
#include "runner/platform/gpu_facts.h"
#include "runner/platform/host_checks.h"
#include "runner/platform/settings.h"
#include "runner/programs/confine/confine.h"
#include "runner/storage/private_cluster.h"
#include "runner/storage/service.h"
#include "runner/storage/store.h"

namespace steady {
namespace {

constexpr double kLoadSeconds = 2;

std::string or_unknown(std::optional<unsigned> value) {
    return value ? std::to_string(*value) : "unknown";
}

std::string on_or_off(std::optional<bool> value) {
    return !value ? "unknown" : *value ? "on" : "off";
}

void add_gpu_findings(std::vector<Finding>& all) {
    for (const GpuFacts& gpu : gpu_facts()) {
        all.push_back({fmt::format("GPU {}, driver {}, {} MHz of at most {}", gpu.name, gpu.driver,
                                   or_unknown(gpu.clock_mhz), or_unknown(gpu.most_clock_mhz)),
                       {},
                       {},
                       false});
        all.push_back({fmt::format("GPU power limit {} W", or_unknown(gpu.power_limit_w)),
                       fmt::format("nvidia-smi -pl {} (as root)", gpu.usual_power_w.value_or(0)),
                       "below its usual limit the GPU lowers its clocks under load",
                       gpu.power_limit_w && gpu.power_limit_w < gpu.usual_power_w});
        all.push_back({"GPU persistence mode " + on_or_off(gpu.persistence),
                       "nvidia-smi -pm 1 (as root)", "the driver starts anew in each process",
                       !gpu.persistence.value_or(true)});
        all.push_back({"GPU memory's error correction (ECC) " + on_or_off(gpu.ecc),
                       "nvidia-smi -e 1 and a restart (as root)",
                       "errors in memory stay unseen, and figures do not compare with those of "
                       "hosts that have it on",
                       !gpu.ecc.value_or(true)});
        all.push_back({"GPU partitions (MIG) " + on_or_off(gpu.mig),
                       "nvidia-smi -mig 0 and a restart (as root), or keep the partition for every "
                       "experiment that is compared",
                       "a partition has a part of the memory's speed, and its neighbours the rest",
                       gpu.mig.value_or(false)});
        all.push_back({fmt::format("{} program{} on this GPU", gpu.other_processes,
                                   gpu.other_processes == 1 ? " computes" : "s compute"),
                       "stop them; nvidia-smi lists them", "they take turns with what is measured",
                       gpu.other_processes > 0});
    }
}

// Nothing is started for this: a private database that does not run has nothing to say.
void add_database_findings(const Arguments& arguments, std::vector<Finding>& all) {
    if (!arguments.has("db") && setting("database_url").empty() &&
        !private_cluster_status().running) {
        all.push_back({"private PostgreSQL: not running", {}, {}, false});
        return;
    }
    try {
        Store store = open_store(arguments);
        const auto settings = service::server_settings(store.connection());
        all.push_back(
            {fmt::format("PostgreSQL {}, {} shared buffers, at most {} connections",
                         settings.at("server_version"), settings.at("shared_buffers"),
                         settings.at("max_connections")),
             "upgrade it: runner/package/README.md, or /usr/share/doc/steady-server/README.md",
             "Steady is tested with 15", std::stoi(settings.at("server_version")) < 15});
        for (const char* name : {"fsync", "full_page_writes", "synchronous_commit"}) {
            all.push_back({fmt::format("PostgreSQL {} {}", name, settings.at(name)),
                           fmt::format("alter system set {} = on; select pg_reload_conf();", name),
                           "stored samples can be lost when the server's machine stops",
                           settings.at(name) == "off"});
        }
        all.push_back({"PostgreSQL autovacuum " + settings.at("autovacuum"),
                       "alter system set autovacuum = on; select pg_reload_conf();",
                       "tables grow and their statistics age, so pages become slow",
                       settings.at("autovacuum") == "off"});
    } catch (const std::exception& error) {
        all.push_back({fmt::format("the database does not answer: {}", error.what()),
                       "start it, or correct --db or STEADY_DATABASE_URL", "no experiment can run",
                       true});
    }
}

// No source of noise: what a worker can promise about programs of others.
void add_confinement_findings(std::vector<Finding>& all) {
    const std::string trouble = confinement_trouble();
    all.push_back({trouble.empty()
                       ? "programs of others run confined; limits: " + describe(tree_means()) +
                             "; CPUs: those of \"cpus\" in a registration's limits, by affinity"
                       : "programs of others do not run here: " + trouble,
                   {},
                   {},
                   false});
}

Finding room(const std::string& folder) {
    const DiskSpace space = disk_space(folder);
    const std::string trouble = space_trouble(space, folder);
    return {trouble.empty()
                ? fmt::format("disk: {:.0f} GB free in {}", space.free_bytes * 1e-9, folder)
                : trouble,
            "make room: steady gc, old models under models/", "no job begins", !trouble.empty()};
}

std::vector<Finding> findings(const Arguments& arguments) {
    const std::string folder = state_dir();
    make_directories(folder);
    const HostSettings settings = host_settings();
    const HostLoad load = host_load(kLoadSeconds);
    std::vector<Finding> all = load_findings(load, settings.cpus);
    for (Finding& finding : host_findings(settings, measure_host(folder))) {
        all.push_back(std::move(finding));
    }
    all.push_back(room(folder));
    add_database_findings(arguments, all);
    add_gpu_findings(all);
    add_confinement_findings(all);
    return all;
}

}  // namespace

int verb_doctor(const Arguments& arguments) {
    nlohmann::json rows = nlohmann::json::array();
    std::string text;
    int bad = 0;
    for (const Finding& finding : findings(arguments)) {
        rows.push_back({{"finding", finding.what},
                        {"bad", finding.bad},
                        {"cost", finding.bad ? finding.cost : ""},
                        {"fix", finding.bad ? finding.fix : ""}});
        text += fmt::format("{} {}\n", finding.bad ? "!" : "·", finding.what);
        if (!finding.bad) continue;
        ++bad;
        if (!finding.cost.empty()) text += fmt::format("    cost: {}\n", finding.cost);
        text += fmt::format("    fix:  {}\n", finding.fix);
    }
    text += bad == 0 ? "no source of noise found"
                     : fmt::format("{} finding{} to fix before measuring small effects", bad,
                                   bad == 1 ? "" : "s");
    print(arguments, {{"fit", bad == 0}, {"findings", rows}}, text);
    return bad == 0 ? kExitOk : exit_code(Verdict::invalid);
}

}  // namespace steady
