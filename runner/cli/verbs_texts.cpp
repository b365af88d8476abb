// Verbs about this program: its version, and what is made from the table of verbs: completion
// scripts and manual pages.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/protocol/session.h"
#include "kernels/base/error.h"
#include "kernels/base/revision.h"
#include "runner/cli/completion.h"
#include "runner/cli/manual.h"
#include "runner/cli/verbs.h"
#include "runner/platform/embedded.h"
#include "runner/platform/files.h"
#include "runner/record/record_json.h"
#include "runner/spec/spec_rules.h"
#include "runner/storage/archive_form.h"
#include "runner/storage/migrate.h"

namespace steady {

std::span<const EmbeddedFile> output_schemas();  // runner/schema, made by CMake

int verb_version(const Arguments& arguments) {
    const nlohmann::json formats{kExperimentFormat, kRecordFormat, archive::kFormat};
    return print(
        arguments,
        {{"version", steady_version()},
         {"revision", steady_revision()},
         {"build", steady_build()},
         {"formats", formats},
         {"session", protocol::kVersion},
         {"schema", schema_version()}},
        fmt::format("steady {}\nrevision  {}\nbuild     {}\nformats   {}, {}, {}\n"
                    "protocol  session {}\nschema    {}",
                    steady_version(), steady_revision(), steady_build(), kExperimentFormat,
                    kRecordFormat, archive::kFormat, protocol::kVersion, schema_version()));
}

namespace {

// The definitions that a schema refers to, and those that they refer to.
void gather_definitions(const nlohmann::json& schema, const nlohmann::json& all,
                        nlohmann::json& into) {
    if (schema.is_array()) {
        for (const auto& one : schema) gather_definitions(one, all, into);
    }
    if (!schema.is_object()) return;
    for (const auto& [key, value] : schema.items()) {
        if (key != "$ref") {
            gather_definitions(value, all, into);
            continue;
        }
        const std::string name =
            value.get<std::string>().substr(std::string("#/definitions/").size());
        if (into.contains(name)) continue;
        into[name] = all.at(name);
        gather_definitions(all.at(name), all, into);
    }
}

}  // namespace

int verb_schema(const Arguments& arguments) {
    const nlohmann::json all = nlohmann::json::parse(output_schemas()[0].bytes);
    if (arguments.words.empty()) {
        fmt::print("{}\n", all.dump(2));
        return kExitOk;
    }
    const std::string name = fmt::format("{}", fmt::join(arguments.words, " "));
    const nlohmann::json& known = all.at("verbs");
    if (!known.contains(name)) {
        std::vector<std::string> names;
        for (const auto& one : known.items()) names.push_back(one.key());
        throw Error(fmt::format("found \"{}\", allowed: a verb that prints JSON: {}", name,
                                fmt::join(names, ", ")));
    }
    nlohmann::json one = {{"$schema", all.at("$schema")},
                          {"$id", all.at("$id").get<std::string>() + "/" + name},
                          {"title", "steady " + name + " --json"}};
    one.update(known.at(name));
    nlohmann::json definitions = nlohmann::json::object();
    gather_definitions(known.at(name), all.at("definitions"), definitions);
    if (!definitions.empty()) one["definitions"] = definitions;
    fmt::print("{}\n", one.dump(2));
    return kExitOk;
}

int verb_completion(const Arguments& arguments) {
    const std::string shell = arguments.words.empty() ? "bash" : arguments.words[0];
    fmt::print("{}", completion_script(shell, verbs()));
    return kExitOk;
}

int verb_manual(const Arguments& arguments) {
    const std::vector<ManualPage> pages = manual_pages(verbs(), steady_version());
    if (arguments.has("out")) {
        if (!arguments.words.empty()) throw Error("--out writes all pages: leave the verb out");
        make_directories(arguments.get("out"));
        for (const ManualPage& page : pages) {
            write_file_atomic(arguments.get("out") + "/" + page.name + ".1", page.text);
        }
        return kExitOk;
    }
    std::string name = "steady";
    for (const std::string& word : arguments.words) name += "-" + word;
    const auto page = std::find_if(pages.begin(), pages.end(),
                                   [&](const ManualPage& one) { return one.name == name; });
    if (page == pages.end()) {
        throw Error(fmt::format("no verb \"{}\"; `steady help` lists all verbs",
                                fmt::join(arguments.words, " ")));
    }
    fmt::print("{}", page->text);
    return kExitOk;
}

}  // namespace steady
