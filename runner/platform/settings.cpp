// Files are read once per process, at the first question; the environment at every one.
#include "runner/platform/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "kernels/base/error.h"
#include "runner/base/json_reader.h"
#include "runner/base/text.h"
#include "runner/platform/files.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
using SettingMap = std::map<std::string, SettingValue, std::less<>>;
using enum SettingType;

constexpr SettingRange kModelBudget{.high = 1 << 20, .whole = true};

constexpr std::array kSettings{
    Setting{"database_url", secret, "db", "", true},
    Setting{"root", path, "", "project: where experiments/ and journal/ are written", true},
    Setting{"state_dir", path, "", "databases, caches and made models of this user"},
    Setting{"models", paths, "models", "", true},
    Setting{"sources", paths, "", "folders of repositories that experiments name", true},
    Setting{"programs", path, "programs", ""},
    Setting{"builds", path, "", "finished builds of revisions (else under the state folder)"},
    Setting{"builds_gb",
            number,
            "",
            "gigabytes of finished builds that are kept, default 20",
            false,
            {.low = 0.001, .high = 1e6}},
    Setting{"host_name", text, "", "this machine's name in the queue (else made from its id)"},
    Setting{"host_lock", path, "", "lock by which one experiment at a time measures here"},
    Setting{"webhook", secret, "webhook", "", true},
    Setting{"webhook_token", secret, "",
            "sent to the webhook as a bearer token (Matrix needs one)"},
    Setting{"alerts_on",
            words,
            "",
            "alerts to send: change, failure, verdict; default the first two",
            false,
            {.one_of = "change, failure, verdict"}},
    Setting{"alerts_shape",
            text,
            "",
            "body for the webhook: json (default), slack, matrix",
            false,
            {.one_of = "json, slack, matrix"}},
    Setting{"alerts_mail", text, "", "address that gets alerts by mail"},
    Setting{"alerts_sendmail", path, "", "program that sends mail, default /usr/sbin/sendmail"},
    Setting{"worker.tags", words, "tags", ""},
    Setting{"worker.commands", yes_no, "commands", ""},
    Setting{"worker.max_hours", number, "max-hours", "", false, {.high = 24 * 365}},
    Setting{"worker.model_budget", number, "model-budget", "", false, kModelBudget},
    Setting{"worker.submitter_budget", number, "submitter-budget", "", false, kModelBudget},
    Setting{"serve.port", number, "port", "", false, {.high = 65535, .whole = true}},
    Setting{"serve.bind", text, "bind", ""},
    Setting{"serve.behind_proxy", words, "behind-proxy", ""},
    Setting{"serve.private_reads", yes_no, "private-reads", ""},
    Setting{"serve.public_reads", yes_no, "public-reads", ""},
    Setting{"serve.host", words, "host", ""},
    Setting{
        "gc.older_than", number, "older-than", "", false, {.low = 1, .high = 36500, .whole = true}},
};

constexpr std::string_view kFile = "_file";  // suffix of a key whose value is a secret's file

const Setting* find(std::string_view key) {
    const auto* found = std::find_if(kSettings.begin(), kSettings.end(), [&](const Setting& one) {
        return one.key == key ||
               (one.type == secret && key == std::string(one.key) + std::string(kFile));
    });
    return found == kSettings.end() ? nullptr : found;
}

char separator(SettingType type) { return type == words ? ',' : ':'; }

std::string allowed(SettingType type, bool names_file) {
    if (names_file) return "the path of a file";
    switch (type) {
        case path:
            return "a path";
        case paths:
            return "a list of paths";
        case words:
            return "a list of words";
        case number:
            return "a number";
        case yes_no:
            return "true or false";
        case text:
        case secret:
            break;
    }
    return "a text";
}

bool is_one_of(std::string_view value, std::string_view words) {
    for (std::size_t end = 0; end != words.npos; words.remove_prefix(end + 2)) {
        end = words.find(", ");
        if (value == words.substr(0, end)) return true;
        if (end == words.npos) break;
    }
    return false;
}

// Paths in a file start at the file's folder.
std::string absolute(const std::string& value, const fs::path& folder) {
    return (folder / value).lexically_normal().string();
}

