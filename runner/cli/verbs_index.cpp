// `steady index`: the table of a folder of experiment files, or of a journal by what differs, CPU
// class and verdict, written into its README between two marks. Questions come from the files,
// answers from the entries in journal/, so that neither is copied by hand.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "kernels/base/error.h"
#include "runner/base/text.h"
#include "runner/cli/verbs.h"
#include "runner/cli/workspace.h"
#include "runner/entry/entry_data.h"
#include "runner/platform/files.h"
#include "runner/record/cpu_class.h"

namespace steady {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBegin = "<!-- index: written by `steady index`, do not edit -->\n";
constexpr std::string_view kEnd = "<!-- end of index -->\n";

struct Answer {
    std::string file, question, spec, words;  // words: "accept, +291 % decode\_tps"
};

std::vector<fs::path> sorted_files(const fs::path& folder, const char* extension) {
    std::error_code none;
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder, none)) {
        if (entry.path().extension() == extension) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
}

// The text between `before` and the end of its line; empty when `before` is not there.
std::string after(const std::string& text, const std::string& before) {
    const std::size_t at = text.find(before);
    if (at == std::string::npos) return {};
    const std::size_t begin = at + before.size();
    return text.substr(begin, text.find('\n', begin) - begin);
}

std::string front(const std::string& text, const std::string& key) {
    std::string value = after(text, "\n" + key + ": ");
    std::erase(value, '"');
    return value;
}

// The record that an entry is made from, below the root; empty when the project does not hold it.
// Such a record names its entry; where another machine published a run under the same name, without
// the run at the end: as_published in records.h.
std::string record_of(const std::string& id, const std::string& entry) {
    const std::string path = "experiments/records/" + id + ".steady.json";
    const fs::path record = fs::path(project_root()) / path;
    if (!fs::exists(record)) return "";
    const std::string text = read_file(record.string());
    const auto names = [&](const std::string& file) {
        return text.find("\"journal/" + file + "\"") != std::string::npos;
    };
    const std::size_t run = id.rfind("-r");
    const bool other_name =
        run != std::string::npos && id.size() - run == std::strlen("-r01234567");
    const std::size_t at = other_name ? entry.rfind(id.substr(run)) : std::string::npos;
    if (names(entry)) return path;
    return at != std::string::npos && names(entry.substr(0, at) + ".md") ? path : "";
}

bool is_published(const fs::path& entry) {
    return !record_of(front(read_file(entry.string()), "id"), entry.filename().string()).empty();
}

// The page to compare with; absent when it is written.
using Checked = std::optional<std::string>;

// A page may leave out entries of one's own; once listed, they count.
std::vector<fs::path> entry_files(const fs::path& journal, const Checked& checked) {
    std::vector<fs::path> files = sorted_files(journal, ".md");
    if (!checked) return files;
    std::erase_if(files, [&](const fs::path& file) {
        return checked->find(file.filename().string()) == std::string::npos && !is_published(file);
    });
    return files;
}

// An entry opens with front matter and the title "# <question>: <verdict>, <effect> <metric>".
std::vector<Answer> answers_in(const fs::path& journal, const Checked& checked) {
    std::vector<Answer> answers;
    for (const fs::path& file : entry_files(journal, checked)) {
        const std::string text = read_file(file.string());
        const std::string title = after(text, "\n# ");
        const std::size_t colon = title.find(": ");
        std::string spec = after(text, "\nspec: ");
        std::erase(spec, '"');
        if (spec.empty() || colon == std::string::npos) continue;
        answers.push_back(
            {file.filename().string(), title.substr(0, colon), spec, title.substr(colon + 2)});
    }
    return answers;
}

std::string cell(const std::string& text) { return escape_markdown(text); }

std::string prediction(const Spec& spec) {
    if (!spec.hypothesis.predict) return "–";
    const Prediction& predicted = *spec.hypothesis.predict;
    return fmt::format("{:+g} % to {:+g} %", 100 * predicted.low, 100 * predicted.high);
}

std::string arms(const Spec& spec) {
    std::vector<std::string> parts;
    for (const Difference& one : differences(spec)) {
        parts.push_back(fmt::format("`{}`: {} → {}", one.path, cell(one.a), cell(one.b)));
    }
    return parts.empty() ? "nothing" : fmt::format("{}", fmt::join(parts, "; "));
}

