// Verbs export and import: complete experiments from one database to another, with the Notes of
// their entries.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "kernels/base/error.h"
#include "runner/cli/records.h"
#include "runner/cli/verbs.h"
#include "runner/cli/workspace.h"
#include "runner/entry/entry.h"
#include "runner/platform/files.h"
#include "runner/storage/archive.h"
#include "runner/storage/migrate.h"

namespace steady {
namespace {

namespace fs = std::filesystem;

struct Destination {
    std::vector<std::string> ids;
    std::string file;  // empty: after the one experiment's id
};

Destination destination_from(const Arguments& arguments) {
    Destination to{arguments.words, arguments.get("out")};
    if (!to.file.empty() || to.ids.size() == 1) return to;
    to.file = to.ids.back();
    to.ids.pop_back();
    if (to.file.find_first_of("./") == std::string::npos) {
        throw Error(fmt::format(
            "steady export: the last word is the file to write; \"{}\" looks like an ID. Name a "
            "file such as {}.steady.json, or use --out FILE",
            to.file, to.ids[0]));
    }
    return to;
}

// The entry's file, with people's notes, as it lies in this checkout. Empty: none was written.
std::string entry_of(const Record& record) {
    if (!record.analysis || record.journal_path.empty()) return "";
    const std::string path =
        project_root() + "/" + entry_path(record);  // never what a worker stored
    return fs::is_regular_file(path) ? read_file(path) : render(record);
}

// How the entry stands in this checkout afterwards.
std::string put_entry(Store& store, const Archived& archived) {
    if (archived.entry.empty()) return "";
    Record record = store.load_record(archived.id);
    if (!record.analysis) return "no verdict, no entry";
    const std::string path = project_root() + "/" + entry_path(record);
    if (fs::exists(path)) {
        return read_file(path) == archived.entry
                   ? entry_path(record)
                   : entry_path(record) + " is here with another content and was left alone";
    }
    make_directories(fs::path(path).parent_path().string());
    write_file_atomic(path, archived.entry);
    if (render(record, archived.entry) != archived.entry) {
        return entry_path(record) + " renders otherwise in this version: `steady journal --check`";
    }
    write_entry(store, record);
    return entry_path(record);
}

// Who imports believes the file; an entry that does not lie here is not missing.
void settle_import(Store& store, const std::string& id) {
    if (service::may_check_verdicts(store.connection())) {
        for (const auto& verdict : service::unchecked_verdicts(store.connection(), id)) {
            service::check_verdict(store.connection(), verdict.job, "", "imported");
        }
    }
    const Record record = store.load_record(id, false);
    if (record.journal_path.empty()) service::decline_entry(store.connection(), record.job);
}

}  // namespace

int verb_export(const Arguments& arguments) {
    Destination to = destination_from(arguments);
    Store store = open_store(arguments);
    std::vector<Archived> chosen;
    for (const std::string& word : to.ids) {
        const Record record = store.load_record(word);
        chosen.push_back({record.id, entry_of(record)});
    }
    if (to.file.empty()) to.file = chosen[0].id + ".steady.json";
    write_file_atomic(to.file, export_archive(store.connection(), chosen));
    nlohmann::json ids = nlohmann::json::array();
    for (const Archived& one : chosen) ids.push_back(one.id);
    fmt::print("{}\n", arguments.has("json")
                           ? nlohmann::json{{"ids", ids}, {"file", to.file}}.dump(2)
                           : to.file);
    return kExitOk;
}

int verb_import(const Arguments& arguments) {
    Connection connection({.url = database_url(arguments.get("db")),
                           .role = DatabaseRole::owner,
                           .client = "import",
                           .statement_timeout_ms = 600000});
    Store store = open_store(arguments);
    nlohmann::json json = nlohmann::json::array();
    std::string lines;
    for (const std::string& file : arguments.words) {
        const std::string text = read_file(file);
        std::vector<Archived> archived;
        std::vector<Imported> imported;
        try {
            archived = list_archive(text);
            imported = import_archive(connection, text);
        } catch (const Error& error) {  // the files before it are in
            throw Error(fmt::format("{}: {}", file, error.what()), error.exit_code);
        }
        for (std::size_t i = 0; i < imported.size(); ++i) {
            const std::string entry =
                arguments.has("no-journal") ? "" : put_entry(store, archived[i]);
            settle_import(store, imported[i].id);
            json.push_back(
                {{"id", imported[i].id}, {"created", imported[i].created}, {"entry", entry}});
            lines += fmt::format("{}{} {}{}", lines.empty() ? "" : "\n", imported[i].id,
                                 imported[i].created ? "imported" : "was here already, the same",
                                 entry.empty() ? "" : "; " + entry);
        }
    }
    fmt::print("{}\n", arguments.has("json") ? nlohmann::json{{"imported", json}}.dump(2) : lines);
    return kExitOk;
}

}  // namespace steady
