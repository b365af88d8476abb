// Lookup of names under configured roots. Model files made on need are written under a temporary
// name and renamed, so that two commands started together cannot see half a model.
#include "runner/cli/workspace.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "kernels/base/error.h"
#include "runner/cli/made_models.h"
#include "runner/platform/files.h"
#include "runner/platform/installation.h"
#include "runner/platform/settings.h"

namespace steady {
namespace {

namespace fs = std::filesystem;

fs::path upwards(fs::path from) {
    for (; !from.empty() && from != from.root_path(); from = from.parent_path()) {
        if (fs::is_directory(from / "experiments") && fs::is_directory(from / "journal")) {
            return from;
        }
    }
    return {};
}

std::vector<std::string> model_roots(const Arguments& arguments) {
    std::vector<std::string> roots = split_list(arguments.get("models"), ':');
    roots.push_back(project_root() + "/models");
    roots.push_back(made_models_folder());
    return roots;
}

void check_name(const std::string& name, const char* what) {
    if (name.empty() || name.find('/') != std::string::npos ||
        name.find("..") != std::string::npos) {
        throw Error(
            fmt::format("{} \"{}\" must be a plain file name, found under a root", what, name));
    }
}

std::set<std::string> workload_names(const std::string& folder) {
    std::error_code none;
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder, none)) {
        names.insert(entry.path().stem().string());
    }
    return names;
}