// "Trial 001-D03" or "Seed 001 idea 4", where `because` opens with one.
std::string trial(const Spec& spec) {
    const std::string& because = spec.hypothesis.because;
    const std::size_t colon = because.find(": ");
    for (const std::string_view word : {"Trial ", "Seed "}) {
        if (colon != std::string::npos && because.starts_with(word)) {
            return because.substr(word.size(), colon - word.size());
        }
    }
    return {};
}

std::string answered(const Spec& spec, const std::vector<Answer>& answers,
                     const std::string& to_journal) {
    std::vector<std::string> parts;
    for (const Answer& answer : answers) {
        if (answer.question != spec.id) continue;
        parts.push_back(fmt::format("[{}]({}{}), {}{}", answer.file.substr(0, 10), to_journal,
                                    answer.file, answer.words,
                                    answer.spec == spec.sha256 ? "" : " (asked in another form)"));
    }
    return parts.empty() ? "not yet" : fmt::format("{}", fmt::join(parts, "<br>"));
}

std::string table_of(const fs::path& folder, const Checked& checked) {
    const fs::path journal = fs::path(project_root()) / "journal";
    const std::vector<Answer> answers = answers_in(journal, checked);
    const std::string to_journal = fs::absolute(journal)
                                       .lexically_normal()
                                       .lexically_relative(fs::absolute(folder).lexically_normal())
                                       .string() +
                                   "/";
    std::vector<Spec> specs;
    for (const fs::path& file : sorted_files(folder, ".json")) {
        specs.push_back(load_spec(file.string()));
    }
    const bool trials = std::any_of(specs.begin(), specs.end(),
                                    [](const Spec& spec) { return !trial(spec).empty(); });
    std::string out = fmt::format(
        "{}| {}file | claim | A → B | predicted | worth | verdicts |\n|{} --- | --- | --- | --- | "
        "--- | --- |\n",
        kBegin, trials ? "trial | " : "", trials ? " --- |" : "");
    for (const Spec& spec : specs) {
        const Gate* gate = deciding_gate(spec);
        out += fmt::format("| {}[{}]({}.json) | {} | {} | {} | {} | {} |\n",
                           trials ? trial(spec) + " | " : "", spec.id, spec.id,
                           cell(spec.hypothesis.claim), arms(spec), prediction(spec),
                           gate == nullptr ? "–" : fmt::format("{:g} %", 100 * gate->worth),
                           answered(spec, answers, to_journal));
    }
    return out + std::string(kEnd);
}

// One entry as the index of a journal lists it.
struct Listed {
    std::string stem, id, question, cpu_class, verdict, date, decided, title;
    std::vector<std::string> paths;  // what differs between the arms: kernels.q4_0_experts
    bool operator<(const Listed& other) const {
        return std::tie(cpu_class, verdict, date, id) <
               std::tie(other.cpu_class, other.verdict, other.date, other.id);
    }
};

std::vector<Listed> entries_in(const fs::path& journal, const Checked& checked) {
    std::vector<Listed> all;
    for (const fs::path& file : entry_files(journal, checked)) {
        const std::string text = read_file(file.string());
        Listed one{file.stem().string(),     front(text, "id"),      front(text, "question"),
                   front(text, "cpu_class"), front(text, "verdict"), front(text, "date"),
                   front(text, "decided"),   after(text, "\n# "),    {}};
        if (one.id.empty() || one.verdict.empty()) continue;
        if (std::string gpu = front(text, "gpu"); !gpu.empty()) one.cpu_class = std::move(gpu);
        std::size_t at = text.find("| differs in |");
        if (at != std::string::npos) at = text.find('\n', text.find('\n', at) + 1);
        while (at != std::string::npos && text.compare(at, 4, "\n| `") == 0) {
            one.paths.push_back(text.substr(at + 4, text.find('`', at + 4) - at - 4));
            at = text.find('\n', at + 1);
        }
        if (one.paths.empty()) one.paths.emplace_back("nothing (A against A)");
        if (const std::size_t colon = one.title.find(": "); colon != std::string::npos) {
            one.title = one.title.substr(colon + 2);
        }
        all.push_back(std::move(one));
    }
    return all;
}

// A newer decision on the same question and class stands for this one; the defaults cite what they
// rest on.
std::string status_of(const Listed& one, const std::vector<Listed>& all,
                      const std::string& defaults) {
    const Listed* newer = nullptr;
    for (const Listed& other : all) {
        const bool same = !one.question.empty() && other.question == one.question &&
                          same_cpu_class(other.cpu_class, one.cpu_class);
        const bool later = other.decided > one.decided;
        const bool decision = other.verdict == "accept" || other.verdict == "reject";
        if (same && later && (decision || one.verdict == "inconclusive")) newer = &other;
    }
    std::string status = newer == nullptr
                             ? "current"
                             : fmt::format("superseded by [{}]({}.md)", newer->id, newer->stem);
    if (defaults.find(one.stem + '"') != std::string::npos) return status + ", a default";
    return status + (one.verdict == "accept" ? ", not a default" : "");
}

