// Each comparison is an experiment of its own, with its record in the store; nothing else is kept.
// A search with the same input finds the records of finished comparisons again, so one that was
// killed goes on where it was.
#include "runner/cli/commit_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kernels/base/error.h"
#include "runner/base/sha256.h"
#include "runner/base/text.h"
#include "runner/cli/jobs.h"
#include "runner/cli/programs.h"
#include "runner/cli/workspace.h"
#include "runner/entry/entry.h"
#include "runner/figures/numbers.h"
#include "runner/platform/files.h"
#include "runner/platform/host_lock.h"
#include "runner/programs/build/source.h"
#include "runner/track/bisect_report.h"
#include "runner/track/revision_question.h"

namespace steady {
namespace {

namespace fs = std::filesystem;

constexpr int kMostOpen = 3;  // a machine that leaves so many open will leave the rest open, too

// The commits of the search and their first parents.
struct CommitLine {
    bisect::Commit good;
    bisect::History history;
    std::map<std::string, std::string> first_parent;  // sha → sha
};

std::vector<std::string> parts_of(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::stringstream in(text);
    for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
    return parts;
}

bisect::Commit commit_of(const Source& source, const std::string& revision) {
    if (revision == ".") {
        throw Error("found \".\", the files as they are; allowed: a commit, branch or tag");
    }
    const Revision found = source.resolve(revision);
    return {.sha = found.commit, .tree = found.tree, .subject = found.subject, .parents = {}};
}

void check_order(const Source& source, const std::string& good, const std::string& bad) {
    std::string base;
    try {
        base = source.git({"merge-base", good, bad});
    } catch (const Error& error) {
        if (error.exit_code == kExitInterrupted) throw;
    }
    if (base == good) return;
    if (base == bad) throw Error("BAD is older than GOOD: name the older revision first");
    throw Error(
        fmt::format("GOOD is no ancestor of BAD, so no line of commits leads from one to "
                    "the other; {}",
                    base.empty() ? "they have no common ancestor"
                                 : "their common ancestor is " + base.substr(0, 12)));
}

CommitLine line_between(const Source& source, const std::string& good, const std::string& bad,
                        bool ancestry_path) {
    CommitLine line{.good = commit_of(source, good), .history = {}, .first_parent = {}};
    const std::string end = commit_of(source, bad).sha;
    if (line.good.sha == end) throw Error("GOOD and BAD are one commit");
    check_order(source, line.good.sha, end);
    std::map<std::string, std::size_t> places;
    const std::string listed =
        source.git({"rev-list", "--reverse", "--topo-order",
                    ancestry_path ? "--ancestry-path" : "--first-parent", "--no-commit-header",
                    "--format=%H%x09%T%x09%P%x09%s", line.good.sha + ".." + end, "--"});
    for (const std::string& row : parts_of(listed, '\n')) {
        const std::vector<std::string> fields = parts_of(row, '\t');
        if (fields.size() < 3) continue;
        bisect::Commit commit{.sha = fields[0], .tree = fields[1], .subject = "", .parents = {}};
        const std::size_t head = fields[0].size() + fields[1].size() + fields[2].size() + 3;
        if (row.size() > head) commit.subject = row.substr(head);
        const std::vector<std::string> parents = parts_of(fields[2], ' ');
        line.first_parent[commit.sha] = parents.empty() ? "" : parents.front();
        for (const std::string& parent : parents) {
            const auto place = places.find(parent);
            if (place != places.end()) commit.parents.push_back(place->second);
            if (!ancestry_path) break;
        }
        places[commit.sha] = line.history.size();
        line.history.push_back(std::move(commit));
    }
    if (!ancestry_path && line.first_parent.at(line.history.front().sha) != line.good.sha) {
        throw Error(
            "GOOD came in by a merge and is not on BAD's line of first parents; search all "
            "commits between them with --ancestry-path");
    }
    return line;
}

class CommitSearch {
public:
    explicit CommitSearch(const SearchInput& input)
        : input_(input),
          spec_(*input.spec),
          source_(resolve_repository(spec_.subject.repo), &interrupt_signal()) {
        line_ = line_between(source_, input.good, input.bad, input.ancestry_path);
        sides_.assign(line_.history.size(), bisect::Side::unknown);
        found_.file = fs::path(input.file).stem().string();
        found_.metric = deciding_gate(spec_)->metric;
        found_.good = input.good;
        found_.bad = input.bad;
        found_.good_commit = line_.good;
        found_.bad_commit = bad();
        found_.path = input.ancestry_path ? "ancestry-path" : "first-parent";
        found_.commits = line_.history.size();
        name_ = search_name();
        found_.id = name_;
        found_.command = fmt::format("steady bisect {} {} {}{}", found_.good, found_.bad,
                                     found_.file, input.ancestry_path ? " --ancestry-path" : "");
    }