// Questions below experiments/, sorted; the folders beside them hold texts, the schema and answers.
std::vector<fs::path> experiment_files(const fs::path& folder) {
    std::error_code none;
    std::vector<fs::path> files;
    for (auto it = fs::recursive_directory_iterator(folder, none);
         it != fs::recursive_directory_iterator(); it.increment(none)) {
        const std::string name = it->path().filename().string();
        if (name == "workloads" || name == "schema" || name == "records") {
            it.disable_recursion_pending();
        } else if (it->path().extension() == ".json") {
            files.push_back(it->path());
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

Workload decode_workload(const std::string& text, const std::string& file) {
    constexpr int kMostPositions = 1 << 20;
    const auto refuse = [&](const std::string& found) {
        throw Error(
            fmt::format("{}: found {}; allowed {{\"text\": string, \"prompt_tokens\": N, "
                        "\"depth\": N}}, N a whole number up to {}",
                        file, found, kMostPositions));
    };
    const nlohmann::json document = nlohmann::json::parse(text, nullptr, false, true);
    if (!document.is_object()) refuse("no JSON object");
    for (const auto& [key, value] : document.items()) {
        const bool number = value.is_number_unsigned() && value <= kMostPositions;
        const bool known = key == "text"            ? value.is_string()
                           : key == "prompt_tokens" ? number && value > 0
                           : key == "depth"         ? number
                                                    : false;
        if (!known) refuse(fmt::format("\"{}\": {}", key, value.dump().substr(0, 60)));
    }
    if (!document.contains("text")) refuse("no \"text\"");
    Workload workload{.text = document["text"].get<std::string>()};
    workload.prompt_tokens = document.value("prompt_tokens", workload.prompt_tokens);
    workload.depth = document.value("depth", workload.depth);
    return workload;
}

}  // namespace

std::string path_from_here(const std::string& file) {
    const fs::path path(file), here = path.lexically_proximate(fs::current_path());
    return path.is_relative() || here.string().starts_with("..") ? file : here.string();
}

std::vector<std::string> split_list(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::stringstream in(text);
    for (std::string part; std::getline(in, part, separator);) {
        if (!part.empty()) parts.push_back(part);
    }
    return parts;
}

std::string project_root() {
    if (const std::string set = setting("root"); !set.empty()) return set;
    if (const fs::path found = upwards(fs::current_path()); !found.empty()) return found.string();
    if (const fs::path found = upwards(self_exe_dir()); !found.empty()) return found.string();
    return shipped_dir().empty() ? fs::current_path().string() : data_dir();
}

std::string find_experiment(const std::string& asked) {
    const std::vector<std::string> folders = experiment_folders();
    std::vector<std::string> bases = folders;
    bases.insert(bases.begin(), "");
    for (const fs::path base : bases) {
        for (const char* ending : {"", ".json"}) {
            const fs::path path = base / (asked + ending);
            if (fs::is_regular_file(path)) return path_from_here(path);
        }
    }
    const std::string name = asked.ends_with(".json") ? asked : asked + ".json";
    std::vector<std::string> names;
    for (const std::string& folder : folders) {
        for (const fs::path& path : experiment_files(folder)) {
            if (path.filename() == name) return path_from_here(path);
            names.push_back(path.stem().string());
        }
    }
    throw Error(fmt::format(
        "no experiment file \"{}\": neither that path nor {} under {} exists{} `steady init NAME` "
        "writes a new file",
        asked, fs::path(name).filename().string(), fmt::join(folders, " or "),
        did_you_mean(fs::path(name).stem().string(), names)));
}

Spec load_spec(const std::string& asked) {
    const std::string file = find_experiment(asked);
    SpecResult result = parse_question(read_file(file), fs::path(file).stem().string());
    if (result.spec) return std::move(*result.spec);
    std::string text = fmt::format("{}: {} error{}", file, result.errors.size(),
                                   result.errors.size() == 1 ? "" : "s");
    for (const SpecError& error : result.errors) text += "\n" + describe(error, file);
    throw Error(text);
}

std::vector<std::string> experiment_folders() {
    std::vector<std::string> folders{project_root() + "/experiments"};
    const std::string shipped = shipped_dir();
    if (!shipped.empty()) folders.push_back(shipped + "/experiments");
    return folders;
}

std::string experiment_file(const std::string& name) {
    return project_root() + "/experiments/" + name + ".json";
}

std::string own_experiment(const std::string& name) {
    for (const std::string& folder : experiment_folders()) {
        const std::string path = folder + "/" + name + ".json";
        if (fs::is_regular_file(path)) return path;
    }
    return experiment_file(name);
}

void write_experiment(const std::string& path, const std::string& text) {
    const fs::path folder = fs::path(path).parent_path();
    if (!folder.empty()) make_directories(folder.string());
    write_file_atomic(path, text);
}

Spec decode_spec(const nlohmann::json& document) {
    const auto name = document.at("id").get<std::string>();
    SpecResult result = parse_spec(document.dump(), name);
    if (!result.spec) throw Error(describe(result.errors.at(0), name));
    return std::move(*result.spec);
}

Workload load_workload(const std::string& asked) {
    const std::string name = asked.empty() ? "prose" : asked;
    check_name(name, "workload");
    std::set<std::string> there;
    for (const std::string& folder : experiment_folders()) {
        const std::string base = folder + "/workloads/" + name;
        if (fs::exists(base + ".txt")) return {.text = read_file(base + ".txt")};
        if (fs::exists(base + ".json")) {
            return decode_workload(read_file(base + ".json"), base + ".json");
        }
        there.merge(workload_names(folder + "/workloads"));
    }
    throw Error(fmt::format(
        "subject.workload \"{}\": neither {}/workloads/{}.json nor .txt exists; there "
        "are {}",
        name, fmt::join(experiment_folders(), "/workloads or "), name, fmt::join(there, ", ")));
}

std::string resolve_model(const std::string& name, const Arguments& arguments,
                          const std::string& submitter, const StopSignal* stop) {
    check_name(name, "subject.model");
    const std::vector<std::string> roots = model_roots(arguments);
    for (const std::string& root : roots) {
        if (!fs::exists(root + "/" + name)) continue;
        mark_used(root + "/" + name);
        return fs::canonical(root + "/" + name).string();
    }
    if (const auto model = made_model_of(name)) {
        return make_model(*model, model_budget(arguments, submitter), arguments, stop);
    }
    throw Error(fmt::format(
        "subject.model \"{}\" is in none of {}. Put the file there, name its folder with --models "
        "or STEADY_MODELS, or ask for a made one: synth-tiny-glm-4.7-flash-s1.gguf",
        name, fmt::join(roots, ", ")));
}

std::string engine_path(const Arguments& arguments) {
    std::string path = arguments.get("engine", self_exe_dir() + "/steady-engine");
    if (::access(path.c_str(), X_OK) != 0) {
        throw Error(fmt::format("no engine at {}: build it, or name one with --engine", path));
    }
    return fs::canonical(path).string();
}

std::string kernels_path(const std::string& engine) {
    const fs::path path(engine);
    std::string name = path.filename().string();
    const std::size_t at = name.find("engine");
    if (at != std::string::npos) name.replace(at, 6, "kernels");
    return (path.parent_path() / name).string();
}

}  // namespace steady
