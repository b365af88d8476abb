// JSON lines. A torn last line, the trace of a crash in the middle of a write, is ignored: its pair
// was never acknowledged.
#include "runner/queue/spool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "runner/platform/disk.h"
#include "runner/platform/failpoint.h"
#include "runner/storage/rows.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json pair_json(const Pair& pair, const std::string& next_coins) {
    return {{"gate", pair.gate},
            {"number", pair.number},
            {"attempt", pair.attempt},
            {"kind", rows::kind_name(pair.kind)},
            {"coins", pair.coins},
            {"discarded", pair.discarded},
            {"a", pair.a},
            {"b", pair.b},
            {"next_coins", next_coins}};
}

Pair pair_from(const json& entry) {
    Pair pair;
    pair.gate = entry.at("gate");
    pair.number = entry.at("number");
    pair.attempt = entry.at("attempt");
    pair.kind = rows::kind_from(entry.at("kind"));
    pair.coins = entry.at("coins");
    pair.discarded = entry.at("discarded");
    pair.a = entry.at("a").get<decltype(pair.a)>();
    pair.b = entry.at("b").get<decltype(pair.b)>();
    return pair;
}

struct Leftover {
    Lease lease;
    std::vector<json> open;  // spooled, not known to be stored
};

Leftover read_spool(const std::string& path) {
    Leftover left;
    std::ifstream file(path);
    std::vector<json> pairs;
    std::set<std::size_t> stored;
    for (std::string line; std::getline(file, line);) {
        const json entry = json::parse(line, nullptr, false);
        if (!entry.is_object()) continue;
        if (entry.contains("worker")) {
            left.lease = {entry.at("job"), entry.at("epoch"), entry.at("host"), entry.at("worker"),
                          entry.at("id")};
        } else if (entry.contains("stored")) {
            stored.insert(entry.at("stored").get<std::size_t>());
        } else {
            pairs.push_back(entry);
        }
    }
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        if (stored.count(i) == 0) left.open.push_back(pairs[i]);
    }
    return left;
}

void keep(const std::string& directory, const std::string& path) {
    std::error_code error;
    fs::create_directories(directory + "/kept", error);
    fs::rename(path, directory + "/kept/" + fs::path(path).filename().string(), error);
    keep_newest(directory + "/kept", kMostKeptSpools, kMostKeptBytes);
}

}  // namespace

Spool::Spool(const std::string& directory, const Lease& lease, std::uint64_t most_bytes)
    : directory_(directory),
      path_(fmt::format("{}/{}-{}-{}.jsonl", directory, lease.id, lease.epoch,
                        lease.worker.substr(0, 8))),
      most_bytes_(most_bytes) {
    make_directories(directory);
    fd_ = Fd{::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600)};
    if (!fd_) throw HostTrouble{fmt::format("cannot write {}: {}", path_, std::strerror(errno))};
    append(json{{"job", lease.job},
                {"epoch", lease.epoch},
                {"host", lease.host},
                {"worker", lease.worker},
                {"id", lease.id}}
               .dump());
}

// False, with errno set, when not all of it was written. A line that follows a torn one begins with
// a line break, or both would be unreadable.
bool Spool::write_line(const std::string& line) {
    const std::string text = (torn_ ? "\n" : "") + line + "\n";
    errno = 0;
    const ssize_t n = ::write(fd_.get(), text.data(), text.size());
    if (n == static_cast<ssize_t>(text.size())) {
        torn_ = false;
        return true;
    }
    torn_ = torn_ || n > 0;
    if (n >= 0) errno = ENOSPC;  // what a short write to a file means
    return false;
}

void Spool::append(const std::string& line) {
    bytes_ += line.size() + 1;
    if (bytes_ > most_bytes_) {
        throw Error{
            fmt::format("{} would hold more than {} MB of samples: measure fewer pairs or "
                        "fewer tokens a pair",
                        path_, most_bytes_ >> 20U)};
    }
    if (!write_line(line) || ::fdatasync(fd_.get()) != 0) {
        throw HostTrouble{
            fmt::format("cannot write {}: {}; is the disk full?", path_, std::strerror(errno))};
    }
}

int Spool::add(const Pair& pair, const std::string& next_coins) {
    failpoint("spooling");
    append(pair_json(pair, next_coins).dump());
    failpoint("spooled");
    return n_++;
}

// Without fsync: a lost mark only means that a stored pair is sent once more.
void Spool::mark_stored(int number) { write_line(json{{"stored", number}}.dump()); }

void Spool::remove() { ::unlink(path_.c_str()); }

void Spool::keep_as_evidence() { keep(directory_, path_); }

int replay_spools(const std::string& directory, Store& store) {
    int n_accepted = 0;
    std::vector<std::string> paths;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(directory, error)) {
        if (entry.path().extension() == ".jsonl") paths.push_back(entry.path().string());
    }
    for (const auto& path : paths) {
        try {
            const Leftover left = read_spool(path);
            for (const auto& entry : left.open) {
                store.put_pair(left.lease, pair_from(entry), entry.value("next_coins", ""));
                ++n_accepted;
            }
            ::unlink(path.c_str());
        } catch (const DatabaseGone&) {
            throw;  // later
        } catch (const Error&) {
            keep(directory, path);  // fenced off, or the job is gone
        } catch (const json::exception&) {
            keep(directory, path);
        }
    }
    return n_accepted;
}

}  // namespace steady