    bisect::Found run() {
        say(
            fmt::format("{}: {} commits after {}, at most {} of them are tested when none is "
                        "skipped",
                        name_, line_.history.size(), line_.good.sha.substr(0, 12),
                        bisect::most_tests(line_.history.size())));
        if (!ends_differ()) return found_;
        found_.outcome = bisect::Outcome::size_unknown;
        if (!bisect::usable(found_.size)) return found_;
        narrow();
        for (const std::size_t i : bisect::suspects(line_.history, sides_)) {
            found_.suspects.push_back(line_.history[i]);
        }
        if (found_.suspects.size() == 1) confirm();
        return found_;
    }

private:
    const bisect::Commit& bad() const { return line_.history.back(); }

    // Whatever may change the answer: the question, the commits, where it is asked.
    std::string search_name() const {
        std::string stem = spec_.id.substr(0, 34);
        while (stem.ends_with('-')) stem.pop_back();
        const std::string hash = sha256_hex(
            fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", spec_.sha256, line_.good.sha, bad().sha,
                        found_.path, source_.root(), host_name(), input_.attempt));
        return fmt::format("{}-bisect-{}", stem, hash.substr(0, 8));
    }

    void say(const std::string& line) const {
        if (input_.say) input_.say(escape_line(line));
    }

    // One comparison; B is the arm that is better if they differ. The step's side is the caller's.
    Analysis ask(const std::string& kind, const std::string& what, const bisect::Commit& commit,
                 const bisect::Commit& against, bool commit_is_b, const bisect::Thresholds& asked) {
        if (interrupt_signal().raised()) throw Error("stopped", kExitInterrupted);
        const bisect::Commit &a = commit_is_b ? against : commit,
                             &b = commit_is_b ? commit : against;
        nlohmann::json document = revision_question(spec_, a.sha, b.sha, asked);
        document["id"] = name_ + "-" + what;
        document["hypothesis"]["claim"] = fmt::format(
            "{} is better than {} in {}", b.sha.substr(0, 12), a.sha.substr(0, 12), found_.metric);
        document["hypothesis"]["because"] =
            shorten(fmt::format("steady bisect {} {} asks it", found_.good, found_.bad), 500);
        say(fmt::format("{}: {} ({}) against {}", what, commit.sha.substr(0, 12), commit.subject,
                        against.sha.substr(0, 12)));
        const Record record = run_step(decode_spec(document));
        found_.steps.push_back(bisect::step_of(record, kind, commit, against.sha, commit_is_b));
        if (!record.attempts.empty()) {
            const Attempt& attempt = record.attempts.back();
            found_.host = attempt.host;
            const auto cpu = attempt.fingerprint.find("cpu_model");
            if (cpu != attempt.fingerprint.end()) found_.cpu = cpu->second;
        }
        return *record.analysis;
    }

    Record run_step(const Spec& spec) {
        try {
            return input_.run_step(spec);
        } catch (const Error& error) {
            throw Error(fmt::format("{}. Finished steps are kept: the same command goes on there",
                                    error.what()),
                        error.exit_code);
        }
    }

    // The last step's class.
    void decide(bisect::Side side, const std::string& words) {
        bisect::Step& step = found_.steps.back();
        step.side = side;
        say(fmt::format("  {}: {} over {} pairs", words,
                        figures::effect_text(step.effect, step.interval.low, step.interval.high),
                        step.pairs));
    }

