// Lookup of names under configured roots. Model files made on need are written under a temporary
// name and renamed, so that two commands started together cannot see half a model.
#include "runner/cli/workspace.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "engine/protocol/error.h"
#include "runner/edges/files.h"
#include "runner/edges/process.h"

namespace steady {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::stringstream in(text);
    for (std::string part; std::getline(in, part, separator);) {
        if (!part.empty()) parts.push_back(part);
    }
    return parts;
}

fs::path upwards(fs::path from) {
    for (; !from.empty() && from != from.root_path(); from = from.parent_path()) {
        if (fs::is_directory(from / "experiments") && fs::is_directory(from / "journal")) {
            return from;
        }
    }
    return {};
}

std::vector<std::string> model_roots(const Arguments& arguments) {
    std::vector<std::string> roots = split(arguments.get("models"), ':');
    if (const char* env = std::getenv("STEADY_MODELS")) {
        for (const std::string& root : split(env, ':')) roots.push_back(root);
    }
    roots.push_back(project_root() + "/models");
    roots.push_back(state_dir() + "/models");
    return roots;
}

void check_name(const std::string& name, const char* what) {
    if (name.empty() || name.find('/') != std::string::npos ||
        name.find("..") != std::string::npos) {
        throw Error(
            fmt::format("{} \"{}\" must be a plain file name, found under a root", what, name));
    }
}

// Makes the synthetic model that the name describes.
std::string synthesise(const std::string& name, const std::smatch& parts,
                       const Arguments& arguments) {
    const std::string folder = state_dir() + "/models";
    make_directories(folder);
    const std::string path = folder + "/" + name;
    const std::string temporary = fmt::format("{}.{}.part", path, ::getpid());
    std::vector<std::string> argv = {
        engine_path(arguments), "synth", "--arch", parts[2].str(), "--seed",
        parts[4].str(),         "--out", temporary};
    if (parts[1] != "full") argv.insert(argv.end(), {"--size", parts[1].str()});
    if (parts[3].matched) {
        argv.push_back("--blocks");
        argv.push_back(parts[3].str());
    }
    if (!arguments.has("quiet")) fmt::print(stderr, "making model {}\n", name);
    ChildOptions options;
    options.argv = argv;
    options.limits.file_size.reset();
    const ChildEnd made = run_child(options, 1800);
    if (!made.ok()) {
        fs::remove(temporary);
        throw Error(fmt::format("cannot make model {}: {}", name, made.describe()));
    }
    fs::rename(temporary, path);
    return path;
}

std::vector<std::string> workload_names(const std::string& folder) {
    std::error_code none;
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder, none)) {
        names.insert(entry.path().stem().string());
    }
    return {names.begin(), names.end()};
}

Workload decode_workload(const std::string& text, const std::string& file) {
    constexpr int kMostPositions = 1 << 20;
    const auto refuse = [&](const std::string& found) {
        throw Error(
            fmt::format("{}: found {}; allowed {{\"text\": string, \"prompt_tokens\": N, "
                        "\"depth\": N}}, N a whole number up to {}",
                        file, found, kMostPositions));
    };
    const nlohmann::json json = nlohmann::json::parse(text, nullptr, false, true);
    if (!json.is_object()) refuse("no JSON object");
    for (const auto& [key, value] : json.items()) {
        const bool number = value.is_number_unsigned() && value <= kMostPositions;
        const bool known = key == "text"            ? value.is_string()
                           : key == "prompt_tokens" ? number && value > 0
                           : key == "depth"         ? number
                                                    : false;
        if (!known) refuse(fmt::format("\"{}\": {}", key, value.dump().substr(0, 60)));
    }
    if (!json.contains("text")) refuse("no \"text\"");
    Workload workload{.text = json["text"].get<std::string>()};
    workload.prompt_tokens = json.value("prompt_tokens", workload.prompt_tokens);
    workload.depth = json.value("depth", workload.depth);
    return workload;
}

}  // namespace

std::string project_root() {
    if (const char* env = std::getenv("STEADY_ROOT")) return env;
    if (const fs::path found = upwards(fs::current_path()); !found.empty()) return found.string();
    if (const fs::path found = upwards(self_exe_dir()); !found.empty()) return found.string();
    return fs::current_path().string();
}

Spec load_spec(const std::string& file) {
    SpecResult result = parse_spec(read_file(file), fs::path(file).stem().string());
    if (result.spec) return std::move(*result.spec);
    std::string text = fmt::format("{}: {} error{}", file, result.errors.size(),
                                   result.errors.size() == 1 ? "" : "s");
    for (const SpecError& error : result.errors) text += "\n" + describe(error, file);
    throw Error(text);
}

std::string experiment_file(const std::string& name) {
    return project_root() + "/experiments/" + name + ".json";
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
    const std::string folder = project_root() + "/experiments/workloads";
    const std::string base = folder + "/" + name;
    if (fs::exists(base + ".txt")) return {.text = read_file(base + ".txt")};
    if (!fs::exists(base + ".json")) {
        throw Error(
            fmt::format("subject.workload \"{}\": neither {}.json nor .txt exists; there are {}",
                        name, base, fmt::join(workload_names(folder), ", ")));
    }
    return decode_workload(read_file(base + ".json"), base + ".json");
}

std::string resolve_model(const std::string& name, const Arguments& arguments) {
    check_name(name, "subject.model");
    const std::vector<std::string> roots = model_roots(arguments);
    for (const std::string& root : roots) {
        if (fs::exists(root + "/" + name)) return fs::canonical(root + "/" + name).string();
    }
    static const std::regex synthetic(
        R"(synth-(tiny|small|full)-(glm-4\.7-flash|deepseek-v2-lite|youtu-llm-2b)(?:-b(\d+))?-s(\d+)\.gguf)");
    std::smatch parts;
    if (std::regex_match(name, parts, synthetic)) return synthesise(name, parts, arguments);
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
