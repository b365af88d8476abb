// Verbs export and import: complete experiments from one database to another, with the Notes of
// their entries.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "kernels/base/error.h"
#include "runner/cli/exchange.h"
#include "runner/cli/records.h"
#include "runner/cli/verbs.h"
#include "runner/cli/workspace.h"
#include "runner/entry/entry.h"
#include "runner/platform/files.h"
#include "runner/platform/inform.h"
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
std::string entry_of(Store& store, const Record& record) {
    if (!has_entry(record) || record.journal_path.empty()) return "";
    const Record filed = as_published(store, record);
    const std::string path = project_root() + "/" + entry_path(filed);  // never a worker's word
    if (!fs::is_regular_file(path)) return render(filed);
    const std::string text = read_file(path);
    return is_entry_of(filed, text) ? text : render(filed);
}

// How the entry stands in this checkout afterwards.
std::string put_entry(Store& store, const std::string& id, const Archived& archived) {
    if (archived.entry.empty()) return "";
    Record record = store.load_record(id);
    if (!has_entry(record)) return "no verdict, no entry";
    const Record filed = as_published(store, record);
    const std::string path = project_root() + "/" + entry_path(filed);
    if (fs::exists(path)) {
        const std::string text = read_file(path);
        if (!is_entry_of(filed, text)) {
            return entry_path(filed) + " is the entry of another run and was left alone";
        }
        const bool same = text == archived.entry || check_entry(text, filed).empty();
        if (same && record.journal_path != entry_path(filed)) {
            store.set_journal_path(record.id, entry_path(filed));
        }
        return entry_path(filed) + (same ? "" : " is here with another content and was left alone");
    }
    make_directories(fs::path(path).parent_path().string());
    write_file_atomic(path, archived.entry);
    if (render(filed, archived.entry) != archived.entry) {
        return entry_path(filed) + " renders otherwise in this version: `steady journal --check`";
    }
    write_entry(store, record);
    return entry_path(filed);
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
    if (arguments.get("format", "archive") != "archive") return export_table(arguments);
    if (arguments.has("table")) throw Error("--table belongs to --format csv, arrow or parquet");
    Destination to = destination_from(arguments);
    Store store = open_store(arguments);
    learn_shipped(store);
    std::vector<Archived> chosen;
    for (const std::string& word : to.ids) {
        const Record record = store.load_record(word);
        chosen.push_back({record.id, entry_of(store, record)});
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

namespace {

std::string shipped_folder() { return project_root() + "/experiments/records"; }

std::vector<std::string> records_in(const std::string& folder) {
    constexpr std::string_view kEnding = ".steady.json";
    std::vector<std::string> found;
    for (const auto& file : fs::directory_iterator(folder)) {
        if (file.path().string().ends_with(kEnding)) found.push_back(file.path());
    }
    // A question's first run before the others, whose names are longer: it keeps its name here too.
    const auto stem = [&](const std::string& path) {
        return std::string_view(path).substr(0, path.size() - kEnding.size());
    };
    std::sort(found.begin(), found.end(),
              [&](const std::string& a, const std::string& b) { return stem(a) < stem(b); });
    return found;
}

// Folders stand for the records in them; --shipped for those of this checkout.
std::vector<std::string> files_to_import(const Arguments& arguments) {
    std::vector<std::string> files, words = arguments.words;
    if (arguments.has("shipped")) words.push_back(shipped_folder());
    if (words.empty()) {
        throw Error("steady import needs a FILE or a folder of records, or --shipped");
    }
    for (const std::string& word : words) {
        if (!fs::is_directory(word)) {
            files.push_back(word);
            continue;
        }
        const std::vector<std::string> found = records_in(word);
        if (found.empty()) throw Error(fmt::format("{} holds no *.steady.json", word));
        files.insert(files.end(), found.begin(), found.end());
    }
    return files;
}

struct ImportedFile {
    nlohmann::json json = nlohmann::json::array();
    std::string lines;
};

// Throws Error (exit 2) for a file that is refused; then nothing of it is in.
ImportedFile import_file(Connection& connection, Store& store, const std::string& file,
                         bool with_entries) {
    const std::string text = read_named_file(file);
    const std::vector<Archived> archived = list_archive(text);
    const std::vector<Imported> imported = import_archive(connection, text);
    ImportedFile out;
    for (std::size_t i = 0; i < imported.size(); ++i) {
        const Imported& one = imported[i];
        const std::string entry = with_entries ? put_entry(store, one.id, archived[i]) : "";
        settle_import(store, one.id);
        out.json.push_back({{"id", one.id},
                            {"run", one.run},
                            {"published", archived[i].id},
                            {"file", file},
                            {"created", one.created},
                            {"entry", entry}});
        const std::string known =
            one.id == archived[i].id
                ? ""
                : fmt::format(" (a further run of {}: that id is taken here)", archived[i].id);
        out.lines += fmt::format("{} {}{}{}\n", one.id,
                                 one.created ? "imported" : "was here already, the same", known,
                                 entry.empty() ? "" : "; " + entry);
    }
    return out;
}

Connection connect_to_import(const Arguments& arguments) {
    return Connection({.url = database_url(arguments.get("db")),
                       .role = DatabaseRole::owner,
                       .client = "import",
                       .statement_timeout_ms = 600000});
}

}  // namespace

std::vector<std::string> shipped_records() {
    return fs::is_directory(shipped_folder()) ? records_in(shipped_folder())
                                              : std::vector<std::string>();
}

void import_shipped(const Arguments& arguments, const std::function<bool(int, int)>& told) {
    Connection connection = connect_to_import(arguments);
    Store store = open_store(arguments);
    int read = 0, refused = 0;
    for (const std::string& file : shipped_records()) {
        try {
            import_file(connection, store, file, false);
            ++read;
        } catch (const Error& error) {
            if (error.exit_code != kExitUsage) throw;  // not the file's fault
            ++refused;
            inform("{}: {}\n", file, error.what());
        }
        if (!told(read, refused)) return;
    }
}

int verb_import(const Arguments& arguments) {
    if (arguments.has("adapter")) return import_history(arguments);
    for (const char* name : {"repo", "commit", "date", "host", "branch", "project", "metric"}) {
        if (arguments.has(name)) {
            throw Error(
                fmt::format("--{} belongs to --adapter NAME, a history of another program", name));
        }
    }
    const std::vector<std::string> files = files_to_import(arguments);
    Connection connection = connect_to_import(arguments);
    Store store = open_store(arguments);
    learn_shipped(store);
    nlohmann::json imported = nlohmann::json::array(), refused = nlohmann::json::array();
    std::string lines;
    for (const std::string& file : files) {
        try {
            ImportedFile one = import_file(connection, store, file, !arguments.has("no-journal"));
            for (auto& row : one.json) imported.push_back(std::move(row));
            lines += one.lines;
        } catch (const Error& error) {
            if (error.exit_code != kExitUsage) throw;  // not the file's fault
            refused.push_back({{"file", file}, {"error", error.what()}});
            fmt::print(stderr, "{}: {}\n", file, error.what());
        }
    }
    if (files.size() > 1) {
        lines += fmt::format("{} of {} files read, {} refused\n", files.size() - refused.size(),
                             files.size(), refused.size());
    }
    if (!lines.empty()) lines.pop_back();
    print(arguments, {{"imported", imported}, {"refused", refused}}, lines);
    return refused.empty() ? kExitOk : kExitUsage;
}

}  // namespace steady
