// Sizes are known beforehand, from a table that is a little generous; the file size limit of the
// process that writes holds it to that. Beside each model lies NAME.by: who asked for it, and by
// its time when it was used last.
#include "runner/cli/made_models.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "kernels/base/error.h"
#include "runner/base/pattern.h"
#include "runner/base/text.h"
#include "runner/cli/records.h"
#include "runner/cli/workspace.h"
#include "runner/platform/disk.h"
#include "runner/platform/files.h"
#include "runner/platform/inform.h"
#include "runner/platform/process.h"
#include "runner/queue/spool.h"
#include "runner/storage/store.h"

namespace steady {
namespace {

namespace fs = std::filesystem;

struct Geometry {
    const char *size, *architecture;
    double base_mb, block_mb;
    int blocks;  // of the whole model
};

constexpr std::array kGeometries{Geometry{"full", "glm-4.7-flash", 225, 362, 47},
                                 Geometry{"full", "deepseek-v2-lite", 75, 336, 27},
                                 Geometry{"full", "youtu-llm-2b", 225, 31, 32},
                                 Geometry{"small", "glm-4.7-flash", 10, 49, 6},
                                 Geometry{"small", "deepseek-v2-lite", 10, 49.5, 6},
                                 Geometry{"small", "youtu-llm-2b", 20, 9.7, 12},
                                 Geometry{"tiny", "glm-4.7-flash", 1, 2, 3},
                                 Geometry{"tiny", "deepseek-v2-lite", 1, 1.9, 3},
                                 Geometry{"tiny", "youtu-llm-2b", 1, 0.8, 3}};
constexpr int kMostBlocks = 1024;

double gigabytes(std::uint64_t bytes) { return static_cast<double>(bytes) / (1U << 30U); }

struct Lying {
    fs::path path;
    std::string submitter;
    fs::file_time_type used;
    std::uint64_t bytes = 0;
};

std::string owner_file(const std::string& path) { return path + ".by"; }

// Longest unused first.
std::vector<Lying> lying_models(const std::string& folder) {
    std::vector<Lying> found;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        if (!made_model_of(entry.path().filename().string())) continue;
        Lying one{entry.path(), read_line_or_empty(owner_file(entry.path().string())), {}, 0};
        one.bytes = entry.file_size(error);
        one.used = fs::last_write_time(owner_file(entry.path().string()), error);
        if (error) one.used = entry.last_write_time(error);
        found.push_back(std::move(one));
    }
    std::sort(found.begin(), found.end(),
              [](const Lying& x, const Lying& y) { return x.used < y.used; });
    return found;
}

// Who has it open goes on with it: the space comes back when they end.
void evict(std::vector<Lying>& models, std::vector<Lying>::iterator which) {
    fs::remove(which->path);
    fs::remove(owner_file(which->path.string()));
    models.erase(which);
}

std::uint64_t sum_of(const std::vector<Lying>& models, const std::string& submitter) {
    std::uint64_t sum = 0;
    for (const Lying& one : models) {
        if (submitter.empty() || one.submitter == submitter) sum += one.bytes;
    }
    return sum;
}

void refuse_beyond_budget(const MadeModel& model, const ModelBudget& budget) {
    if (model.bytes > budget.all_bytes) {
        throw Error(
            fmt::format("model {} takes about {:.1f} GB; all made models together may take "
                        "{:.1f} GB on this machine (worker --model-budget)",
                        model.name, gigabytes(model.bytes), gigabytes(budget.all_bytes)));
    }
    if (!budget.submitter.empty() && model.bytes > budget.submitter_bytes) {
        throw Error(fmt::format(
            "model {} takes about {:.1f} GB; the made models of one submitter ({}) may take {:.1f} "
            "GB on this machine (worker --submitter-budget)",
            model.name, gigabytes(model.bytes), budget.submitter,
            gigabytes(budget.submitter_bytes)));
    }
}

// The submitter's own models go first, then whichever was used longest ago.
void make_room(const MadeModel& model, const ModelBudget& budget, const std::string& folder) {
    refuse_beyond_budget(model, budget);
    std::vector<Lying> models = lying_models(folder);
    while (!budget.submitter.empty() &&
           sum_of(models, budget.submitter) + model.bytes > budget.submitter_bytes) {
        evict(models, std::find_if(models.begin(), models.end(), [&](const Lying& one) {
                  return one.submitter == budget.submitter;
              }));
    }
    const auto short_of_room = [&] {
        DiskSpace space = disk_space(folder);
        space.free_bytes -= static_cast<double>(model.bytes);
        return space_trouble(space, folder);
    };
    while (!models.empty() &&
           (sum_of(models, "") + model.bytes > budget.all_bytes || !short_of_room().empty())) {
        evict(models, models.begin());
    }
    if (!short_of_room().empty()) {
        throw HostTrouble{fmt::format(
            "model {} takes about {:.1f} GB, and {:.1f} GB are free in {}", model.name,
            gigabytes(model.bytes), disk_space(folder).free_bytes / (1U << 30U), folder)};
    }
}

Error stopped_making() {
    return Error("stopped while a model was made or waited for", kExitInterrupted);
}

// Half a model of a command that was killed. The folder's lock is held, so nobody writes one now.
void drop_parts(const std::string& folder) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        if (entry.path().extension() == ".part") fs::remove(entry.path(), error);
    }
}

