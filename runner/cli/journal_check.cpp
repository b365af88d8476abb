// The checks of `steady journal --check` that no comparison of texts can make.
#include "runner/cli/journal_check.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "runner/base/text.h"
#include "runner/judge/analysis_text.h"
#include "runner/platform/process.h"
#include "runner/storage/store.h"

namespace steady {
namespace {

// The paragraph below "## Verdict".
std::string verdict_line(const std::string& entry) {
    constexpr std::string_view kHeading = "\n## Verdict\n\n";
    const std::size_t at = entry.find(kHeading);
    if (at == std::string::npos) return "";
    const std::size_t begin = at + kHeading.size();
    return entry.substr(begin, entry.find('\n', begin) - begin);
}

}  // namespace

std::string identity_problem(const Record& record) {
    const Spec& spec = record.spec;
    const std::string name = spec.id + "-" + spec.sha256.substr(0, 8);
    if (!record.id.starts_with(name)) {
        return fmt::format("identity: {} is not the name of its specification, {}", record.id,
                           name);
    }
    // With revisions, the question names commits, which the file does not.
    if (spec.subject.repo.empty() && !asks(spec, record.question_sha)) {
        return fmt::format("identity: {} stands at question {}, its specification asks {}",
                           record.id, record.question_sha.substr(0, 12),
                           question_sha(spec).substr(0, 12));
    }
    return "";
}

std::string words_problem(const Record& record, const std::string& entry) {
    if (!record.analysis) return "";
    const Analysis& analysis = *record.analysis;
    const std::string line = verdict_line(entry);
    if (line.empty()) return "";
    const auto says = [&](std::string_view words) { return line.find(words) != line.npos; };
    const auto refused = [](std::string_view words, std::string_view why) {
        return fmt::format("words: the verdict line says \"{}\", but {}", words, why);
    };
    const auto& [low, high] = analysis.interval;
    const bool accepted = analysis.verdict == Verdict::accept;
    const bool regression = analysis.reason == "regression";
    for (const char* never : {"costs nothing", "loses", "is free", "no difference"}) {
        if (says(never)) return refused(never, "no interval shows that");
    }
    for (const char* gain : {" is faster", " is better"}) {
        if (says(gain) && !accepted) return refused(gain, "the verdict is not accept");
    }
    for (const char* loss : {" is slower", " is worse"}) {
        if (says(loss) && !regression) return refused(loss, "no regression was decided");
    }
    if (says("at least ") && !(low && says("at least " + percent(*low) + " with 95 %"))) {
        return refused("at least", "the interval begins elsewhere");
    }
    if (says(" or worse with 95 %") &&
        !(high && says("; " + percent(*high) + " or worse with 95 %"))) {
        return refused("or worse", "the interval ends elsewhere");
    }
    return "";
}

std::vector<std::string> defaults_problems(const std::string& engine, const std::string& journal) {
    ChildOptions options;
    options.argv = {engine, "defaults", "--json"};
    const ChildEnd end = run_child(options, 30);
    const auto reply = nlohmann::json::parse(end.out, nullptr, false);
    if (!end.ok() || !reply.is_object() || !reply.contains("defaults")) {
        return {fmt::format("defaults: {} tells none: {}", engine, end.describe())};
    }
    std::vector<std::string> problems;
    bool any = false;
    std::vector<std::string> absent;
    for (const auto& row : reply["defaults"]) {
        const auto text = [&](const char* key) { return row.at(key).get<std::string>(); };
        if (text("entry").empty()) continue;
        const std::string name = text("op") + " " + text("variant");
        if (row.at("open") != row.at("declared_open")) {
            problems.push_back(fmt::format(
                "defaults: {}: {}, but engine/exec/champions_code.cpp says otherwise; measured {}, "
                "now {}",
                name, text("evidence"), text("code_measured"), text("code")));
        }
        const bool there = std::filesystem::exists(journal + "/" + text("entry") + ".md");
        any |= there;
        if (!there) {
            absent.push_back(fmt::format("defaults: {}: its entry {} is not in the journal", name,
                                         text("entry")));
        }
    }
    // A user's own project has none of them.
    if (any) problems.insert(problems.end(), absent.begin(), absent.end());
    return problems;
}

}  // namespace steady
