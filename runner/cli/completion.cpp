// What is offered is the same in all three shells; zsh and fish also show what it means.
#include "runner/cli/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "kernels/base/error.h"

namespace steady {
namespace {

constexpr std::array<std::string_view, 3> kShells{"bash", "zsh", "fish"};

enum class Takes { nothing, text, files, folders, words };

// From the placeholder of a value, or of a verb's words: FILE, DIRS, on|off, TEXT …
Takes takes(std::string_view placeholder) {
    if (placeholder.empty()) return Takes::nothing;
    const auto has = [&](std::string_view word) {
        return placeholder.find(word) != std::string_view::npos;
    };
    if (has("FILE") || has("COMMAND")) return Takes::files;
    if (has("DIR") || has("FOLDER")) return Takes::folders;
    return has("|") ? Takes::words : Takes::text;
}

// on|off → "on off"
std::string words_of(std::string_view placeholder) {
    std::string words(placeholder);
    std::replace(words.begin(), words.end(), '|', ' ');
    return words;
}

std::string group_of(const Verb& verb) {
    const std::size_t space = verb.name.find(' ');
    return space == std::string_view::npos ? "" : std::string(verb.name.substr(0, space));
}

std::vector<Option> options_of(const Verb& verb) {
    std::vector<Option> options = verb.options;
    options.insert(options.end(), common_options().begin(), common_options().end());
    return options;
}

struct FirstWord {
    std::string word, meaning;
};

// What may stand first: verbs of one word, groups, help.
std::vector<FirstWord> first_words(std::span<const Verb> verbs) {
    std::vector<FirstWord> words{{"help", "list the verbs, or explain one"}};
    std::set<std::string> groups;
    for (const Verb& verb : verbs) {
        const std::string group = group_of(verb);
        if (group.empty()) {
            words.push_back({std::string(verb.name), std::string(verb.summary)});
        } else if (groups.insert(group).second) {
            std::string members;
            for (const Verb& other : verbs) {
                if (group_of(other) != group) continue;
                members += (members.empty() ? "" : ", ") +
                           std::string(other.name.substr(group.size() + 1));
            }
            words.push_back({group, members});
        }
    }
    return words;
}

std::vector<FirstWord> members_of(std::span<const Verb> verbs, const std::string& group) {
    std::vector<FirstWord> words;
    for (const Verb& verb : verbs) {
        if (group_of(verb) != group) continue;
        words.push_back(
            {std::string(verb.name.substr(group.size() + 1)), std::string(verb.summary)});
    }
    return words;
}

std::vector<std::string> groups_of(std::span<const Verb> verbs) {
    std::vector<std::string> groups;
    for (const Verb& verb : verbs) {
        const std::string group = group_of(verb);
        if (!group.empty() && (groups.empty() || groups.back() != group)) groups.push_back(group);
    }
    return groups;
}

std::string joined(const std::vector<FirstWord>& words) {
    std::string text;
    for (const FirstWord& one : words) text += (text.empty() ? "" : " ") + one.word;
    return text;
}

// 'text' for a shell that ends a quoted text at ' (fish also reads \ in it).
std::string shell_word(std::string_view text, bool fish = false) {
    std::string out = "'";
    for (const char c : text) {
        if (c == '\'') {
            out += fish ? "\\'" : "'\\''";
        } else if (c == '\\' && fish) {
            out += "\\\\";
        } else {
            out += c;
        }
    }
    return out + "'";
}

std::string bash_script(std::span<const Verb> verbs) {
    std::string text =
        "# bash completion for steady, written by `steady completion bash`\n"
        "_steady() {\n"
        "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}\n"
        "    local verb=${COMP_WORDS[1]} first=2 offered='' files=''\n"
        "    COMPREPLY=()\n    if ((COMP_CWORD == 1)); then\n";
    text += fmt::format(
        "        mapfile -t COMPREPLY < <(compgen -W '{} --help --version' -- \"$current\")\n",
        joined(first_words(verbs)));
    text += "        return\n    fi\n    case $verb in\n";
    for (const std::string& group : groups_of(verbs)) {
        text += fmt::format("    {}) verb+=\" ${{COMP_WORDS[2]}}\" first=3 offered='{}' ;;\n",
                            group, joined(members_of(verbs, group)));
    }
    text +=
        fmt::format("    help) first=3 offered='{}' ;;\n    esac\n", joined(first_words(verbs)));
    text +=
        "    if ((COMP_CWORD < first)); then\n"
        "        mapfile -t COMPREPLY < <(compgen -W \"$offered\" -- \"$current\")\n"
        "        return\n    fi\n    offered='' files=none\n    case \"$verb $previous\" in\n";
    for (const Verb& verb : verbs) {
        for (const Option& option : options_of(verb)) {
            const Takes what = takes(option.argument);
            if (what == Takes::nothing) continue;
            text += fmt::format("    '{} --{}') ", verb.name, option.name);
            text += what == Takes::files     ? "files=-f"
                    : what == Takes::folders ? "files=-d"
                    : what == Takes::words ? fmt::format("offered='{}'", words_of(option.argument))
                                           : "return";
            text += " ;;\n";
        }
    }
    text += "    *)\n        case $verb in\n";
    for (const Verb& verb : verbs) {
        std::string names;
        for (const Option& option : options_of(verb)) {
            names += fmt::format("{}--{}", names.empty() ? "" : " ", option.name);
        }
        const Takes what = takes(verb.words);
        if (takes(verb.words) == Takes::words) names += " " + words_of(verb.words);
        text += fmt::format("        '{}') offered='{}'{} ;;\n", verb.name, names,
                            what == Takes::files     ? " files=-f"
                            : what == Takes::folders ? " files=-d"
                                                     : "");
    }
    return text +
           "        esac\n        ;;\n    esac\n"
           "    mapfile -t COMPREPLY < <(compgen -W \"$offered\" -- \"$current\")\n"
           "    if [[ $files != none && $current != -* ]]; then\n"
           "        mapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(compgen \"$files\" -- "
           "\"$current\")\n"
           "        compopt -o filenames 2>/dev/null\n    fi\n}\ncomplete -F _steady steady\n";
}

// In a specification of _arguments, these end the text that they stand in.
std::string zsh_text(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
        out += c;
    }
    return out;
}

std::string zsh_action(std::string_view placeholder) {
    switch (takes(placeholder)) {
        case Takes::files:
            return "_files";
        case Takes::folders:
            return "_files -/";
        case Takes::words:
            return fmt::format("({})", words_of(placeholder));
        default:
            return " ";
    }
}

std::string zsh_described(const std::string& tag, const std::vector<FirstWord>& words,
                          const std::string& indent) {
    std::string text = fmt::format("{}offered=(\n", indent);
    for (const FirstWord& one : words) {
        text +=
            fmt::format("{}    {}\n", indent, shell_word(one.word + ":" + zsh_text(one.meaning)));
    }
    return text + fmt::format("{}); _describe -t {}s {} offered; return\n", indent, tag, tag);
}

std::string zsh_script(std::span<const Verb> verbs) {
    std::string text =
        "#compdef steady\n# zsh completion for steady, written by `steady completion zsh`\n"
        "_steady() {\n    local -a offered\n    if (( CURRENT == 2 )); then\n";
    std::vector<FirstWord> first = first_words(verbs);
    first.push_back({"--help", "list the verbs"});
    first.push_back({"--version", "print the version"});
    text += zsh_described("verb", first, "        ") +
            "    fi\n    local verb=$words[2]\n    case $verb in\n";
    for (const std::string& group : groups_of(verbs)) {
        text += fmt::format("    {})\n        if (( CURRENT == 3 )); then\n{}        fi\n", group,
                            zsh_described("member", members_of(verbs, group), "            "));
        text += "        verb+=\" $words[3]\"; shift words; (( CURRENT-- )) ;;\n";
    }
    text += fmt::format(
        "    help)\n        if (( CURRENT == 3 )); then\n{}        fi\n        return ;;\n",
        zsh_described("verb", first_words(verbs), "            "));
    text += "    esac\n    shift words; (( CURRENT-- ))\n    case $verb in\n";
    for (const Verb& verb : verbs) {
        text += fmt::format("    {})\n        _arguments", shell_word(verb.name));
        for (const Option& option : options_of(verb)) {
            std::string spec = option.repeats ? "*--" : "--";
            spec += std::string(option.name) + "[" + zsh_text(option.help) + "]";
            if (!option.argument.empty()) {
                spec += ":" + zsh_text(option.argument) + ":" + zsh_action(option.argument);
            }
            text += " \\\n            " + shell_word(spec);
        }
        if (!verb.words.empty()) {
            text += " \\\n            " +
                    shell_word("*:" + zsh_text(verb.words) + ":" + zsh_action(verb.words));
        }
        text += " ;;\n";
    }
    return text +
           "    esac\n}\nif [[ $funcstack[1] == _steady ]]; then\n    _steady \"$@\"\nelse\n"
           "    compdef _steady steady\nfi\n";
}

std::string fish_script(std::span<const Verb> verbs) {
    std::string text =
        "# fish completion for steady, written by `steady completion fish`\n"
        "# Whether the words before the cursor begin with these.\n"
        "function __steady_after\n"
        "    set -l words (commandline -opc)\n"
        "    test (count $words) -gt (count $argv); or return 1\n"
        "    for i in (seq (count $argv))\n"
        "        test $words[(math $i + 1)] = $argv[$i]; or return 1\n"
        "    end\nend\n"
        "# Whether there are just these.\n"
        "function __steady_at\n"
        "    set -l words (commandline -opc)\n"
        "    test (count $words) -eq (math (count $argv) + 1); and __steady_after $argv\nend\n"
        "complete -c steady -f\n"
        "complete -c steady -n __steady_at -l help -d 'list the verbs'\n"
        "complete -c steady -n __steady_at -l version -d 'print the version'\n";
    const auto offer = [&](const std::string& after, const std::vector<FirstWord>& words) {
        for (const FirstWord& one : words) {
            text += fmt::format("complete -c steady -n '__steady_at{}' -a {} -d {}\n",
                                after.empty() ? "" : " " + after, one.word,
                                shell_word(one.meaning, true));
        }
    };
    offer("", first_words(verbs));
    offer("help", first_words(verbs));
    for (const std::string& group : groups_of(verbs)) offer(group, members_of(verbs, group));
    for (const Verb& verb : verbs) {
        const std::string when =
            fmt::format("complete -c steady -n '__steady_after {}'", verb.name);
        for (const Option& option : options_of(verb)) {
            text += fmt::format("{} -l {}", when, option.name);
            switch (takes(option.argument)) {
                case Takes::nothing:
                    break;
                case Takes::text:
                    text += " -x";
                    break;
                case Takes::files:
                    text += " -r -F";
                    break;
                case Takes::folders:
                    text += " -x -a '(__fish_complete_directories)'";
                    break;
                case Takes::words:
                    text += fmt::format(" -x -a '{}'", words_of(option.argument));
                    break;
            }
            text += fmt::format(" -d {}\n", shell_word(option.help, true));
        }
        if (takes(verb.words) == Takes::words) {
            text += fmt::format("{} -a '{}'\n", when, words_of(verb.words));
        }
        if (takes(verb.words) == Takes::files) text += when + " -F\n";
        if (takes(verb.words) == Takes::folders) {
            text += when + " -a '(__fish_complete_directories)'\n";
        }
    }
    return text;
}

}  // namespace

std::span<const std::string_view> completion_shells() { return kShells; }

std::string completion_script(std::string_view shell, std::span<const Verb> verbs) {
    if (shell == "bash") return bash_script(verbs);
    if (shell == "zsh") return zsh_script(verbs);
    if (shell == "fish") return fish_script(verbs);
    throw Error(
        fmt::format("no completion for \"{}\"; allowed: {}", shell, fmt::join(kShells, ", ")));
}

}  // namespace steady
