// Revisions of a real repository as trees, without a trace in the repository itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "kernels/base/error.h"
#include "runner/platform/tools.h"
#include "runner/programs/build/program_facts.h"
#include "runner/programs/build/source.h"
#include "tests/support/git_fixture.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string message_of(const std::function<void()>& work) {
    try {
        work();
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

// All files below with their sizes: what a look into the repository must not change.
std::map<std::string, std::uintmax_t> files_below(const std::string& folder) {
    std::map<std::string, std::uintmax_t> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.is_regular_file()) files[entry.path().string()] = entry.file_size();
    }
    return files;
}

TEST(BuildSourceTest, TheWorkTreeIsARevisionAndStaysAsItIs) {
    const GitFixture repository;
    repository.write("kept", "kept\n");
    repository.write(".gitignore", "ignored\n");
    const std::string head = repository.commit("first");
    repository.write("kept", "changed\n");
    repository.write("folder/new", "new\n");
    repository.write("ignored", "ignored\n");
    const auto before = files_below(repository.path());
    const Source source(repository.path() + "/folder");
    const Revision now = source.resolve(".");
    const std::string out = repository.beside("out");
    fs::create_directories(out);
    source.extract(now, out);
    EXPECT_EQ(read_line_or_empty(out + "/kept"), "changed");
    EXPECT_EQ(read_line_or_empty(out + "/folder/new"), "new");
    EXPECT_FALSE(fs::exists(out + "/ignored"));
    EXPECT_FALSE(fs::exists(out + "/.git"));
    EXPECT_EQ(now.commit, "");
    EXPECT_NE(now.tree, source.resolve("main").tree);
    EXPECT_EQ(source.resolve(head.substr(0, 8)).commit, head);
    EXPECT_EQ(files_below(repository.path()), before);
}

// An edit in the second of the commit, of equal length: nothing that git compares of the file
// itself differs, only that the file is no older than the index says that its content must be read.
TEST(BuildSourceTest, AnEditInTheSecondOfTheCommitIsAChange) {
    const GitFixture repository;
    repository.git({"config", "core.trustctime", "false"});
    const fs::path file = fs::path(repository.path()) / "program.sh";
    const auto second = fs::file_time_type::clock::now() - std::chrono::hours(1);
    repository.write("program.sh", "echo two");
    fs::last_write_time(file, second);
    repository.commit("first");
    repository.write("program.sh", "echo one");
    fs::last_write_time(file, second);
    fs::last_write_time(repository.path() + "/.git/index", second);
    const Source source(repository.path());
    EXPECT_NE(source.resolve(".").tree, source.resolve("main").tree);
}

TEST(BuildSourceTest, ErrorsSayWhatIsAllowed) {
    const GitFixture repository;
    repository.write("file", "text\n");
    repository.commit("first");
    const Source source(repository.path());
    EXPECT_THAT(message_of([&] { source.resolve("nowhere"); }), HasSubstr("branch -a"));
    for (const char* odd : {"", "-x", "main..main", "--all"}) {
        EXPECT_THAT(message_of([&] { source.resolve(odd); }), HasSubstr("allowed")) << odd;
    }
    EXPECT_THAT(message_of([&] { Source(repository.beside("none")); }), HasSubstr("directory"));
    EXPECT_THAT(message_of([&] { Source("/usr/share"); }), HasSubstr("git"));
    repository.git({"clone", "--quiet", "--bare", repository.path(), repository.beside("bare")});
    const Source bare(repository.beside("bare"));
    EXPECT_EQ(bare.resolve("main").tree, source.resolve("main").tree);
    EXPECT_THAT(message_of([&] { bare.resolve("."); }), HasSubstr("bare"));
}

TEST(BuildSourceTest, RefsThatHoldACommit) {
    const GitFixture repository;
    repository.write("file", "one\n");
    const std::string first = repository.commit("first");
    repository.git({"tag", "v1"});
    repository.git({"checkout", "--quiet", "-b", "idea/one"});
    repository.write("file", "two\n");
    const std::string second = repository.commit("second");
    const Source source(repository.path());
    EXPECT_THAT(source.refs_containing(first), ElementsAre("idea/one", "main", "v1"));
    EXPECT_THAT(source.refs_containing(second), ElementsAre("idea/one"));
}

