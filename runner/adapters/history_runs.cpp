// Histories made of runs: results of asv per commit, and files that any other adapter reads, where
// the commit stands in the document or in the path.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "kernels/base/error.h"
#include "runner/adapters/history_detail.h"
#include "runner/adapters/parse.h"

namespace steady::adapters_detail {
namespace {

// What a series of each program is about, unless another metric is asked for: one value per
// benchmark, not five statistics of the same samples.
const std::map<std::string, std::string>& main_metrics() {
    static const std::map<std::string, std::string> kMain = {{"google-benchmark", "real_time_ns"},
                                                             {"hyperfine", "wall_seconds"},
                                                             {"criterion", "time_ns"},
                                                             {"pytest-benchmark", "time_seconds"},
                                                             {"go", "ns_per_op"},
                                                             {"llama-bench", "decode_tps"}};
    return kMain;
}

std::string text_at(const Json& document, const char* pointer) {
    const Json::json_pointer place(pointer);
    if (!document.contains(place) || !document.at(place).is_string()) return "";
    return document.at(place).get<std::string>();
}

std::string first_text(const Json& document, const std::vector<const char*>& pointers) {
    for (const char* pointer : pointers) {
        std::string found = text_at(document, pointer);
        if (!found.empty()) return found;
    }
    return "";
}

// Where the programs say what they ran on, and when.
void read_context(const std::string& text, HistoryPoint& run) {
    const Json document = Json::parse(text, nullptr, false);
    if (!document.is_object()) return;
    const std::string commit = first_text(
        document, {"/context/commit", "/context/git_commit", "/context/git_sha",
                   "/context/git_revision", "/context/revision", "/commit_info/id", "/commit"});
    if (!commit_in_path(commit).empty()) run.commit = commit_in_path(commit);
    const auto at = seconds_of(
        first_text(document, {"/commit_info/time", "/context/date", "/datetime", "/date"}));
    if (at) run.date = utc_text(*at);
    run.host = first_text(document, {"/context/host_name", "/machine_info/node"});
    run.branch = text_at(document, "/commit_info/branch");
    run.machine = first_text(document, {"/machine_info/cpu/brand_raw", "/machine_info/cpu/brand"});
    const Json::json_pointer cpus("/context/num_cpus");
    if (document.contains(cpus)) run.machine = "cpus " + document.at(cpus).dump();
    run.method = first_text(document, {"/context/library_version", "/machine_info/python_version"});
}

struct RunFiles {
    std::string where;
    std::vector<AdapterFile> files;
};

// The outermost folder of the path whose name holds a commit; empty: none.
std::string folder_of_commit(const std::string& path) {
    std::size_t begin = 0;
    for (std::size_t slash = path.find('/'); slash != std::string::npos;
         slash = path.find('/', begin)) {
        if (!commit_in_path(path.substr(begin, slash - begin)).empty())
            return path.substr(0, slash);
        begin = slash + 1;
    }
    return "";
}

// Files below a folder of a commit are one run; all others together are one too.
std::vector<RunFiles> folders_of_runs(const Adapter& adapter,
                                      const std::vector<AdapterFile>& files) {
    std::map<std::string, RunFiles> runs;
    for (const AdapterFile& file : files) {
        if (adapter.takes_file != nullptr && !adapter.takes_file(file.path)) continue;
        const std::string folder = folder_of_commit(file.path);
        RunFiles& run = runs[folder];
        run.where = folder.empty() ? "." : folder;
        run.files.push_back(
            {folder.empty() ? file.path : file.path.substr(folder.size() + 1), file.text});
    }
    std::vector<RunFiles> out;
    for (auto& [folder, run] : runs) out.push_back(std::move(run));
    return out;
}

void add_run(History& history, const Adapter& adapter, const AdapterInput& input,
             const std::string& metric, const HistoryPoint& run, const std::string& where) {
    try {
        add_points(history, adapter.parse(input), metric, run, where);
    } catch (const Error& error) {
        history.left_out.push_back(fmt::format("{}: {}", where, error.what()));
    }
}

}  // namespace

History read_run_history(const Adapter& adapter, const std::vector<AdapterFile>& files,
                         const std::string& metric) {
    History history;
    const auto main = main_metrics().find(adapter.name);
    const std::string wanted =
        !metric.empty() || main == main_metrics().end() ? metric : main->second;
    if (adapter.from == ResultFrom::folder) {
        for (const RunFiles& one : folders_of_runs(adapter, files)) {
            HistoryPoint run;
            run.commit = commit_in_path(one.where);
            add_run(history, adapter, {.files = one.files}, wanted, run, one.where);
        }
        return history;
    }
    for (const AdapterFile& file : files) {
        HistoryPoint run;
        run.commit = commit_in_path(file.path);
        read_context(file.text, run);
        add_run(history, adapter, {.text = file.text}, wanted, run, file.path);
    }
    return history;
}

History read_asv_history(const std::vector<AdapterFile>& files, const std::string& metric) {
    const Adapter& adapter = *find_adapter("asv");
    const Rows rows("asv");
    History history;
    AdapterFile described;
    for (const AdapterFile& file : files) {
        if (file.path == "benchmarks.json" || file.path.ends_with("/benchmarks.json")) {
            described = file;
        }
    }
    if (described.path.empty()) {
        throw Error(
            "asv: no benchmarks.json, which says what the benchmarks are: name the folder "
            "results/ or .asv/results/");
    }
    for (const AdapterFile& file : files) {
        if (!file.path.ends_with(".json") || file.path == described.path) continue;
        if (file.path == "machine.json" || file.path.ends_with("/machine.json")) continue;
        const Json document = rows.parse_python(file.text);
        if (!document.is_object() || !document.contains("commit_hash")) {
            history.left_out.push_back(file.path + ": no \"commit_hash\"");
            continue;
        }
        HistoryPoint run;
        run.commit = rows.text(document, "commit_hash", file.path);
        run.date =
            utc_text(static_cast<std::int64_t>(rows.number(document, "date", file.path)) / 1000);
        run.host = text_at(document, "/params/machine");
        run.machine =
            fmt::format("{} {} {}", text_at(document, "/params/cpu"),
                        text_at(document, "/params/num_cpu"), text_at(document, "/params/os"));
        run.method = text_at(document, "/env_name");
        add_run(history, adapter, {.files = {described, file}}, metric, run, file.path);
    }
    return history;
}

}  // namespace steady::adapters_detail
