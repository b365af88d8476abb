// Control groups are folders: a limit is a file in one, to enter is to write a process id into
// another. systemd makes them itself, so what it made of a request is looked at once.
#include "runner/platform/process_tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "kernels/base/error.h"
#include "runner/base/text.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr const char* kOurs = "steady-";  // names of our groups: steady-PID-NUMBER
constexpr std::uint64_t kTrialBytes = std::uint64_t{1} << 30U;
constexpr int kTrialTasks = 64;

std::string next_name() {
    static std::atomic<int> number{0};
    return fmt::format("{}{}-{}", kOurs, ::getpid(), ++number);
}

Words split(const std::string& text, char at) {
    Words parts;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, at);) parts.push_back(part);
    return parts;
}

bool has_word(const std::string& text, const std::string& word) {
    std::istringstream in(text);
    for (std::string one; in >> one;) {
        if (one == word) return true;
    }
    return false;
}

// The file of a control group: no file is created where the kernel made none.
bool write_control(const std::string& path, const std::string& text) {
    const Fd fd{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
    return fd && ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// Ours in the lines of /proc/<pid>/cgroup: "4:memory:/a/b"; v2 has no name: "0::/a/b".
std::string group_of(const std::string& lines, const std::string& controller) {
    for (const std::string& line : split(lines, '\n')) {
        const std::size_t first = line.find(':');
        const std::size_t second = line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const Words names = split(line.substr(first + 1, second - first - 1), ',');
        const bool found = controller.empty()
                               ? names.empty()
                               : std::find(names.begin(), names.end(), controller) != names.end();
        if (found) return line.substr(second + 1);
    }
    return {};
}

struct Mount {
    std::string root, path;  // which group lies at which folder
};

// Of a controller's hierarchy, or of v2.
std::optional<Mount> mount_of(const std::string& mounts, const std::string& controller) {
    for (const std::string& line : split(mounts, '\n')) {
        const std::size_t dash = line.find(" - ");
        if (dash == std::string::npos) continue;
        const Words place = split(line.substr(0, dash), ' ');
        const Words kind = split(line.substr(dash + 3), ' ');
        if (place.size() < 5 || kind.size() < 3) continue;
        const Words options = split(kind[2], ',');
        const bool v1 = kind[0] == "cgroup" &&
                        std::find(options.begin(), options.end(), controller) != options.end();
        if (controller.empty() ? kind[0] == "cgroup2" : v1) return Mount{place[3], place[4]};
    }
    return {};
}

// The folder of our own group, empty where it cannot be seen.
std::string own_folder(const std::string& root, const std::string& lines, const std::string& mounts,
                       const std::string& controller) {
    const auto mount = mount_of(mounts, controller);
    const std::string group = group_of(lines, controller);
    if (!mount || group.empty() || group.starts_with("/..")) return {};
    if (mount->root == "/") return root + mount->path + (group == "/" ? "" : group);
    if (group != mount->root && !group.starts_with(mount->root + "/")) return {};
    return root + mount->path + group.substr(mount->root.size());
}

std::vector<pid_t> members(const std::string& folder) {
    std::vector<pid_t> pids;
    std::ifstream in(folder + "/cgroup.procs");
    for (pid_t pid = 0; in >> pid;) pids.push_back(pid);
    return pids;
}

// Until nobody is left in it; a process that is being killed takes a moment.
void end_members(const std::string& folder) {
    constexpr int kRounds = 400;
    for (int i = 0; i < kRounds; ++i) {
        const auto pids = members(folder);
        if (pids.empty()) return;
        for (const pid_t pid : pids) {
            if (pid > 1 && pid != ::getpid()) ::kill(pid, SIGKILL);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
}

void remove_group(const std::string& folder) {
    for (int i = 0; i < 100 && ::rmdir(folder.c_str()) != 0 && errno == EBUSY; ++i) {
        end_members(folder);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
}

// Groups whose maker was killed.
void remove_forgotten(const std::string& folder) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        const std::string name = entry.path().filename();
        if (!name.starts_with(kOurs)) continue;
        const pid_t maker = std::atoi(name.c_str() + std::strlen(kOurs));
        if (maker > 1 && ::kill(maker, 0) != 0 && errno == ESRCH) remove_group(entry.path());
    }
}

// Sets the limits of a group; false: one of them is not there.
bool limit_group(const std::string& folder, TreeKind kind, const TreeLimits& limits) {
    bool all = true;
    const std::string bytes = std::to_string(limits.memory_bytes);
    const bool v2 = kind == TreeKind::cgroup_v2;
    const std::string memory = folder + (v2 ? "/memory.max" : "/memory.limit_in_bytes");
    if (limits.memory_bytes > 0 && fs::exists(memory)) {
        all = write_control(memory, bytes);
        // Not every kernel counts swap.
        write_control(folder + (v2 ? "/memory.swap.max" : "/memory.memsw.limit_in_bytes"),
                      v2 ? "0" : bytes);
    }
    const std::string tasks = folder + "/pids.max";
    if (fs::exists(tasks)) all = write_control(tasks, std::to_string(limits.processes)) && all;
    return all;
}

// One group in it with both limits, made and removed: the proof that it can be done.
bool can_make_groups(const std::vector<std::string>& folders, TreeKind kind) {
    bool all = true, memory = false, tasks = false;
    const std::string name = next_name();
    for (const std::string& folder : folders) {
        const std::string group = folder + "/" + name;
        if (::mkdir(group.c_str(), 0755) != 0) return false;
        memory = memory || fs::exists(group + "/memory.max") ||
                 fs::exists(group + "/memory.limit_in_bytes");
        tasks = tasks || fs::exists(group + "/pids.max");
        all = limit_group(group, kind, {kTrialBytes, kTrialTasks}) && all;
        remove_group(group);
    }
    return all && memory && tasks;
}

bool descends_from_us(pid_t pid) {
    for (int depth = 0; pid > 1 && depth < 1000; ++depth) {
        if (pid == ::getpid()) return true;
        const std::string stat = read_line_or_empty(fmt::format("/proc/{}/stat", pid));
        const std::size_t name = stat.rfind(')');
        if (name == std::string::npos) return false;
        std::istringstream fields(stat.substr(name + 1));
        std::string state;
        fields >> state >> pid;
    }
    return false;
}

// A group of v2 that hands its controllers down may hold no process itself: ours go one down. Only
// where all of them are ours: a unit's with Delegate=, or a container's.
std::string make_room(const std::string& folder) {
    const auto pids = members(folder);
    const bool ours = std::all_of(pids.begin(), pids.end(), descends_from_us);
    if (!ours) return "it holds processes of others, and hands nothing down while it holds any";
    const std::string inner = folder + "/" + kOurs + "own";
    if (::mkdir(inner.c_str(), 0755) != 0 && errno != EEXIST) return std::strerror(errno);
    for (const pid_t pid : pids) write_control(inner + "/cgroup.procs", std::to_string(pid));
    return {};
}

// Why a group of v2 cannot have limits in it; empty: it can.
std::string hand_down(const std::string& folder) {
    for (const char* controller : {"memory", "pids"}) {
        if (!has_word(read_line_or_empty(folder + "/cgroup.controllers"), controller)) {
            return fmt::format("has no controller {}", controller);
        }
    }
    const auto handed = [&] {
        const std::string now = read_line_or_empty(folder + "/cgroup.subtree_control");
        return has_word(now, "memory") && has_word(now, "pids");
    };
    if (handed()) return {};
    if (::access(folder.c_str(), W_OK) != 0) return std::strerror(errno);
    if (write_control(folder + "/cgroup.subtree_control", "+memory +pids")) return {};
    if (errno != EBUSY) return std::strerror(errno);
    if (const std::string why = make_room(folder); !why.empty()) return why;
    if (write_control(folder + "/cgroup.subtree_control", "+memory +pids")) return {};
    return std::strerror(errno);
}

void note(TreeMeans& means, const std::string& text) {
    means.why += (means.why.empty() ? "" : "; ") + text;
}

struct OwnGroups {
    std::string lines, mounts;  // /proc/self/cgroup and mountinfo
};

bool by_cgroup_v2(TreeMeans& means, const std::string& root, const OwnGroups& own) {
    std::string folder = own_folder(root, own.lines, own.mounts, "");
    if (folder.empty()) {
        note(means, "there is no cgroup v2");
        return false;
    }
    // Where an earlier process of this unit went down.
    if (const std::string inner = std::string("/") + kOurs + "own"; folder.ends_with(inner)) {
        folder.resize(folder.size() - inner.size());
    }
    std::string why = hand_down(folder);
    if (why.empty() && root.empty()) {
        remove_forgotten(folder);
        if (!can_make_groups({folder}, TreeKind::cgroup_v2)) why = "takes no group of ours";
    }
    if (!why.empty()) {
        note(means, fmt::format("cgroup v2: {}: {}", folder, why));
        return false;
    }
    means.kind = TreeKind::cgroup_v2;
    means.memory = means.processes = true;
    means.folders = {folder};
    return true;
}

bool by_cgroup_v1(TreeMeans& means, const std::string& root, const OwnGroups& own) {
    std::set<std::string> folders;
    for (const char* controller : {"memory", "pids"}) {
        const std::string folder = own_folder(root, own.lines, own.mounts, controller);
        if (folder.empty()) {
            note(means, fmt::format("there is no cgroup v1 with {}", controller));
            return false;
        }
        if (::access(folder.c_str(), W_OK) != 0) {
            note(means, fmt::format("cgroup v1: {}: {}", folder, std::strerror(errno)));
            return false;
        }
        folders.insert(folder);
    }
    const Words all(folders.begin(), folders.end());
    if (root.empty()) {
        for (const std::string& folder : all) remove_forgotten(folder);
        if (!can_make_groups(all, TreeKind::cgroup_v1)) {
            note(means, fmt::format("cgroup v1: {}: takes no group of ours", fmt::join(all, ", ")));
            return false;
        }
    }
    means.kind = TreeKind::cgroup_v1;
    means.memory = means.processes = true;
    means.folders = all;
    return true;
}

void add_limits(Words& words, const TreeLimits& limits) {
    if (limits.memory_bytes > 0) {
        words.insert(words.end(), {"-p", fmt::format("MemoryMax={}", limits.memory_bytes), "-p",
                                   "MemorySwapMax=0"});
    }
    words.insert(words.end(), {"-p", fmt::format("TasksMax={}", limits.processes)});
}

// What systemd made of a scope: which limits act, and in which folders scopes appear.
void look_at_scope(TreeMeans& means, const std::string& root, const std::string& lines,
                   const std::string& mounts, const std::string& unit) {
    std::set<std::string> folders;
    const auto acts = [&](const char* controller) {
        const std::string v1 = own_folder(root, lines, mounts, controller);
        if (v1.ends_with("/" + unit)) {
            folders.insert(fs::path(v1).parent_path());
            return true;
        }
        const std::string v2 = own_folder(root, lines, mounts, "");
        if (!v2.ends_with("/" + unit)) return false;
        const std::string parent = fs::path(v2).parent_path();
        folders.insert(parent);
        return has_word(read_line_or_empty(parent + "/cgroup.subtree_control"), controller);
    };
    means.memory = acts("memory");
    means.processes = acts("pids");
    means.folders.assign(folders.begin(), folders.end());
}

// The manager of the user, where one runs; root's is that of the system.
Words scope_words(const std::string& root) {
    if (::geteuid() == 0) return {"/usr/bin/systemd-run"};
    const char* set = std::getenv("XDG_RUNTIME_DIR");
    const std::string folder = set != nullptr ? set : fmt::format("/run/user/{}", ::geteuid());
    if (!fs::exists(root + folder + "/bus") && !fs::exists(root + folder + "/systemd/private")) {
        return {};
    }
    return {"/usr/bin/env", "XDG_RUNTIME_DIR=" + folder, "/usr/bin/systemd-run", "--user"};
}

// True: it works, whichever limits act.
bool by_systemd(TreeMeans& means, const std::string& root, const std::string& mounts,
                const ScopeTrial& trial) {
    if (!fs::exists(root + "/run/systemd/system")) {
        note(means, "systemd does not run here");
        return false;
    }
    Words words = scope_words(root);
    if (words.empty()) {
        note(means, "this user has no systemd manager (`loginctl enable-linger` starts one)");
        return false;
    }
    if (!fs::exists(root + "/usr/bin/systemd-run")) {
        note(means, "there is no /usr/bin/systemd-run");
        return false;
    }
    // A description of its own: systemd would log the whole command line, variables included.
    words.insert(words.end(), {"--scope", "--quiet", "--collect", "-p", "KillMode=control-group",
                               "--description=A confined program under test of Steady"});
    std::string trouble;
    // From 253 on systemd ends a scope that ran out of memory; the launcher in it is to report
    // that.
    for (const Words& more : {Words{"-p", "OOMPolicy=continue"}, Words{}}) {
        Words argv = words;
        argv.insert(argv.end(), more.begin(), more.end());
        const Words start = argv;
        const std::string unit = next_name() + ".scope";
        argv.push_back("--unit=" + unit);
        add_limits(argv, {kTrialBytes, kTrialTasks});
        argv.insert(argv.end(), {"--", "/bin/cat", "/proc/self/cgroup"});
        const ChildEnd end = trial(argv);
        if (!end.ok() || end.out.find(unit) == std::string::npos) {
            trouble = end.ok() ? "its scope has no group" : end.describe();
            continue;
        }
        means.kind = TreeKind::systemd_scope;
        means.start_words = start;
        look_at_scope(means, root, end.out, mounts, unit);
        if (!means.whole()) note(means, "systemd has no controllers for memory and processes");
        return true;
    }
    note(means, "systemd-run starts no scope: " + escape_line(shorten(trouble, 160)));
    return false;
}

const char* words_for(TreeKind kind) {
    switch (kind) {
        case TreeKind::systemd_scope:
            return "a systemd scope";
        case TreeKind::cgroup_v2:
            return "a control group (cgroup v2)";
        case TreeKind::cgroup_v1:
            return "a control group (cgroup v1)";
        case TreeKind::none:
            break;
    }
    return "nothing";
}

}  // namespace

std::string describe(const TreeMeans& means) {
    if (means.whole()) {
        return fmt::format("memory and processes of the whole tree, by {}", words_for(means.kind));
    }
    if (means.kind == TreeKind::none) return "per process only: " + means.why;
    return fmt::format("per process only, ended by {}: {}", words_for(means.kind), means.why);
}

TreeMeans find_tree_means(const std::string& root, const ScopeTrial& trial) {
    const OwnGroups own{read_line_or_empty(root + "/proc/self/cgroup"),
                        read_line_or_empty(root + "/proc/self/mountinfo")};
    TreeMeans scope;
    const bool systemd = by_systemd(scope, root, own.mounts, trial);
    if (systemd && scope.whole()) return scope;
    TreeMeans group;
    group.why = scope.why;
    if (by_cgroup_v2(group, root, own) || by_cgroup_v1(group, root, own)) return group;
    scope.why = group.why;
    return systemd ? scope : group;
}

const TreeMeans& tree_means() {
    static const TreeMeans means = find_tree_means("", [](const Words& argv) {
        ChildOptions options;
        options.argv = argv;
        constexpr double kMostSeconds = 20;
        return run_child(options, kMostSeconds);
    });
    return means;
}

ProcessTree::ProcessTree(const TreeMeans& means, const TreeLimits& limits) {
    const std::string name = next_name();
    if (means.kind == TreeKind::systemd_scope) {
        const std::string unit = name + ".scope";
        words_ = means.start_words;
        words_.push_back("--unit=" + unit);
        add_limits(words_, limits);
        words_.emplace_back("--");
        for (const std::string& folder : means.folders) groups_.push_back(folder + "/" + unit);
        return;
    }
    made_by_us_ = true;
    for (const std::string& folder : means.folders) {
        const std::string group = folder + "/" + name;
        if (::mkdir(group.c_str(), 0755) != 0) {
            const int error = errno;
            for (const std::string& made : groups_) remove_group(made);
            throw Error(
                fmt::format("cannot make the control group {}: {}", group, std::strerror(error)),
                kExitInternal);
        }
        groups_.push_back(group);
        limit_group(group, means.kind, limits);
        join_.push_back(group + "/cgroup.procs");
    }
}

ProcessTree::~ProcessTree() {
    for (const std::string& group : groups_) end_members(group);
    if (!made_by_us_) return;
    for (const std::string& group : groups_) remove_group(group);
}

}  // namespace steady
