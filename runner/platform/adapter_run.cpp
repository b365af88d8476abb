// Files that the program left are read only if they were written during this run, by the clock that
// stamps them: an old result must never stand for a new one.
#include "runner/platform/adapter_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <system_error>
#include <thread>

#include "kernels/base/error.h"
#include "runner/base/text.h"
#include "runner/platform/files.h"

namespace steady {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 20000;
constexpr std::uintmax_t kMostBytes = std::uintmax_t{64} << 20U;

// A folder for one run; removed with its content unless it was given.
class Scratch {
public:
    explicit Scratch(const std::string& given) : path_(given), made_(given.empty()) {
        if (made_) path_ = fmt::format("{}/steady-run-{}", scratch_dir(), random_hex(8));
        make_directories(path_, 0700);
    }
    ~Scratch() {
        std::error_code ignored;
        if (made_) fs::remove_all(path_, ignored);
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    const std::string& path() const { return path_; }

private:
    std::string path_;
    bool made_;
};

void read_folder(const Adapter& adapter, const fs::path& root, fs::file_time_type since,
                 std::vector<AdapterFile>& files) {
    std::error_code error;
    std::uintmax_t bytes = 0;
    std::size_t n = 0;
    const auto options = fs::directory_options::skip_permission_denied;
    for (fs::recursive_directory_iterator it(root, options, error), end; !error && it != end;
         it.increment(error)) {
        const std::string path = it->path().lexically_relative(root).generic_string();
        if (++n > kMostFiles) {
            throw Error(fmt::format("{} holds more than {} files", root.string(), kMostFiles));
        }
        const bool wanted = it->is_regular_file(error) && !it->is_symlink(error) &&
                            adapter.takes_file(path) && it->last_write_time(error) >= since;
        if (!wanted) continue;
        bytes += it->file_size(error);
        if (bytes > kMostBytes) {
            throw Error(fmt::format("the results in {} are larger than {} MiB", root.string(),
                                    kMostBytes >> 20U));
        }
        files.push_back({path, read_file(it->path().string())});
    }
}

// A time that everything written before this call lies before, by the clock that stamps files. That
// clock moves in steps of some milliseconds, so this waits for the next one.
fs::file_time_type new_stamp(const std::string& marker) {
    write_file_atomic(marker, "");
    const fs::file_time_type first = fs::last_write_time(marker);
    for (;;) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        write_file_atomic(marker, "");
        const fs::file_time_type now = fs::last_write_time(marker);
        if (now != first) return now;
    }
}

std::int64_t unix_ms() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

// What the program left, as the adapter wants it. `text` keeps the bytes that the input points to.
AdapterInput gather(const Adapter& adapter, const MeasuredCommand& command, const MeasuredRun& run,
                    const std::string& file, const std::string& folder, fs::file_time_type since,
                    std::string& text) {
    AdapterInput input;
    switch (adapter.from) {
        case ResultFrom::output:
            text = run.end.out;
            break;
        case ResultFrom::usage:
            text = usage_json(run.usage);
            break;
        case ResultFrom::file:
            // A link would make us read whatever the program points to.
            if (!fs::is_regular_file(fs::symlink_status(file))) {
                throw Error(fmt::format("the program wrote no result; the adapter {} reads {}",
                                        adapter.name, adapter.reads));
            }
            if (fs::file_size(file) > kMostBytes) throw Error("its result is larger than 64 MiB");
            text = read_file(file);
            break;
        case ResultFrom::folder:
            if (adapter.folder_variable != nullptr) {
                read_folder(adapter, folder, since, input.files);
                break;
            }
            for (const std::string& name : adapter.folders) {
                const fs::path base = command.directory.empty() ? "." : command.directory;
                read_folder(adapter, base / name, since, input.files);
            }
            break;
    }
    std::sort(input.files.begin(), input.files.end(),
              [](const AdapterFile& x, const AdapterFile& y) { return x.path < y.path; });
    input.text = text;
    return input;
}

// The process's own numbers, unless the adapter measures the same.
void add_usage(const Usage& usage, std::vector<AdapterRow>& rows) {
    std::set<std::string> known;
    for (const AdapterRow& row : rows) known.insert(row.metric);
    for (AdapterRow& row : find_adapter("process")->read(usage_json(usage))) {
        if (known.count(row.metric) == 0) rows.push_back(std::move(row));
    }
}

}  // namespace

AdapterRun run_with_adapter(const Adapter& adapter, MeasuredCommand command,
                            const AdapterOptions& options) {
    const Scratch scratch(options.scratch);
    const std::string stem = scratch.path() + "/" + random_hex(6);
    const std::string file = stem + ".result", folder = stem + ".folder", marker = stem + ".start";
    if (adapter.command != nullptr) command.argv = adapter.command(std::move(command.argv), file);
    if (adapter.folder_variable != nullptr) {
        make_directories(folder);
        fs::permissions(folder, fs::perms::all);  // a confined program is another user
        command.env[adapter.folder_variable] = folder;
        if (!command.prefix.empty()) {
            const std::string setting = std::string(adapter.folder_variable) + "=" + folder;
            command.argv.insert(command.argv.begin(), {"/usr/bin/env", setting});
        }
    }
    const bool shared = adapter.from == ResultFrom::folder && adapter.folder_variable == nullptr;
    const fs::file_time_type since = shared ? new_stamp(marker) : fs::file_time_type::min();
    const std::int64_t since_ms = unix_ms();
    AdapterRun result{run_measured(command), {}, {}};
    if (!result.run.end.exited_with(options.exit)) {
        result.error = result.run.end.describe();
    } else {
        try {
            std::string text;
            AdapterInput input = gather(adapter, command, result.run, file, folder, since, text);
            input.pattern = options.pattern;
            input.metric = options.metric;
            input.since_ms = since_ms;
            result.rows = adapter.parse(input);
            add_usage(result.run.usage, result.rows);
        } catch (const Error& error) {
            result.rows.clear();
            result.error = error.what();
        }
    }
    std::error_code ignored;
    for (const std::string& path : {file, folder, marker}) fs::remove_all(path, ignored);
    return result;
}

}  // namespace steady
