// A tree is removed by renaming it first: another process then sees all of it or nothing.
#include "runner/programs/build/cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "kernels/base/error.h"
#include "runner/platform/settings.h"

namespace steady {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kKeptLogs = 200;

struct Kept {
    fs::file_time_type last_use;
    std::string key;
    std::uint64_t bytes = 0;
};

std::uint64_t recorded_bytes(const std::string& tree) {
    const auto facts =
        nlohmann::json::parse(read_line_or_empty(tree + "/build.json"), nullptr, false);
    return facts.is_object() ? facts.value("bytes", std::uint64_t{0}) : 0;
}

std::vector<Kept> kept_trees(const std::string& folder) {
    std::vector<Kept> kept;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        const std::string tree = entry.path().string();
        const auto last_use = fs::last_write_time(tree + "/use", error);
        if (error) continue;  // somebody else is just removing or making it
        kept.push_back({last_use, entry.path().filename().string(), recorded_bytes(tree)});
    }
    std::sort(kept.begin(), kept.end(),
              [](const Kept& x, const Kept& y) { return x.last_use < y.last_use; });
    return kept;
}

void forget_old_logs(const std::string& folder) {
    std::vector<std::pair<fs::file_time_type, fs::path>> logs;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        logs.emplace_back(entry.last_write_time(error), entry.path());
    }
    std::sort(logs.rbegin(), logs.rend());
    for (std::size_t i = kKeptLogs; i < logs.size(); ++i) fs::remove(logs[i].second, error);
}

// True when the tree is gone. A tree that lies at its program's path is locked by whoever put it
// there, or waits for the next user of that path to put it back.
bool drop(const std::string& root, const std::string& tree) {
    const auto lock = try_lock(tree + "/use");
    if (!lock || !fs::exists(tree + "/src")) return false;
    const std::string gone = fmt::format("{}/removed-{}", root, random_hex(8));
    std::error_code error;
    fs::rename(tree, gone, error);
    if (error) return false;
    remove_tree(gone);
    return true;
}

}  // namespace

BuildCache::BuildCache(std::string root) : root_(std::move(root)) {
    for (const char* part : {"/trees", "/at", "/logs"}) make_directories(root_ + part);
}

bool BuildCache::finished(const std::string& key) const {
    return fs::exists(tree(key) + "/build.json");
}

std::shared_ptr<Fd> BuildCache::use(const std::string& key) const {
    Fd fd{::open((tree(key) + "/use").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)};
    if (!fd) return nullptr;  // removed since it was looked for
    while (::flock(fd.get(), LOCK_SH) != 0 && errno == EINTR) {
    }
    ::futimens(fd.get(), nullptr);
    return std::make_shared<Fd>(std::move(fd));
}

void BuildCache::shrink(std::uint64_t limit) const {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(root_, error)) {
        // What a killed process had begun to remove.
        if (entry.path().filename().string().starts_with("removed-")) remove_tree(entry.path());
    }
    const std::vector<Kept> kept = kept_trees(root_ + "/trees");
    std::uint64_t total = 0;
    for (const Kept& one : kept) total += one.bytes;
    for (const Kept& one : kept) {
        if (total <= limit) break;
        if (drop(root_, tree(one.key))) total -= one.bytes;
    }
    forget_old_logs(root_ + "/logs");
}

std::uint64_t BuildCache::bytes() const {
    std::uint64_t total = 0;
    for (const Kept& one : kept_trees(root_ + "/trees")) total += one.bytes;
    return total;
}

std::string build_cache_folder() {
    const std::string set = setting("builds");
    return set.empty() ? state_dir() + "/builds" : set;
}

std::uint64_t build_cache_limit() {
    const auto set = find_setting("builds_gb");
    if (!set) return std::uint64_t{20} << 30U;
    return static_cast<std::uint64_t>(std::stod(set->text) * double(1U << 30U));
}

std::optional<Fd> try_lock(const std::string& path) {
    Fd fd{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)};
    if (!fd) throw Error(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return std::nullopt;
    return fd;
}

std::uint64_t tree_bytes(const std::string& path) {
    std::uint64_t total = 0;
    std::error_code error;
    const auto options = fs::directory_options::skip_permission_denied;
    for (fs::recursive_directory_iterator it(path, options, error), end; it != end;
         it.increment(error)) {
        struct stat info {};
        if (::lstat(it->path().c_str(), &info) == 0) {
            total += static_cast<std::uint64_t>(info.st_blocks) * 512;
        }
    }
    return total;
}

void remove_tree(const std::string& path) {
    std::error_code error;
    fs::remove_all(path, error);
    if (!error) return;
    // Some builds make their folders read-only (Go's module cache).
    const auto options = fs::directory_options::skip_permission_denied;
    ::chmod(path.c_str(), 0700);
    for (fs::recursive_directory_iterator it(path, options, error), end; it != end;
         it.increment(error)) {
        if (it->is_directory(error) && !it->is_symlink(error)) ::chmod(it->path().c_str(), 0700);
    }
    fs::remove_all(path, error);
    if (error) throw Error(fmt::format("cannot remove {}: {}", path, error.message()));
}

}  // namespace steady