TEST(BuildSourceTest, SubmodulesComeAlong) {
    const GitFixture part, whole;
    part.write("inner", "one\n");
    part.commit("first");
    whole.git({"submodule", "--quiet", "add", part.path(), "lib/part"});
    whole.commit("with a part");
    part.write("inner", "two\n");
    part.commit("second");
    const Source source(whole.path());
    const std::string out = whole.beside("out");
    fs::create_directories(out);
    source.extract(source.resolve("main"), out);
    EXPECT_EQ(read_line_or_empty(out + "/lib/part/inner"), "one");
}

// Where git keeps the objects is git's business: a linked work tree has none of its own, and a
// colon separates folders in the variable that names them.
TEST(BuildSourceTest, LinkedWorkTreesAndOddPathsAreRepositories) {
    const GitFixture repository;
    repository.write("file", "one\n");
    repository.commit("first");
    const std::string linked = repository.beside("linked"),
                      odd = repository.beside("with: a \"colon\" é");
    repository.git({"worktree", "add", "--quiet", linked, "-b", "other"});
    repository.git({"clone", "--quiet", repository.path(), odd});
    for (const std::string& path : {linked, odd}) {
        std::ofstream(path + "/file") << "changed\n";
        const Source source(path);
        const std::string out = repository.beside("out-" + random_hex(4));
        fs::create_directories(out);
        source.extract(source.resolve("."), out);
        EXPECT_EQ(read_line_or_empty(out + "/file"), "changed") << path;
        EXPECT_EQ(source.resolve("HEAD").commit, repository.git({"rev-parse", "HEAD"})) << path;
    }
}

// What Steady writes beside the program is no change of the program.
TEST(BuildSourceTest, OwnQuestionsAndEntriesAreNoChange) {
    const GitFixture repository;
    repository.write("sub/[a] file", "one\n");
    repository.write("sub/experiments/tracked.json", "{}\n");
    const std::string head = repository.commit("first");
    const Source source(repository.path(), nullptr, repository.path() + "/sub");
    repository.write("sub/experiments/ab-x.json", "{}\n");
    repository.write("sub/journal/2026-01-01-ab-x.md", "x\n");
    EXPECT_EQ(source.resolve(".").commit, head);
    EXPECT_EQ(Source(repository.path()).resolve(".").commit, "") << "they are there";
    repository.write("sub/experiments/input.txt", "new\n");
    EXPECT_EQ(source.resolve(".").commit, "") << "another new file counts";
    fs::remove(repository.path() + "/sub/experiments/input.txt");
    EXPECT_EQ(source.resolve(".").commit, head);
    repository.write("sub/experiments/tracked.json", "{ }\n");
    EXPECT_EQ(source.resolve(".").commit, "") << "a tracked one counts";
}

// A tree of git names a submodule's commit, so what is not committed there would not be built.
TEST(BuildSourceTest, AChangedSubmoduleIsRefusedNotLeftOut) {
    const GitFixture part, whole;
    part.write("inner", "one\n");
    part.commit("first");
    whole.git({"submodule", "--quiet", "add", part.path(), "lib/part"});
    whole.commit("with a part");
    const Source source(whole.path());
    EXPECT_EQ(source.resolve(".").commit, whole.git({"rev-parse", "HEAD"}));
    whole.write("lib/part/inner", "changed\n");
    const std::string told = message_of([&] { source.resolve("."); });
    EXPECT_THAT(told, HasSubstr("lib/part"));
    EXPECT_THAT(told, HasSubstr("commit"));
    EXPECT_EQ(message_of([&] { source.resolve("main"); }), "") << "a commit is what it is";
}

