// A page says what --help says, in the order of man-pages(7): name, synopsis, description, options,
// exit status, see also.
#include "runner/cli/manual.h"

#include <fmt/format.h>

#include <algorithm>

#include "runner/cli/verbs.h"
#include "runner/platform/settings.h"

namespace steady {
namespace {

// Text of the table as roff: a hyphen stays a hyphen, and no line starts a request.
std::string roff(std::string_view text) {
    std::string out;
    if (!text.empty() && (text[0] == '.' || text[0] == '\'')) out = "\\&";
    for (const char c : text) {
        if (c == '\\') {
            out += "\\e";
        } else if (c == '-') {
            out += "\\-";
        } else {
            out += c;
        }
    }
    return out;
}

std::string page_name(std::string_view verb) {
    std::string name = "steady-" + std::string(verb);
    std::replace(name.begin(), name.end(), ' ', '-');
    return name;
}

std::string head(const std::string& name, std::string_view summary, const std::string& version) {
    std::string title = name;
    std::transform(title.begin(), title.end(), title.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
    return fmt::format(
        ".\\\" Written by `steady manual` from the table of verbs.\n"
        ".TH {} 1 \"\" \"Steady {}\" \"Steady\"\n.SH NAME\n{} \\- {}\n",
        roff(title), version, roff(name), roff(summary));
}

std::string described(const Option& option) {
    std::string left = fmt::format("\\fB\\-\\-{}\\fR", roff(option.name));
    if (!option.argument.empty()) left += fmt::format(" \\fI{}\\fR", roff(option.argument));
    return fmt::format(".TP\n{}\n{}\n", left, roff(option.help));
}

constexpr const char* kExitStatus =
    ".SH EXIT STATUS\n"
    ".TP\n0\nsuccess; for verbs that end with a verdict: accept\n"
    ".TP\n10\nreject\n.TP\n11\ninconclusive\n.TP\n12\ninvalid\n"
    ".TP\n1\ninternal error\n.TP\n2\nusage or bad input\n.TP\n130\ninterrupted\n";

std::string verb_page(const Verb& verb, const std::string& version) {
    std::string text = head(page_name(verb.name), verb.summary, version);
    text += fmt::format(".SH SYNOPSIS\n\\fBsteady {}\\fR", roff(verb.name));
    if (!verb.words.empty()) text += fmt::format(" {}", roff(verb.words));
    text += " [\\fIOPTIONS\\fR]\n.SH DESCRIPTION\n";
    std::string sentence(verb.summary);
    sentence[0] = static_cast<char>(sentence[0] >= 'a' && sentence[0] <= 'z' ? sentence[0] - 32
                                                                             : sentence[0]);
    text += fmt::format("{}.\n.SH OPTIONS\n", roff(sentence));
    for (const Option& option : verb.options) text += described(option);
    for (const Option& option : common_options()) text += described(option);
    return text + kExitStatus + ".SH SEE ALSO\n.BR steady (1)\n";
}

std::string configuration() {
    std::string text =
        ".SH CONFIGURATION\n"
        "A flag wins over the environment, that over \\fI./steady.json\\fR, that over "
        "\\fI$XDG_CONFIG_HOME/steady/steady.json\\fR (\\fI~/.config/steady/steady.json\\fR), that "
        "over \\fI/etc/steady/steady.json\\fR. A key with a dot stands in a section: "
        "{\"serve\": {\"port\": 8642}}. Comments begin with //. A secret may stand in a file of "
        "its "
        "own, named by the key with _file, or by the variable with _FILE. Only the keys marked * "
        "may stand in \\fI./steady.json\\fR.\n";
    for (const Setting& setting : settings()) {
        text += fmt::format(".TP\n\\fB{}\\fR{}, {}\n{}\n", roff(setting.key),
                            setting.in_project ? "*" : "", environment_name(setting),
                            roff(setting_meaning(setting)));
    }
    return text;
}

std::string main_page(std::span<const Verb> verbs, const std::string& version) {
    std::string text =
        head("steady", "decide whether a change makes a program faster", version) +
        ".SH SYNOPSIS\n\\fBsteady\\fR \\fIVERB\\fR [\\fIARGUMENTS\\fR] [\\fIOPTIONS\\fR]\n.br\n"
        "\\fBsteady \\-\\-version\\fR\n.SH DESCRIPTION\n"
        "Steady takes one question as a file, runs baseline A and candidate B side by side in "
        "random order, stores every sample and gives one of four verdicts: accept, reject, "
        "inconclusive or invalid.\n"
        ".PP\nWithout a database of yours, it starts a private PostgreSQL over a unix socket.\n"
        ".SH VERBS\n";
    for (const Verb& verb : verbs) {
        text += fmt::format(".TP\n\\fB{}\\fR", roff(verb.name));
        if (!verb.words.empty()) text += fmt::format(" {}", roff(verb.words));
        text += fmt::format("\n{}\n", roff(verb.summary));
    }
    text += ".SH OPTIONS\nEvery verb takes:\n";
    for (const Option& option : common_options()) text += described(option);
    text += configuration();
    text += kExitStatus;
    text += ".SH SEE ALSO\n.BR steady\\-engine (1),\n.BR steady\\-kernels (1)";
    for (const Verb& verb : verbs) text += fmt::format(",\n.BR {} (1)", roff(page_name(verb.name)));
    return text + "\n";
}

}  // namespace

std::vector<ManualPage> manual_pages(std::span<const Verb> verbs, const std::string& version) {
    std::vector<ManualPage> pages{{"steady", main_page(verbs, version)}};
    for (const Verb& verb : verbs) {
        pages.push_back({page_name(verb.name), verb_page(verb, version)});
    }
    return pages;
}

}  // namespace steady
