// A control group bounds all processes together; bwrap arranges the file system and the namespaces;
// setpriv drops root; env and prlimit come last, so that neither a variable nor a limit of the
// measured program ever acts on the tools before it.
#include "runner/programs/confine/confine.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "kernels/base/error.h"
#include "runner/base/json_reader.h"
#include "runner/platform/files.h"
#include "runner/platform/tools.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

// Reserved by Debian's policy and never given to a user or service.
constexpr unsigned kConfinedUser = 65433;

// What programs read there, and no more: names of libraries, compilers and users, the time zone.
constexpr const char* kEtc[] = {"/etc/ld.so.cache",  "/etc/ld.so.conf",    "/etc/ld.so.conf.d",
                                "/etc/alternatives", "/etc/nsswitch.conf", "/etc/passwd",
                                "/etc/group",        "/etc/localtime"};
constexpr const char* kEtcNetwork[] = {"/etc/resolv.conf", "/etc/hosts", "/etc/services",
                                       "/etc/protocols",   "/etc/ssl",   "/etc/ca-certificates"};

void append(Words& words, std::initializer_list<std::string> more) {
    words.insert(words.end(), more);
}

// The tools run inside as well, where only the system's folders are seen.
std::string system_tool(const std::string& name, const std::string& how) {
    for (const char* folder : {"/usr/bin/", "/bin/"}) {
        const std::string path = folder + name;
        if (::access(path.c_str(), X_OK) == 0) return path;
    }
    throw Error(
        fmt::format("{} is not installed, and running programs confined needs it: {}", name, how));
}

bool holds(const fs::path& folder, const fs::path& path) {
    const auto [end, unused] =
        std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
    return end == folder.end();
}

// The real path of what is to be shown.
std::string shown_path(const std::string& path) {
    std::error_code error;
    const fs::path real = fs::canonical(path, error);
    if (path.empty() || path[0] != '/' || error) {
        throw Error(fmt::format("cannot show {} to a confined program: {}", shown_text(path),
                                error ? error.message() : "not an absolute path"));
    }
    const fs::path state = fs::weakly_canonical(state_dir());
    for (const fs::path& kept : {state, fs::path("/tmp"), fs::path("/run"), fs::path("/etc"),
                                 fs::path("/proc"), fs::path("/sys"), fs::path("/dev")}) {
        if (!holds(real, kept)) continue;
        throw Error(
            fmt::format("cannot show {} to a confined program: {} is in it, and stays "
                        "hidden; name a folder further down",
                        real.string(), kept.string()));
    }
    return real.string();
}

// bwrap makes missing parents for its own user only.
void make_parents(Words& words, const std::string& path) {
    for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
        append(words, {"--perms", "0755", "--dir", path.substr(0, at)});
    }
}

void show_system(Words& words, bool network) {
    append(words, {"--ro-bind", "/usr", "/usr"});
    for (const char* name : {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}) {
        std::error_code error;
        if (fs::is_symlink(name)) {
            append(words, {"--symlink", fs::read_symlink(name, error).string(), name});
        } else if (fs::is_directory(name, error)) {
            append(words, {"--ro-bind", name, name});
        }
    }
    make_parents(words, "/etc/");
    for (const char* path : kEtc) append(words, {"--ro-bind-try", path, path});
    for (const char* path : kEtcNetwork) {
        if (network) append(words, {"--ro-bind-try", path, path});
    }
    append(words, {"--proc", "/proc", "--dev", "/dev"});
    // CPUs and NUMA nodes: what thread pools and benchmark libraries ask for.
    make_parents(words, "/sys/devices/system");
    append(words, {"--ro-bind-try", "/sys/devices/system", "/sys/devices/system"});
}

void show(Words& words, const char* how, const std::string& path) {
    make_parents(words, path);
    append(words, {how, shown_path(path), path});
}

void show_own(Words& words, const Confinement& confinement, const std::string& directory) {
    const std::string size = std::to_string(confinement.scratch_bytes);
    for (const char* scratch : {"/tmp", "/dev/shm"}) {
        append(words, {"--size", size, "--perms", "1777", "--tmpfs", scratch});
    }
    for (const std::string& path : confinement.readable) {
        show(words, "--ro-bind", path);
    }
    show(words, "--ro-bind", directory);
    for (const std::string& path : confinement.writable) {
        show(words, "--bind", path);
    }
    // What is left of / and /dev are memory file systems without a limit: nothing is written there.
    append(words, {"--remount-ro", "/dev", "--remount-ro", "/", "--chdir", directory});
}

// Every CPU of "2-3,6" must be one that we may use ourselves.
void check_cpus(const std::string& list) {
    cpu_set_t ours;
    CPU_ZERO(&ours);
    if (::sched_getaffinity(0, sizeof ours, &ours) != 0) return;
    std::istringstream parts(list);
    for (std::string part; std::getline(parts, part, ',');) {
        const int first = std::stoi(part);
        const std::size_t dash = part.find('-');
        const int last = dash == std::string::npos ? first : std::stoi(part.substr(dash + 1));
        for (int cpu = first; cpu <= std::max(first, last); ++cpu) {
            if (last >= first && cpu < CPU_SETSIZE && CPU_ISSET(cpu, &ours)) continue;
            throw Error(
                fmt::format("cpus: found \"{}\", allowed: CPUs of this machine that the "
                            "worker may use itself; `taskset -cp $$` lists a shell's, and "
                            "\"limits\" of the registration names the program's",
                            list));
        }
    }
}

}  // namespace

