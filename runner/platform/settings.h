// What can be set beside the command line: one table of keys, and where a key's value comes from. A
// flag wins over the environment, that over ./steady.json, over $XDG_CONFIG_HOME/steady/steady.json
// (~/.config), over /etc/steady/steady.json.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace steady {

enum class SettingType { text, path, paths, words, number, yes_no, secret };

// What a number or a word may be; neither: anything of its type.
struct SettingRange {
    double low = 0, high = 0;
    bool whole = false;         // no fraction
    std::string_view one_of{};  // words, separated by ", "
};

struct Setting {
    std::string_view key;  // "models"; "serve.port" stands in a file as {"serve": {"port": …}}
    SettingType type;
    std::string_view flag;     // option that wins over it, without dashes; empty: none
    std::string_view meaning;  // empty: that of the option
    // May stand in ./steady.json, which comes with a checkout of somebody else: nothing that says
    // what runs on this machine or who may reach it.
    bool in_project = false;
    SettingRange range{};
};

std::span<const Setting> settings();

// What the setting may be, where this value of it is out of its range; empty: the value is fine.
std::string not_allowed(const Setting& setting, const std::string& value);

// serve.behind_proxy → STEADY_SERVE_BEHIND_PROXY
std::string environment_name(const Setting& setting);

struct SettingValue {
    std::string text;    // lists joined as in the environment, yes_no as "1" or "0"
    std::string origin;  // "environment STEADY_MODELS", "/etc/steady/steady.json:3"
};

// The files that exist, read and checked; the first one wins, and is the project's. Throws Error
// with all mistakes of all files, one per line: file, line, column, what was found, what is
// allowed.
std::map<std::string, SettingValue, std::less<>> read_settings(
    const std::vector<std::string>& files);

// The places of the files, whether they exist or not, first one wins.
std::vector<std::string> settings_files();

// Environment, else files; nullopt when it is set nowhere. A secret's value comes from the file
// that <key>_file names. Throws Error: mistakes in the files, a secret that cannot be read.
std::optional<SettingValue> find_setting(std::string_view key);

// Its text; empty when it is set nowhere.
std::string setting(std::string_view key);

}  // namespace steady