TEST(BuildSourceTest, AShallowCloneSaysThatItIsOne) {
    const GitFixture repository;
    repository.write("file", "one\n");
    repository.commit("first");
    repository.write("file", "two\n");
    repository.commit("second");
    const std::string shallow = repository.beside("shallow");
    repository.git({"clone", "--quiet", "--depth", "1", "file://" + repository.path(), shallow});
    const Source source(shallow);
    EXPECT_THAT(message_of([&] { source.resolve("HEAD~1"); }), HasSubstr("fetch --unshallow"));
    EXPECT_EQ(message_of([&] { source.resolve("HEAD"); }), "");
}

void compile(const std::string& text, const std::string& file,
             const std::vector<std::string>& arguments) {
    std::ofstream(file + ".c") << text;
    ChildOptions options;
    options.argv = {tool_path("cc", "this test"), file + ".c", "-o", file};
    options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
    options.limits = {};
    const ChildEnd end = run_child(options, 60);
    ASSERT_TRUE(end.ok()) << end.describe();
}

TEST(BuildFactsTest, AProgramIsItsFileAndItsLibraries) {
    const GitFixture place;
    const std::string folder = place.path();
    compile("int answer(void) { return 1; }", folder + "/libanswer.so", {"-shared", "-fPIC"});
    compile("int answer(void); int main(void) { return answer(); }", folder + "/program",
            {"-L" + folder, "-lanswer", "-Wl,-rpath,$ORIGIN"});
    Fingerprint before, after;
    const ProgramFacts facts = program_facts(folder + "/program");
    EXPECT_EQ(facts.unknown, "");
    EXPECT_TRUE(facts.libraries.contains(folder + "/libanswer.so"));
    add_program(before, "b", facts);
    EXPECT_THAT(before["b_libraries"], HasSubstr("libc.so.6"));
    compile("int answer(void) { return 2; }", folder + "/libanswer.so", {"-shared", "-fPIC"});
    add_program(after, "b", program_facts(folder + "/program"));
    EXPECT_EQ(before["b_sha256"], after["b_sha256"]);
    EXPECT_NE(before["b_libraries_sha256"], after["b_libraries_sha256"]);
    fs::remove(folder + "/libanswer.so");
    EXPECT_THAT(program_facts(folder + "/program").unknown, HasSubstr("libanswer.so"));
}

TEST(BuildFactsTest, ScriptsAndStrangeFiles) {
    const GitFixture place;
    const std::string script = place.path() + "/script", odd = place.path() + "/odd";
    std::ofstream(script) << "#!/usr/bin/env sh\ntrue\n";
    EXPECT_TRUE(program_facts(script).libraries.contains("/usr/bin/sh"));
    std::ofstream(odd) << "#!" << odd << "\n";
    EXPECT_THAT(program_facts(odd).unknown, HasSubstr("scripts"));
    EXPECT_THROW(program_facts("/dev/zero"), Error);
    EXPECT_THROW(program_facts("/no/such/file"), Error);
    compile("int main(void) { return 0; }", place.path() + "/static", {"-static"});
    EXPECT_TRUE(program_facts(place.path() + "/static").libraries.empty());
}

TEST(ToolsTest, NamesAreLookedUpAsAShellWould) {
    const GitFixture place;
    const std::string folder = place.path();
    std::ofstream(folder + "/sh") << "#!/bin/sh\n";
    EXPECT_EQ(find_tool("./sh", folder), std::nullopt) << "not executable";
    fs::permissions(folder + "/sh", fs::perms::owner_all);
    EXPECT_EQ(find_tool("./sh", folder), folder + "/sh");
    EXPECT_EQ(find_tool("sh", folder), find_tool("sh")) << "no slash: only PATH counts";
    EXPECT_EQ(find_tool("no-such-program"), std::nullopt);
    EXPECT_EQ(find_tool(""), std::nullopt);
    EXPECT_THAT(message_of([] { tool_path("no-such-program", "the test", "install it"); }),
                HasSubstr("the test needs it: install it"));
}

}  // namespace
}  // namespace steady