std::optional<std::string> value_of(const Setting& setting, bool names_file, const JsonValue& value,
                                    const fs::path& folder) {
    using Kind = JsonValue::Kind;
    const bool is_path = names_file || setting.type == path || setting.type == paths;
    const auto one = [&](const JsonValue& item) {
        return is_path ? absolute(item.text, folder) : item.text;
    };
    const bool is_text = value.kind == Kind::string && !value.text.empty();
    if (names_file) return is_text ? std::optional(one(value)) : std::nullopt;
    switch (setting.type) {
        case number:
            return value.kind == Kind::number ? std::optional(value.text) : std::nullopt;
        case yes_no:
            if (value.kind != Kind::boolean) return std::nullopt;
            return value.boolean ? "1" : "0";
        case paths:
        case words: {
            if (value.kind != Kind::array) return std::nullopt;
            std::string joined;
            for (const JsonValue& item : value.items) {
                const bool fine = item.kind == Kind::string && !item.text.empty() &&
                                  item.text.find(separator(setting.type)) == std::string::npos;
                if (!fine) return std::nullopt;
                if (!joined.empty()) joined += separator(setting.type);
                joined += one(item);
            }
            return joined;
        }
        case text:
        case path:
        case secret:
            break;
    }
    return is_text ? std::optional(one(value)) : std::nullopt;
}

// One file's keys, added where an earlier file has not set them.
class File {
public:
    File(const std::string& file, bool of_project, SettingMap& values, std::string& mistakes)
        : file_(file), of_project_(of_project), values_(values), mistakes_(mistakes) {}

    void read() {
        const JsonDocument document = read_json(read_file(file_));
        for (const JsonProblem& problem : document.problems) {
            report(problem.line, problem.column, problem.found, problem.allowed, problem.hint);
        }
        if (!document.root) return;
        if (document.root->kind != JsonValue::Kind::object) {
            report(1, 1, shown(*document.root), "an object with keys", "");
            return;
        }
        for (const JsonMember& member : document.root->members) add(member, "");
    }

private:
    void add(const JsonMember& member, const std::string& section) {
        const std::string key = section + member.key;
        const bool has_section =
            section.empty() &&
            std::any_of(kSettings.begin(), kSettings.end(),
                        [&](const auto& one) { return one.key.starts_with(key + "."); });
        if (has_section && member.value.kind == JsonValue::Kind::object) {
            for (const JsonMember& inner : member.value.members) add(inner, key + ".");
            return;
        }
        const Setting* setting = key.find('.') == section.find('.') ? find(key) : nullptr;
        if (setting == nullptr) {
            unknown(member, key, has_section);
            return;
        }
        if (of_project_ && !setting->in_project) {
            report(member.line, member.column, fmt::format("\"{}\"", key),
                   "in the user's own steady.json or in /etc/steady/steady.json, since a checkout "
                   "must not set it",
                   "");
            return;
        }
        const bool names_file = setting->key != key;
        const auto value =
            value_of(*setting, names_file, member.value, fs::absolute(file_).parent_path());
        if (!value) {
            report(member.value.line, member.value.column,
                   fmt::format("{} for \"{}\"", shown(member.value), key),
                   allowed(setting->type, names_file), "");
            return;
        }
        if (const std::string may = names_file ? "" : not_allowed(*setting, *value); !may.empty()) {
            report(member.value.line, member.value.column,
                   fmt::format("\"{}\" for \"{}\"", *value, key), may, "");
            return;
        }
        const std::string name(setting->key);
        if (!own_.insert(name).second) {
            report(member.line, member.column, fmt::format("\"{0}\" and \"{0}{1}\"", name, kFile),
                   "one of them", "");
        }
        for (const std::string& other : {name, name + std::string(kFile)}) {
            if (other != key && values_.contains(other)) return;
        }
        values_.try_emplace(key, SettingValue{*value, fmt::format("{}:{}", file_, member.line)});
    }

    void unknown(const JsonMember& member, const std::string& key, bool has_section) {
        std::vector<std::string> names;
        for (const Setting& one : kSettings) {
            names.emplace_back(one.key);
            names.push_back(std::string(one.key.substr(0, one.key.find('.'))));
            if (one.type == secret) names.push_back(names.back() + std::string(kFile));
        }
        const std::string meant = closest(key, names);
        report(member.line, member.column,
               has_section ? fmt::format("{} for \"{}\"", shown(member.value), key)
                           : fmt::format("unknown key \"{}\"", key),
               has_section ? "an object with keys" : "the keys of `steady config show`",
               meant.empty() || has_section ? "" : fmt::format("did you mean \"{}\"?", meant));
    }

    void report(int line, int column, const std::string& found, const std::string& may,
                const std::string& hint) {
        mistakes_ +=
            fmt::format("{}{}:{}:{}: found {}; allowed: {}{}{}", mistakes_.empty() ? "" : "\n",
                        file_, line, column, found, may, hint.empty() ? "" : "; ", hint);
    }

