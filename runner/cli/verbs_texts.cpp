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
#include "runner/platform/files.h"
#include "runner/record/record_json.h"
#include "runner/spec/spec_rules.h"
#include "runner/storage/archive_form.h"
#include "runner/storage/migrate.h"

namespace steady {

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