    // Worse first; whoever asks for a commit that made things better gets the other question, too.
    bool ends_differ() {
        const Gate& gate = *deciding_gate(spec_);
        const bisect::Thresholds asked{gate.floor, matters(gate)};
        Analysis ends = ask("ends", "ends", bad(), line_.good, false, asked);
        if (ends.verdict == Verdict::reject && ends.effect && *ends.effect <= -asked.worth) {
            decide(bisect::Side::unknown, "BAD is not worse; asking whether it is better");
            found_.gain = true;
            ends = ask("ends", "ends-better", bad(), line_.good, true, asked);
        }
        const bool differ = ends.verdict == Verdict::accept;
        decide(differ ? bisect::Side::bad : bisect::Side::unknown,
               differ ? "the ends differ" : "no difference shown");
        if (!differ) return false;
        found_.size = bisect::size_of(ends, asked);
        if (!bisect::needs_sizing(found_.size)) return true;
        const bisect::Thresholds half = bisect::sizing(found_.size);
        const Analysis size = ask("size", "size", bad(), line_.good, found_.gain, half);
        found_.size = bisect::sized(found_.size, size, half);
        decide(bisect::Side::bad, "how much they differ");
        return true;
    }

    void narrow() {
        int open = 0;
        found_.outcome = bisect::Outcome::range;
        while (const auto next = bisect::next_commit(line_.history, sides_)) {
            sides_[*next] = test(line_.history[*next]);
            open += sides_[*next] == bisect::Side::open ? 1 : 0;
            if (open < kMostOpen) continue;
            found_.outcome = bisect::Outcome::too_many_open;
            return;
        }
    }

    bisect::Side test(const bisect::Commit& commit) {
        if (const auto same = same_files(commit)) return *same;
        const bisect::Thresholds asked = bisect::thresholds(found_.size);
        const std::string what = commit.sha.substr(0, 7);
        bisect::Side side = bisect::side_of(
            ask("good", what, commit, line_.good, found_.gain, asked), bisect::End::good);
        decide(side, bisect::name(side));
        if (side != bisect::Side::open) return side;
        side = bisect::side_of(ask("bad", what + "-bad", commit, bad(), !found_.gain, asked),
                               bisect::End::bad);
        decide(side, bisect::name(side));
        return side;
    }

    // A change of nothing, a merge, a revert: what has the same files has the same answer.
    std::optional<bisect::Side> same_files(const bisect::Commit& commit) {
        const auto take = [&](const bisect::Commit& other, bisect::Side side) {
            found_.steps.push_back({.kind = "files",
                                    .commit = commit,
                                    .against = other.sha,
                                    .side = side,
                                    .effect = {},
                                    .interval = {},
                                    .pairs = 0,
                                    .record = "",
                                    .verdict = "",
                                    .reason = "",
                                    .sentence = "",
                                    .decided_at = ""});
            return side;
        };
        if (commit.tree == line_.good.tree) return take(line_.good, bisect::Side::good);
        if (commit.tree == bad().tree) return take(bad(), bisect::Side::bad);
        for (std::size_t i = 0; i < line_.history.size(); ++i) {
            const bool same = line_.history[i].tree == commit.tree;
            if (same && sides_[i] != bisect::Side::unknown)
                return take(line_.history[i], sides_[i]);
        }
        return std::nullopt;
    }

    void confirm() {
        const bisect::Commit& culprit = found_.suspects.front();
        found_.parent = line_.first_parent.at(culprit.sha);
        const bisect::Thresholds asked = bisect::confirming(found_.size, *deciding_gate(spec_));
        const Analysis analysis = ask("parent", "confirm", culprit,
                                      commit_of(source_, found_.parent), found_.gain, asked);
        const bool confirmed = analysis.verdict == Verdict::accept;
        found_.outcome = confirmed ? bisect::Outcome::found : bisect::Outcome::not_confirmed;
        decide(confirmed ? bisect::Side::bad : bisect::Side::open,
               confirmed ? "confirmed against its parent" : "not confirmed against its parent");
    }

    const SearchInput& input_;
    const Spec& spec_;
    Source source_;
    CommitLine line_;
    std::vector<bisect::Side> sides_;
    bisect::Found found_;
    std::string name_;
};

}  // namespace

bisect::Found search_commits(const SearchInput& input) { return CommitSearch(input).run(); }

std::string write_found(const bisect::Found& found) {
    const std::string name = bisect::entry_path(found), path = project_root() + "/" + name;
    make_directories(fs::path(path).parent_path().string());
    const std::string old = fs::exists(path) ? read_file(path) : std::string();
    write_file_atomic(path, with_notes_of(old, bisect::entry(found)));
    return name;
}

}  // namespace steady