std::string files_of(const Listed& one, const std::map<std::string, std::string>& specs) {
    const fs::path root = project_root();
    std::string spec_id = one.id;
    while (!spec_id.empty() && !specs.contains(spec_id)) {
        const std::size_t dash = spec_id.rfind('-');
        spec_id.resize(dash == std::string::npos ? 0 : dash);
    }
    std::vector<std::string> parts;
    if (!spec_id.empty()) parts.push_back(fmt::format("[question](../{})", specs.at(spec_id)));
    const std::string record = record_of(one.id, one.stem + ".md");
    if (!record.empty()) parts.push_back(fmt::format("[record](../{})", record));
    return fmt::format("{}", fmt::join(parts, ", "));
}

// What differs × CPU class × verdict, from the heads of the entries.
std::string index_of(const fs::path& journal, const Checked& checked) {
    const fs::path root = project_root();
    const std::vector<Listed> all = entries_in(journal, checked);
    std::map<std::string, std::vector<Listed>> by_path;
    for (const Listed& one : all) {
        for (const std::string& path : one.paths) by_path[path].push_back(one);
    }
    std::map<std::string, std::string> specs;  // name → file below the root
    std::error_code none;
    for (const auto& file : fs::recursive_directory_iterator(root / "experiments", none)) {
        const bool record = file.path().filename().string().ends_with(".steady.json");
        if (file.path().extension() != ".json" || record) continue;
        specs[file.path().stem().string()] = file.path().lexically_relative(root).string();
    }
    const fs::path champions = root / "engine/exec/champions.cpp";
    const std::string defaults = fs::exists(champions) ? read_file(champions.string()) : "";
    std::string out(kBegin);
    for (auto& [path, entries] : by_path) {
        std::sort(entries.begin(), entries.end());
        out += fmt::format(
            "\n### {}\n\n| CPU class or GPU | verdict | day | entry | status | files |\n"
            "| --- | --- | --- | --- | --- | --- |\n",
            cell(path));
        for (const Listed& one : entries) {
            out +=
                fmt::format("| {} | {} | {} | [{}]({}.md) | {} | {} |\n",
                            one.cpu_class.empty() ? "unknown" : one.cpu_class, one.title, one.date,
                            one.id, one.stem, status_of(one, all, defaults), files_of(one, specs));
        }
    }
    return out + "\n" + std::string(kEnd);
}

// The README with the table between the marks; without marks at its end.
std::string with_table(const std::string& page, const std::string& table) {
    const std::size_t begin = page.find(kBegin);
    const std::size_t end = page.find(kEnd, begin == std::string::npos ? 0 : begin);
    if (begin == std::string::npos || end == std::string::npos) {
        return page + (page.empty() ? "" : "\n") + table;
    }
    return page.substr(0, begin) + table + page.substr(end + kEnd.size());
}

}  // namespace

int verb_index(const Arguments& arguments) {
    nlohmann::json files = nlohmann::json::array();
    std::vector<std::string> stale;
    const bool check = arguments.has("check");
    for (const std::string& word : arguments.words) {
        if (!fs::is_directory(word)) {
            throw Error(fmt::format(
                "{} is no folder; allowed: a folder of experiment files, or of journal entries",
                word));
        }
        const fs::path path = fs::path(word) / "README.md";
        const std::string before = fs::exists(path) ? read_file(path.string()) : std::string();
        const Checked checked = check ? Checked(before) : std::nullopt;
        const bool journal = !entries_in(word, std::nullopt).empty();
        const std::string now =
            with_table(before, journal ? index_of(word, checked) : table_of(word, checked));
        if (now != before) stale.push_back(path.string());
        if (now != before && !check) write_file_atomic(path.string(), now);
        files.push_back({{"file", path.string()}, {"changed", now != before}});
    }
    std::string text = fmt::format("{} pages, {} {}", files.size(), stale.size(),
                                   check ? "out of date" : "written");
    for (const std::string& path : stale) text += "\n" + path;
    if (check && !stale.empty()) text += "\n`steady index FOLDER` writes the table again";
    print(arguments, {{"pages", files}}, text);
    return check && !stale.empty() ? kExitInternal : kExitOk;
}

}  // namespace steady