    const std::string& file_;
    bool of_project_;
    SettingMap& values_;
    std::string& mistakes_;
    std::set<std::string> own_;
};

std::string environment(const std::string& name) {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? "" : value;
}

std::string read_secret(const Setting& setting, const std::string& file,
                        const std::string& origin) {
    const std::string text = read_line_or_empty(file);
    if (!text.empty() && text.find('\n') == std::string::npos) return text;
    throw Error(fmt::format("{}{} ({}): {} cannot be read, or is not one line; it must hold the {}",
                            setting.key, kFile, origin, file, setting.key));
}

std::optional<SettingValue> from_environment(const Setting& setting) {
    const std::string name = environment_name(setting);
    std::string value = environment(name);
    if (!value.empty()) {
        if (setting.type == yes_no) {
            const std::string given = value;
            value = given == "1" || given == "true" || given == "yes"   ? "1"
                    : given == "0" || given == "false" || given == "no" ? "0"
                                                                        : "";
            if (value.empty()) {
                throw Error(fmt::format("{}: found \"{}\", allowed 1 or 0", name, given));
            }
        }
        if (const std::string may = not_allowed(setting, value); !may.empty()) {
            throw Error(fmt::format("{}: found \"{}\", allowed {}", name, value, may));
        }
        return SettingValue{value, "environment " + name};
    }
    if (setting.type != secret) return std::nullopt;
    value = environment(name + "_FILE");
    if (value.empty()) return std::nullopt;
    const std::string origin = "environment " + name + "_FILE";
    return SettingValue{read_secret(setting, value, origin), origin};
}

}  // namespace

std::span<const Setting> settings() { return kSettings; }

std::string not_allowed(const Setting& setting, const std::string& value) {
    const auto& [low, high, whole, one_of] = setting.range;
    if (setting.type == number) {
        double found = 0;
        const char* const end = value.data() + value.size();
        const auto [stop, error] = std::from_chars(value.data(), end, found);
        const bool fine = error == std::errc() && stop == end && found >= low && found <= high &&
                          (!whole || value.find_first_not_of("0123456789") == value.npos);
        return fine ? ""
                    : fmt::format("a {}number from {} to {}", whole ? "whole " : "", low, high);
    }
    if (one_of.empty()) return "";
    for (std::size_t at = 0; at <= value.size();) {
        const std::size_t next = setting.type == words ? value.find(',', at) : value.npos;
        const std::size_t end = std::min(next, value.size());
        if (!is_one_of(std::string_view(value).substr(at, end - at), one_of)) {
            return std::string(one_of);
        }
        at = end + 1;
    }
    return "";
}

std::string environment_name(const Setting& setting) {
    std::string name = "STEADY_";
    for (const char c : setting.key) {
        name += c == '.' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    }
    return name;
}

std::vector<std::string> settings_files() {
    std::vector<std::string> files{"steady.json"};
    const std::string config = environment("XDG_CONFIG_HOME"), home = environment("HOME");
    if (!config.empty()) {
        files.push_back(config + "/steady/steady.json");
    } else if (!home.empty()) {
        files.push_back(home + "/.config/steady/steady.json");
    }
    files.emplace_back("/etc/steady/steady.json");
    return files;
}

SettingMap read_settings(const std::vector<std::string>& files) {
    SettingMap values;
    std::string mistakes;
    std::error_code none;
    for (const std::string& file : files) {
        if (!fs::is_regular_file(file, none)) continue;
        File(file, file == files.front(), values, mistakes).read();
    }
    if (!mistakes.empty()) throw Error(mistakes);
    return values;
}

std::optional<SettingValue> find_setting(std::string_view key) {
    const Setting* setting = find(key);
    if (setting == nullptr) throw Error(fmt::format("no setting {}", key), kExitInternal);
    if (auto value = from_environment(*setting)) return value;
    static const SettingMap from_files = read_settings(settings_files());
    if (const auto it = from_files.find(key); it != from_files.end()) return it->second;
    const auto it = from_files.find(std::string(key) + std::string(kFile));
    if (setting->type != secret || it == from_files.end()) return std::nullopt;
    return SettingValue{read_secret(*setting, it->second.text, it->second.origin),
                        it->second.origin + ": " + it->second.text};
}

std::string setting(std::string_view key) {
    const auto value = find_setting(key);
    return value ? value->text : "";
}

}  // namespace steady
