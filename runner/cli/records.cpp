// Records between store, judge and journal folder.
#include "runner/cli/records.h"

#include <filesystem>

#include "runner/cli/workspace.h"
#include "runner/edges/files.h"
#include "runner/pipeline/entry.h"
#include "runner/pipeline/entry_figures.h"
#include "runner/storage/migrate.h"

namespace steady {

Store open_store(const Arguments& arguments, DatabaseRole role) {
    return Store({.url = database_url(arguments.get("db")), .role = role, .client = "cli"});
}

Analysis judge_again(const Record& record, bool finished) {
    const Evidence& evidence = record.evidence;
    JudgeInput input;
    input.spec = &record.spec;
    input.pairs = &record.pairs;
    input.applied = evidence.applied ? &*evidence.applied : nullptr;
    input.correctness = evidence.correctness ? &*evidence.correctness : nullptr;
    input.correctness_failure = evidence.correctness_failure;
    if (evidence.prior) input.prior = *evidence.prior;
    input.seed = record.seed;
    input.finished = finished;
    return judge(input);
}

void write_entry(Store& store, Record& record) {
    const std::string path = project_root() + "/" + entry_path(record);
    make_directories(std::filesystem::path(path).parent_path().string());
    const std::string old = std::filesystem::exists(path) ? read_file(path) : std::string();
    write_file_atomic(project_root() + "/" + figure_path(record), entry_figure(record));
    write_file_atomic(path, old.empty() ? render(record) : render(record, old));
    record.journal_path = entry_path(record);
    store.set_journal_path(record.id, record.journal_path);
}

}  // namespace steady
