// git as a child, by argument lists. Uncommitted files become a tree by git's own means, with an
// index and an object store of ours, so that equal content has an equal hash however it came about.
#include "runner/programs/build/source.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "kernels/base/error.h"
#include "runner/base/json_reader.h"
#include "runner/platform/files.h"
#include "runner/platform/tools.h"
#include "runner/spec/spec_command.h"

namespace steady {
namespace {

namespace fs = std::filesystem;

constexpr double kGitSeconds = 600;

std::string last_line(const std::string& text) {
    const std::size_t end = text.find_last_not_of('\n');
    if (end == std::string::npos) return "";
    const std::size_t begin = text.rfind('\n', end);
    return text.substr(begin == std::string::npos ? 0 : begin + 1, end - begin);
}

// As git reads it in a list: a colon separates, quotes protect.
std::string quoted_path(const std::string& path) {
    std::string out = "\"";
    for (const char c : path)
        out += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    return out + "\"";
}

// The user's own settings of git (which repositories are safe) lie in the home directory.
std::map<std::string, std::string> git_environment() {
    std::map<std::string, std::string> env{{"GIT_TERMINAL_PROMPT", "0"},
                                           {"GIT_OPTIONAL_LOCKS", "0"}};
    for (const char* name : {"HOME", "XDG_CONFIG_HOME"}) {
        if (const char* value = std::getenv(name)) env[name] = value;
    }
    return env;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::stringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

// Found upwards, as git does; a bare repository is a folder with its HEAD.
bool in_repository(const fs::path& folder) {
    std::error_code error;
    for (fs::path at = folder;; at = at.parent_path()) {
        if (fs::exists(at / ".git", error) || fs::exists(at / "HEAD", error)) return true;
        if (at == at.root_path()) return false;
    }
}

// Files that Steady itself writes below the folder: questions and journal entries. Not tracked by
// git, they are no part of a program: writing one would change its tree.
std::vector<std::string> own_file_patterns(const std::string& folder) {
    std::string plain;
    for (const char c : folder)
        plain += std::string_view("*?[\\").find(c) == std::string_view::npos
                     ? std::string(1, c)
                     : std::string("\\") + c;
    std::vector<std::string> patterns;
    for (const char* files : {"experiments/*.json", "journal/*.md", "journal/*.svg"})
        patterns.push_back(":(exclude,top,glob)" + plain + files);
    return patterns;
}

}  // namespace

Source::Source(const std::string& path, const StopSignal* stop, const std::string& project)
    : stop_(stop), root_(path) {
    std::error_code error;
    root_ = fs::canonical(path, error).string();
    if (error || !fs::is_directory(root_)) {
        throw Error(fmt::format("{}: no such directory; a revision needs a git repository",
                                shown_text(path)));
    }
    if (!in_repository(root_)) {
        throw Error(fmt::format(
            "{} lies in no git repository, so it has no revisions; go to one, or compare two "
            "commands",
            root_));
    }
    const auto facts = lines_of(git({"rev-parse", "--path-format=absolute", "--is-bare-repository",
                                     "--git-dir", "--git-path", "objects"}));
    if (facts.size() != 3) throw Error(fmt::format("{} is no git repository", root_));
    bare_ = facts[0] == "true";
    git_dir_ = facts[1];
    objects_ = facts[2];  // of a linked work tree elsewhere than its git_dir_
    root_ = bare_ ? git_dir_ : git({"rev-parse", "--show-toplevel"});
    const std::string real = fs::weakly_canonical(project, error).string() + "/";
    if (!bare_ && !project.empty() && real.starts_with(root_ + "/"))
        own_files_ = own_file_patterns(real.substr(root_.size() + 1));
}

Source::~Source() {
    std::error_code ignored;
    if (!scratch_.empty()) fs::remove_all(scratch_, ignored);
}

std::string Source::git(const std::vector<std::string>& arguments,
                        std::map<std::string, std::string> env) const {
    ChildOptions options;
    options.argv = {tool_path("git", "building a revision", "`apt-get install git`")};
    options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
    options.env = git_environment();
    options.env.merge(env);
    if (!scratch_.empty()) {
        options.env["GIT_OBJECT_DIRECTORY"] = scratch_ + "/objects";
        options.env["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = quoted_path(objects_);
    }
    options.directory = root_;
    options.limits = {};
    options.output_cap = std::size_t{64} << 20U;
    options.stop = stop_;
    const ChildEnd end = run_child(options, kGitSeconds);
    if (end.ending == Ending::cancelled) throw Error("stopped", kExitInterrupted);
    if (!end.ok()) {
        throw Error(fmt::format("git {} in {}: {}", arguments.front(), root_,
                                end.err.empty() ? end.describe() : last_line(end.err)));
    }
    std::string out = end.out;
    while (!out.empty() && out.back() == '\n') out.pop_back();
    return out;
}

std::string Source::scratch() const {
    if (scratch_.empty()) {
        const std::string made = fmt::format("{}/steady-source-{}", scratch_dir(), random_hex(8));
        make_directories(made + "/objects", 0700);
        scratch_ = made;
    }
    return scratch_;
}

// Submodules whose files are not those of a commit: "1 .M S.MU …  path".
std::vector<std::string> Source::changed_submodules() const {
    std::vector<std::string> paths;
    std::stringstream in(git(
        {"status", "--porcelain=v2", "-z", "--ignore-submodules=none", "--untracked-files=no"}));
    for (std::string entry; std::getline(in, entry, '\0');) {
        constexpr std::size_t kFlags = 5, kFieldsBeforePath = 8;
        if (!entry.starts_with("1 ") || entry.size() < 10 || entry[kFlags] != 'S') continue;
        if (entry[kFlags + 2] != 'M' && entry[kFlags + 3] != 'U') continue;
        std::size_t at = 0;
        for (std::size_t field = 0; field < kFieldsBeforePath; ++field)
            at = entry.find(' ', at) + 1;
        paths.push_back(entry.substr(at));
    }
    return paths;
}

// The tree of the files as they are.
std::string Source::working_tree() const {
    if (bare_) {
        throw Error(
            fmt::format("revision \".\" is the work tree, and {} is a bare repository: "
                        "name a branch, tag or commit",
                        root_));
    }
    if (const auto changed = changed_submodules(); !changed.empty()) {
        throw Error(fmt::format(
            "the submodule {} of {} has changes that are not committed, which a build of \".\" "
            "would not have: commit or stash them there (`git -C {} status` lists them)",
            shown_text(changed[0]), root_, joined_words({root_ + "/" + changed[0]})));
    }
    const std::string index = scratch() + "/index";
    // git's own index knows which files did not change: a head start. With its time: git compares
    // the content of files no older than the index, since times of whole seconds say too little of
    // them.
    std::error_code ignored;
    const auto written = fs::last_write_time(git_dir_ + "/index", ignored);
    if (!ignored &&
        fs::copy_file(git_dir_ + "/index", index, fs::copy_options::overwrite_existing, ignored))
        fs::last_write_time(index, written, ignored);
    std::vector<std::string> add{"add", "--all", "--", ":/"};
    add.insert(add.end(), own_files_.begin(), own_files_.end());
    git(add, {{"GIT_INDEX_FILE", index}});
    git({"add", "--update", "--", ":/"}, {{"GIT_INDEX_FILE", index}});  // tracked ones do count
    return git({"write-tree"}, {{"GIT_INDEX_FILE", index}});
}

Revision Source::resolve(const std::string& revision) const {
    if (revision.empty() || revision.front() == '-' || revision.find("..") != std::string::npos) {
        throw Error(
            fmt::format("found {}, allowed: one branch, tag or commit, or \".\" for the "
                        "files as they are",
                        shown_text(revision)));
    }
    Revision found;
    found.asked = revision;
    const std::string name = revision == "." ? "HEAD" : revision;
    const auto commit_of = [&] {
        return git({"rev-parse", "--verify", "--end-of-options", name + "^{commit}"});
    };
    try {
        found.commit = commit_of();
    } catch (const Error& error) {
        if (error.exit_code == kExitInterrupted) throw;
        if (revision == ".") {
            throw Error(
                fmt::format("{} has no commit yet, so there is nothing to compare with: "
                            "`git commit` makes one",
                            root_));
        }
        if (git({"rev-parse", "--is-shallow-repository"}) == "true") {
            throw Error(
                fmt::format("{} is not in {}, a clone that holds only part of the history: "
                            "`git -C {} fetch --unshallow` gets the rest",
                            shown_text(revision), root_, joined_words({root_})));
        }
        throw Error(
            fmt::format("{} is no revision of {}: {}; `git -C {} branch -a` and `git tag` "
                        "list what there is",
                        shown_text(revision), root_, error.what(), joined_words({root_})));
    }
    found.tree = git({"rev-parse", found.commit + "^{tree}"});
    found.subject = git({"show", "-s", "--format=%s", found.commit, "--"});
    if (revision != ".") return found;
    const std::string now = working_tree();
    if (now == found.tree) return found;
    found.tree = now;
    found.commit.clear();
    found.subject = "uncommitted changes";
    return found;
}

std::vector<std::string> Source::refs() const {
    return lines_of(git({"for-each-ref", "--sort=-committerdate", "--format=%(refname:lstrip=2)",
                         "refs/heads", "refs/tags", "refs/remotes"}));
}

std::vector<std::string> Source::refs_containing(const std::string& commit) const {
    return lines_of(git({"for-each-ref", "--contains", commit, "--format=%(refname:lstrip=2)",
                         "refs/heads", "refs/tags", "refs/remotes"}));
}

void Source::extract(const Revision& revision, const std::string& directory) const {
    const std::string index = directory + ".index";
    const std::map<std::string, std::string> env{
        {"GIT_DIR", git_dir_}, {"GIT_WORK_TREE", directory}, {"GIT_INDEX_FILE", index}};
    git({"read-tree", revision.tree}, env);
    git({"checkout-index", "--all", "--force"}, env);
    const std::string entries = git({"ls-files", "--stage", "-z"}, env);
    fs::remove(index);
    std::stringstream in(entries);
    for (std::string entry; std::getline(in, entry, '\0');) {
        if (!entry.starts_with("160000 ")) continue;  // a submodule: mode, commit, stage, path
        const std::string path = entry.substr(entry.find('\t') + 1);
        const fs::path checkout = fs::path(root_) / path;
        if (bare_ || !fs::exists(checkout / ".git")) continue;
        const Source part(checkout.string(), stop_);
        const fs::path target = fs::path(directory) / path;
        fs::create_directories(target);
        part.extract(part.resolve(entry.substr(7, 40)), target.string());
    }
}

}  // namespace steady
