// The record of a run as another machine would have exported it: the same file, its samples and its
// spec, with another host, submitted a thousand years later but decided at the end of the same day,
// so that it comes after the run that it was made from. Its hash is made right again.
#pragma once

#include <nlohmann/json.hpp>
#include <regex>
#include <string>

#include "runner/storage/archive_form.h"

namespace steady {

struct OtherMachine {
    // A class that no machine has, so that it is another one wherever the test runs.
    std::string host = "ba9876543210", cpu_class = "other-0-avx2", cpu = "Xeon", revision = "bbbb";
    std::string verdict;  // empty: the same
};

inline std::string on_other_machine(const std::string& archive, const OtherMachine& machine) {
    auto all = archive::from_text(archive);
    // Within a document as PostgreSQL prints it, of which only values change.
    const auto put = [](nlohmann::json& document, const char* key, const std::string& value) {
        const std::regex pattern(std::string("\"") + key + "\": \"[^\"]*\"");
        document = std::regex_replace(document.get<std::string>(), pattern,
                                      std::string("\"") + key + "\": \"" + value + "\"",
                                      std::regex_constants::format_first_only);
    };
    for (auto& one : all) {
        nlohmann::json& content = one.content;
        std::string submitted = content.at("experiment").at("submitted_at");
        submitted[0] = '3';
        content["experiment"]["submitted_at"] = submitted;
        content["experiment"]["host"] = machine.host;
        for (const char* section : {"attempts", "pairs", "noise"}) {
            for (nlohmann::json& row : content[section]) {
                if (!row.at("host").is_null()) row["host"] = machine.host;
            }
        }
        for (nlohmann::json& attempt : content["attempts"]) {
            put(attempt["fingerprint"], "cpu_class", machine.cpu_class);
            put(attempt["fingerprint"], "cpu_model", machine.cpu);
            put(attempt["fingerprint"], "steady_revision", machine.revision);
        }
        for (nlohmann::json& verdict : content["verdict"]) {
            std::string at = verdict.at("at");
            at.replace(std::string("2026-11-25T").size(), 8, "23:59:59");
            verdict["at"] = at;
        }
        if (machine.verdict.empty()) continue;
        put(content["verdict"][0]["analysis"], "verdict", machine.verdict);
        content["verdict"][0]["outcome"] = machine.verdict;
    }
    return archive::to_text(all);
}

}  // namespace steady
