// Reads {"version": 1, "cpu_class": "…", "choices": [{"op": "…", "variant": "…", …}, …]}; what else
// stands beside a choice (its evidence) is for people.
#include "engine/exec/tuned_defaults.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "kernels/base/error.h"
#include "kernels/registry/cpu.h"

namespace steady {
namespace {

TunedDefaults& in_use() {
    static TunedDefaults defaults;
    return defaults;
}

[[noreturn]] void reject_file(const std::string& path, const std::string& what) {
    throw Error{fmt::format(
        "defaults file {}: {}. `steady tune-defaults` writes one; --defaults none ignores it", path,
        what)};
}

std::string text_of(const nlohmann::json& object, const char* key, const std::string& path,
                    const std::string& where) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_string() || found->get<std::string>().empty()) {
        reject_file(path, fmt::format("{} needs \"{}\", a text", where, key));
    }
    return found->get<std::string>();
}

}  // namespace

TunedDefaults read_tuned_defaults(const std::string& path) {
    std::ifstream in(path);
    if (!in) reject_file(path, "cannot be read");
    const auto file = nlohmann::json::parse(in, nullptr, false, true);
    if (file.is_discarded() || !file.is_object()) reject_file(path, "is not a JSON object");
    if (file.value("version", nlohmann::json()) != 1) {
        reject_file(path, "\"version\" must be 1, the only one that this engine reads");
    }
    TunedDefaults defaults{path, text_of(file, "cpu_class", path, "the file"), {}};
    const auto choices = file.find("choices");
    if (choices == file.end() || !choices->is_array()) {
        reject_file(path, "\"choices\" must be a list of {\"op\": …, \"variant\": …}");
    }
    for (const auto& choice : *choices) {
        const std::string where = fmt::format("choices[{}]", defaults.choices.size());
        if (!choice.is_object()) reject_file(path, where + " is not an object");
        const std::string op = text_of(choice, "op", path, where);
        if (!defaults.choices.emplace(op, text_of(choice, "variant", path, where)).second) {
            reject_file(path, fmt::format("{} names {} a second time", where, op));
        }
    }
    return defaults;
}

std::string tuned_defaults_place() {
    const char* config = std::getenv("XDG_CONFIG_HOME");
    const char* home = std::getenv("HOME");
    const bool has_config = config != nullptr && *config != '\0';
    if (!has_config && (home == nullptr || *home == '\0')) return "";
    const std::string folder = has_config ? config : std::string(home) + "/.config";
    return folder + "/steady/engine-defaults.json";
}

void use_tuned_defaults(const std::string& path) {
    in_use() = {};
    if (path == "none") return;
    const std::string place = path.empty() ? tuned_defaults_place() : path;
    std::error_code none;
    if (path.empty() && (place.empty() || !std::filesystem::exists(place, none))) return;
    in_use() = read_tuned_defaults(place);
}

const TunedDefaults& tuned_defaults() { return in_use(); }

std::string tuned_choice(const std::string& op) {
    const TunedDefaults& defaults = in_use();
    if (defaults.path.empty() || defaults.cpu_class != cpu::class_name()) return "";
    const auto found = defaults.choices.find(op);
    return found == defaults.choices.end() ? "" : found->second;
}

}  // namespace steady