std::string describe_cpus(const Confinement& confinement) {
    return confinement.cpus.empty() ? "all" : confinement.cpus + ", by affinity (taskset)";
}

bool Confinement::started_by_root() { return ::geteuid() == 0; }

std::map<std::string, std::string> confined_environment() {
    return {{"PATH", "/usr/local/bin:/usr/bin:/bin"},
            {"HOME", "/tmp"},
            {"TMPDIR", "/tmp"},
            {"LANG", "C.UTF-8"},
            {"TZ", "UTC"}};
}

Words confinement_prefix(const Confinement& confinement, const std::string& directory) {
    const std::string user = std::to_string(kConfinedUser);
    // bwrap itself forbids new rights (PR_SET_NO_NEW_PRIVS).
    Words words{system_tool("bwrap", "`apt-get install bubblewrap`")};
    append(words, {"--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
                   "--hostname", "confined", "--die-with-parent", "--new-session"});
    if (!confinement.network) append(words, {"--unshare-net"});
    show_system(words, confinement.network);
    show_own(words, confinement, directory);
    if (confinement.by_root) {
        append(words, {"--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID",
                       "--", system_tool("setpriv", "`apt-get install util-linux`"),
                       "--reuid=" + user, "--regid=" + user, "--clear-groups"});
    } else {
        append(words, {"--unshare-user", "--uid", user, "--gid", user, "--"});
    }
    append(words, {system_tool("env", "`apt-get install coreutils`"), "-i"});
    auto env = confined_environment();
    for (const auto& [name, value] : confinement.env) env[name] = value;
    for (const auto& [name, value] : env) words.push_back(name + "=" + value);
    if (!confinement.cpus.empty()) {
        check_cpus(confinement.cpus);
        append(words, {system_tool("taskset", "`apt-get install util-linux`"), "--cpu-list",
                       confinement.cpus});
    }
    append(words, {system_tool("prlimit", "`apt-get install util-linux`"),
                   fmt::format("--nproc={0}:{0}", confinement.processes),
                   fmt::format("--fsize={0}:{0}", confinement.file_bytes), "--core=0:0"});
    if (confinement.memory_bytes > 0) {
        words.push_back(fmt::format("--data={0}:{0}", confinement.memory_bytes));
    }
    words.emplace_back("--");
    return words;
}

ConfinedStart confined_start(const Confinement& confinement, const std::string& directory) {
    const Words inner = confinement_prefix(confinement, directory);
    ConfinedStart start;
    // bwrap, its first process inside and the launcher count as well.
    constexpr int kOwnProcesses = 8;
    start.tree = std::make_shared<const ProcessTree>(
        *confinement.means, TreeLimits{.memory_bytes = confinement.memory_bytes,
                                       .processes = confinement.processes + kOwnProcesses});
    start.prefix = start.tree->words();
    start.prefix.insert(start.prefix.end(), inner.begin(), inner.end());
    return start;
}

ChildOptions confined(ChildOptions child, Confinement confinement) {
    for (const auto& [name, value] : child.env) confinement.env[name] = value;
    ConfinedStart start = confined_start(confinement, child.directory);
    start.prefix.insert(start.prefix.end(), child.argv.begin(), child.argv.end());
    child.argv = std::move(start.prefix);
    child.tree = std::move(start.tree);
    child.env.clear();
    child.directory.clear();
    child.limits = {};
    return child;
}

void give_to_confined(const std::string& tree) {
    if (!Confinement::started_by_root()) return;
    const auto give = [](const fs::path& path) {
        if (::lchown(path.c_str(), kConfinedUser, kConfinedUser) != 0) {
            throw Error(fmt::format("cannot give {} to the confined user", path.string()),
                        kExitInternal);
        }
    };
    give(tree);
    for (const auto& entry : fs::recursive_directory_iterator(tree)) give(entry.path());
}

std::string confinement_trouble() {
    try {
        ChildOptions options;
        options.argv = {"/usr/bin/true"};
        options.directory = "/usr";
        const ChildEnd end = run_child(confined(options, {}), 20);
        if (end.ok()) return {};
        return fmt::format(
            "programs cannot be confined here: bwrap failed with {}. Unprivileged namespaces may "
            "be "
            "switched off: `sysctl kernel.unprivileged_userns_clone=1` (Debian) or `sysctl "
            "kernel.apparmor_restrict_unprivileged_userns=0` (Ubuntu) allows them; in a container "
            "it takes the right to mount (docker run --cap-add SYS_ADMIN); or run the worker as "
            "root",
            end.describe());
    } catch (const Error& error) {
        return error.what();
    }
}

}  // namespace steady
