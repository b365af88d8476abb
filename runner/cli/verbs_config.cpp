// What is set beside the command line, and how it reaches a verb's options.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "kernels/base/error.h"
#include "runner/cli/verbs.h"
#include "runner/platform/settings.h"
#include "runner/storage/connection.h"

namespace steady {
namespace {

// "serve.port" belongs to the verb serve, "models" to every verb with that option.
bool concerns(const Setting& setting, const Verb& verb) {
    const std::size_t dot = setting.key.find('.');
    if (dot != std::string_view::npos && setting.key.substr(0, dot) != verb.name) return false;
    return std::any_of(verb.options.begin(), verb.options.end(),
                       [&](const Option& option) { return option.name == setting.flag; });
}

}  // namespace

std::string setting_meaning(const Setting& setting) {
    if (!setting.meaning.empty()) return std::string(setting.meaning);
    for (const Option& option : common_options()) {
        if (option.name == setting.flag) return std::string(option.help);
    }
    for (const Verb& verb : verbs()) {
        if (!concerns(setting, verb)) continue;
        for (const Option& option : verb.options) {
            if (option.name == setting.flag) return std::string(option.help);
        }
    }
    return "";
}

namespace {

// Without what would let a reader of this output in.
std::string shown_value(const Setting& setting, const std::string& text) {
    if (setting.key == "database_url") return without_password(text);
    return setting.type == SettingType::secret ? "(not shown)" : text;
}

// Before the verb opens a database, or starts one.
void check_flag(const Setting& setting, const std::string& value) {
    const std::string may = not_allowed(setting, value);
    if (may.empty()) return;
    throw Error(fmt::format("--{}: found \"{}\", allowed {}", setting.flag, value, may));
}

// A secret that this user may not read is still set.
std::optional<SettingValue> value_of(const Setting& setting) {
    if (setting.type != SettingType::secret) return find_setting(setting.key);
    try {
        return find_setting(setting.key);
    } catch (const Error& error) {
        return SettingValue{"(not available)", error.what()};
    }
}

}  // namespace

void add_settings(const Verb& verb, Arguments& arguments) {
    for (const Setting& setting : settings()) {
        const std::string flag(setting.flag);
        if (setting.type == SettingType::secret || !concerns(setting, verb)) continue;
        if (arguments.has(flag)) {
            check_flag(setting, arguments.get(flag));
            continue;
        }
        const auto value = find_setting(setting.key);
        if (!value || (setting.type == SettingType::yes_no && value->text == "0")) continue;
        arguments.options[flag] = value->text;
        arguments.origins[flag] = value->origin;
    }
}

int verb_config_show(const Arguments& arguments) {
    nlohmann::json rows = nlohmann::json::array();
    std::string text;
    find_setting("root");  // throws the mistakes of all files
    for (const Setting& setting : settings()) {
        const auto value = value_of(setting);
        const std::string found = value ? shown_value(setting, value->text) : "";
        const std::string origin = value ? value->origin : "";
        rows.push_back({{"key", setting.key},
                        {"value", value ? nlohmann::json(found) : nlohmann::json()},
                        {"origin", value ? nlohmann::json(origin) : nlohmann::json()},
                        {"environment", environment_name(setting)},
                        {"flag", setting.flag.empty() ? "" : "--" + std::string(setting.flag)},
                        {"meaning", setting_meaning(setting)}});
        text +=
            fmt::format("{:<24}  {}", setting.key, value ? found : "# " + setting_meaning(setting));
        if (arguments.has("origin") && value) text += "  (" + origin + ")";
        text += "\n";
    }
    text += fmt::format("files, the first one wins: {}", fmt::join(settings_files(), ", "));
    return print(arguments, {{"settings", rows}, {"files", settings_files()}}, text);
}

}  // namespace steady