// Two commands that make models count the same room. A stop ends the wait.
Fd lock_folder(const std::string& folder, const StopSignal* stop) {
    Fd lock{::open((folder + "/.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
    while (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
        if (!lock || (errno != EWOULDBLOCK && errno != EINTR)) {
            throw HostTrouble{
                fmt::format("cannot lock {}/.lock: {}", folder, std::strerror(errno))};
        }
        pollfd entry{stop != nullptr ? stop->fd() : -1, POLLIN, 0};
        if (::poll(&entry, 1, 20) == 1) throw stopped_making();
    }
    return lock;
}

}  // namespace

std::optional<MadeModel> made_model_of(const std::string& name) {
    static const Pattern form(
        R"(synth-(tiny|small|full)-(glm-4\.7-flash|deepseek-v2-lite|youtu-llm-2b)(-realistic)?(?:-b(\d{1,5}))?-s(\d{1,18})\.gguf)");
    const auto parts = form.match(name);
    if (!parts) return std::nullopt;
    MadeModel model{name, (*parts)[1], (*parts)[2], (*parts)[5]};
    model.realistic = !(*parts)[3].empty();
    if (!(*parts)[4].empty()) {
        model.blocks = std::stoi((*parts)[4]);
        if (model.blocks < 1 || model.blocks > kMostBlocks) {
            throw Error(fmt::format("model {}: found {} blocks, allowed 1 to {}", name,
                                    model.blocks, kMostBlocks));
        }
    }
    for (const Geometry& one : kGeometries) {
        if (model.size != one.size || model.architecture != one.architecture) continue;
        const int blocks = model.blocks > 0 ? model.blocks : one.blocks;
        model.bytes = static_cast<std::uint64_t>(1e6 * (one.base_mb + one.block_mb * blocks));
    }
    return model;
}

ModelBudget model_budget(const Arguments& arguments, const std::string& submitter) {
    constexpr long long kMost = 1 << 20;
    ModelBudget budget;
    const auto bytes = [&](const char* option, std::uint64_t otherwise) {
        const auto given =
            arguments.number(option, static_cast<long long>(otherwise >> 30U), 0, kMost);
        return static_cast<std::uint64_t>(given) << 30U;
    };
    budget.all_bytes = bytes("model-budget", budget.all_bytes);
    budget.submitter_bytes = bytes("submitter-budget", budget.submitter_bytes);
    budget.submitter = submitter;
    return budget;
}

std::string made_models_folder() { return state_dir() + "/models"; }

void mark_used(const std::string& path) {
    ::utimensat(AT_FDCWD, owner_file(path).c_str(), nullptr, 0);
}

std::string make_model(const MadeModel& model, const ModelBudget& budget,
                       const Arguments& arguments, const StopSignal* stop) {
    const std::string folder = made_models_folder();
    make_directories(folder);
    const Fd lock = lock_folder(folder, stop);
    drop_parts(folder);
    const std::string path = folder + "/" + model.name;
    if (fs::exists(path)) return path;  // another command made it meanwhile
    make_room(model, budget, folder);
    const std::string temporary = fmt::format("{}.{}.part", path, ::getpid());
    ChildOptions options;
    options.argv = {engine_path(arguments),
                    "synth",
                    "--arch",
                    model.architecture,
                    "--seed",
                    model.seed,
                    "--out",
                    temporary};
    if (model.size != "full") options.argv.insert(options.argv.end(), {"--size", model.size});
    if (model.realistic) {
        options.argv.insert(options.argv.end(), {"--weights", "realistic"});
    }
    if (model.blocks > 0) {
        options.argv.insert(options.argv.end(), {"--blocks", std::to_string(model.blocks)});
    }
    if (!arguments.has("quiet")) inform("making model {}\n", model.name);
    options.limits.file_size = model.bytes;
    options.stop = stop;
    const ChildEnd made = run_child(options, 1800);
    if (!made.ok()) {
        fs::remove(temporary);
        if (made.ending == Ending::cancelled) throw stopped_making();
        throw Error(fmt::format("cannot make model {}: {}", model.name, made.describe()));
    }
    write_file_atomic(owner_file(path), budget.submitter + "\n");
    fs::rename(temporary, path);
    return path;
}

namespace {

constexpr const char* kRunnable =
    "allowed: a GGUF file of architecture deepseek2 (GLM-4.7-Flash, DeepSeek-V2-Lite, "
    "youtu-llm-2b); `steady-engine inspect FILE` prints what a file holds";

// The engine itself says whether it can run the file: `plan` reads all of its numbers and names of
// tensors, and no weights.
void check_file(const std::string& path, const Arguments& arguments) {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) {
        throw Error(fmt::format("--model: {} is no file; {}", path, kRunnable));
    }
    ChildOptions options;
    options.argv = {engine_path(arguments), "plan", fs::canonical(path).string(), "--json"};
    const ChildEnd end = run_child(options, 600);
    if (end.ok()) return;
    throw Error(fmt::format("--model: steady-engine cannot run {}: {}; {}", path, end.describe(),
                            kRunnable));
}

// What a name of a model or an experiment may hold.
std::string plain(std::string text, bool lower) {
    for (char& c : text) {
        const bool upper = c >= 'A' && c <= 'Z';
        if (upper && lower) c = static_cast<char>(c - 'A' + 'a');
        const bool kept = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (upper && !lower) ||
                          (!lower && (c == '.' || c == '_'));
        if (!kept) c = '-';
    }
    const std::size_t first = text.find_first_not_of("-._");
    return first == std::string::npos ? "model" : text.substr(first, 64);
}

// From a file, or from the record of that id.
nlohmann::json question_of(const Arguments& arguments) {
    const std::string& asked = arguments.words[0];
    try {
        return nlohmann::json::parse(load_spec(asked).canonical);
    } catch (const Error& no_file) {
        Store store = open_store(arguments);
        try {
            return nlohmann::json::parse(store.load_record(asked).spec.canonical);
        } catch (const Error&) {
            throw Error(
                fmt::format("{}; no record of that id either: `steady tried WORDS` finds "
                            "questions and their ids",
                            no_file.what()));
        }
    }
}

// Beside the made models: a model root that every verb searches.
std::string link_model(const std::string& path, const std::string& stem) {
    const std::string target = fs::canonical(path).string();
    const std::string name =
        fmt::format("{}-{}.gguf", plain(stem, false), cached_sha256_hex(target).substr(0, 8));
    const std::string folder = made_models_folder();
    make_directories(folder);
    const std::string part = fmt::format("{}/{}.{}.link", folder, name, ::getpid());
    fs::remove(part);
    fs::create_symlink(target, part);
    fs::rename(part, folder + "/" + name);
    return name;
}

}  // namespace

Spec question_on_own_model(const Arguments& arguments) {
    constexpr std::size_t kLongestId = 40;
    const std::string path = arguments.get("model");
    nlohmann::json question = question_of(arguments);
    const auto id = question.at("id").get<std::string>();
    if (question.at("subject").at("program") != "steady-engine") {
        throw Error(fmt::format(
            "--model: {} asks about an outside program, which has no model; allowed: questions "
            "whose subject.program is steady-engine",
            id));
    }
    check_file(path, arguments);
    const std::string stem = fs::path(path).stem().string();
    const std::string model = link_model(path, stem);
    question["subject"]["model"] = model;
    const std::string content = model.substr(model.size() - 13, 8);
    question["id"] = fmt::format("{}-on-{}", id.substr(0, kLongestId), content);
    question["schedule"].erase("seed");
    auto& because = question["hypothesis"]["because"];
    because =
        fmt::format("{} (Question of {}, asked on the model file {}.)",
                    shorten(because.get<std::string>(), 380), id, shorten(escape_line(stem), 40));
    return decode_spec(question);
}

}  // namespace steady
