// `steady index`: the table of a folder of experiment files, written into its README between two
// marks. Questions come from the files, answers from the entries in journal/, so that neither is
// copied by hand.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "kernels/base/error.h"
#include "runner/base/text.h"
#include "runner/cli/verbs.h"
#include "runner/cli/workspace.h"
#include "runner/entry/entry_data.h"
#include "runner/platform/files.h"

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

// An entry opens with front matter and the title "# <question>: <verdict>, <effect> <metric>".
std::vector<Answer> answers_in(const fs::path& journal) {
    std::vector<Answer> answers;
    for (const fs::path& file : sorted_files(journal, ".md")) {
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

std::string table_of(const fs::path& folder) {
    const fs::path journal = fs::path(project_root()) / "journal";
    const std::vector<Answer> answers = answers_in(journal);
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
    for (const std::string& word : arguments.words) {
        if (!fs::is_directory(word)) {
            throw Error(
                fmt::format("{} is no folder; allowed: a folder of experiment files", word));
        }
        const fs::path path = fs::path(word) / "README.md";
        const std::string before = fs::exists(path) ? read_file(path.string()) : std::string();
        const std::string now = with_table(before, table_of(word));
        if (now != before) stale.push_back(path.string());
        if (now != before && !arguments.has("check")) write_file_atomic(path.string(), now);
        files.push_back({{"file", path.string()}, {"changed", now != before}});
    }
    const bool check = arguments.has("check");
    std::string text = fmt::format("{} pages, {} {}", files.size(), stale.size(),
                                   check ? "out of date" : "written");
    for (const std::string& path : stale) text += "\n" + path;
    if (check && !stale.empty()) text += "\n`steady index FOLDER` writes the table again";
    print(arguments, {{"pages", files}}, text);
    return check && !stale.empty() ? kExitInternal : kExitOk;
}

}  // namespace steady
