// The verbs on the store, through the real program: an experiment moves to another machine's
// database and goes on there; tokens, retention, the fault test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>

#include "tests/support/counted_program.h"
#include "tests/support/steady_cli.h"

namespace steady {
namespace {

using ::testing::HasSubstr;

class StoreVerbs : public ::testing::Test {
protected:
    nlohmann::json run(const SteadyCli& cli, std::vector<std::string> words, int code = 0) {
        words.push_back("--json");
        const CliResult result = cli.run(words);
        EXPECT_EQ(result.code, code) << words[0] << ": " << result.out << result.err;
        return result.json();
    }
    static std::string text_of(const std::filesystem::path& path) {
        std::ifstream file(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    SteadyCli here;
};

TEST_F(StoreVerbs, AnExperimentMovesToAnotherDatabaseAndIsTheSameThere) {
    nlohmann::json question = counted_question();
    question["arms"]["B"]["args"] = {"200"};
    question["expect_diff"] = {"args"};
    std::ofstream(here.root() / "steps.sh") << counted_program();
    const nlohmann::json shown = run(here, {"run", here.experiment("moving", question)});
    const std::string id = shown.at("id");
    const std::string entry = shown.at("journal");
    EXPECT_EQ(text_of(here.root() / entry).find("revision: \"\""), std::string::npos);
    std::ofstream(here.root() / entry, std::ios::app) << "\nA note by a person.\n";
    const std::string file = (here.root() / "moved.steady.json").string();
    run(here, {"export", id, file});

    const SteadyCli there;
    const nlohmann::json imported = run(there, {"import", file});
    EXPECT_EQ(imported.at("imported").at(0).at("id"), id);
    EXPECT_EQ(imported.at("imported").at(0).at("created"), true);
    EXPECT_EQ(run(there, {"import", file}).at("imported").at(0).at("created"), false);
    EXPECT_EQ(text_of(there.root() / entry), text_of(here.root() / entry));
    const std::string again = (there.root() / "again.steady.json").string();
    run(there, {"export", id, again});
    EXPECT_EQ(text_of(again), text_of(file)) << "the same to the byte";
    nlohmann::json moved = run(there, {"show", id, "--pairs"});
    EXPECT_TRUE(moved["runs"]["runs"][0]["record_sha256"].is_string());
    moved["runs"]["runs"][0]["record_sha256"] = nullptr;  // what it was imported from
    EXPECT_EQ(moved, run(here, {"show", id, "--pairs"}));
    EXPECT_TRUE(run(there, {"decide", id}).at("differences").empty());
    const nlohmann::json journal = run(there, {"journal", "--check"});
    EXPECT_EQ(journal.at("checked"), 1);
    std::filesystem::path figure = there.root() / moved.at("journal").get<std::string>();
    std::ofstream(figure.replace_extension(".svg"), std::ios::app) << "<!-- more -->";
    EXPECT_THAT(there.run({"journal", "--check"}).out, HasSubstr("figure is not what its record"));
    run(there, {"journal", id, "--write"});
    EXPECT_EQ(there.run({"journal", "--check"}).code, 0);

    std::ofstream(there.root() / "steps.sh") << counted_program();
    const nlohmann::json rerun = run(there, {"rerun", id});
    EXPECT_EQ(rerun.at("id"), id + "-2");
    EXPECT_EQ(rerun.at("replay"), "reproduced");
    EXPECT_TRUE(rerun.at("differs_now").is_object());
    EXPECT_FALSE(rerun.at("differs_now").contains("program_a_sha256")) << rerun;

    std::string torn = text_of(file);
    torn.resize(torn.size() / 2);
    std::ofstream(file, std::ios::trunc) << torn;
    const CliResult refused = there.run({"import", file});
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr("is the file whole?"));
}

TEST_F(StoreVerbs, TokensAreShownOnceAndEnd) {
    const nlohmann::json made =
        run(here, {"token", "create", "ci", "--scopes", "read,submit", "--days", "30"});
    const std::string token = made.at("token");
    EXPECT_EQ(token.size(), 7U + 64U);
    EXPECT_EQ(here.run({"token", "create", "ci"}).code, 2) << "the name is taken";
    const CliResult wrong = here.run({"token", "create", "other", "--scopes", "read,write"});
    EXPECT_EQ(wrong.code, 2);
    EXPECT_THAT(wrong.err, HasSubstr("allowed read, submit, cancel, commands, admin"));
    const CliResult listed = here.run({"token", "list"});
    EXPECT_THAT(listed.out, HasSubstr("read,submit"));
    EXPECT_THAT(listed.out, ::testing::Not(HasSubstr(token)));
    EXPECT_EQ(here.run({"token", "revoke", "ci"}).code, 0);
    EXPECT_EQ(here.run({"token", "revoke", "ci"}).code, 2);
    EXPECT_THAT(here.run({"token", "list"}).out, HasSubstr("revoked"));
}

TEST_F(StoreVerbs, LeversSayWhatTheyCannotMove) {
    run(here, {"submit", here.experiment("waiting", small_experiment())});
    EXPECT_THAT(here.run({"requeue", "waiting"}).err, HasSubstr("only a failed or cancelled job"));
    run(here, {"submit", here.experiment("later", small_experiment())});
    EXPECT_EQ(run(here, {"priority", "later", "7"}).at("priority"), 7);
    EXPECT_THAT(run(here, {"queue"}).dump(), ::testing::MatchesRegex(".*later-.*waiting-.*"));
    EXPECT_THAT(here.run({"priority", "later", "101"}).err, HasSubstr("-100 to 100"));
    const std::string again = here.experiment("later", small_experiment());
    EXPECT_THAT(here.run({"submit", again, "--priority", "9"}).out, HasSubstr("`steady priority"));
    run(here, {"cancel", "later"});
    EXPECT_THAT(here.run({"priority", "later", "1"}).err, HasSubstr("only a waiting job"));
    EXPECT_THAT(here.run({"submit", again}).out, HasSubstr("`steady requeue"));
    EXPECT_EQ(run(here, {"unpin", "waiting"}).at("pairs_set_aside"), 0);
    EXPECT_THAT(here.run({"export", "waiting", "x.json"}).err, HasSubstr("is queued"));
    EXPECT_THAT(here.run({"export", "waiting", "else"}).err,
                HasSubstr("the last word is the file"));
    run(here, {"cancel", "waiting"});
    EXPECT_EQ(run(here, {"requeue", "waiting"}).at("state"), "queued");
    const nlohmann::json fresh = run(here, {"requeue", "waiting", "--fresh-host"});
    EXPECT_THAT(fresh.at("id").get<std::string>(), ::testing::EndsWith("-2"));
    const CliResult gc = here.run({"gc"});
    EXPECT_EQ(gc.code, 2);
    EXPECT_THAT(gc.err, HasSubstr("--older-than DAYS"));
    EXPECT_EQ(run(here, {"gc", "--older-than", "1", "--dry-run"}).at("rows"), 0);
}

TEST_F(StoreVerbs, AWorkerSaysWhichJobFailedAndWhy) {
    nlohmann::json spec = small_experiment();
    spec["subject"]["model"] = "absent.gguf";
    run(here, {"submit", here.experiment("hopeless", spec)});
    const CliResult worked = here.run({"worker", "--once"});
    EXPECT_EQ(worked.code, 0) << worked.err;
    EXPECT_THAT(worked.err, ::testing::ContainsRegex("hopeless-[0-9a-f]+: .*absent.gguf"));
    EXPECT_EQ(run(here, {"show", "hopeless"}).at("state"), "failed");
}

TEST_F(StoreVerbs, WatchFollowsAJobToItsVerdict) {
    run(here, {"submit", here.experiment("followed", quick_experiment())});
    const pid_t worker = here.start({"worker", "--once"});
    const CliResult watched = here.run({"watch", "followed"});
    EXPECT_THAT(watched.err, ::testing::ContainsRegex("followed-[0-9a-f]+: (queued|running), "));
    int status = 0;
    EXPECT_EQ(::waitpid(worker, &status, 0), worker);
    // The machine's noise decides which verdict it is.
    const CliResult shown = here.run({"show", "followed"});
    EXPECT_THAT(shown.out, HasSubstr("decode_tps"));
    EXPECT_THAT(watched.out, HasSubstr("decode_tps"));  // its entry may still be being written
    const CliResult later = here.run({"watch", "followed"});
    EXPECT_EQ(later.out, shown.out) << "one that has ended is shown at once";
    EXPECT_EQ(later.code, watched.code);

    run(here, {"submit", here.experiment("dropped", small_experiment())});
    run(here, {"cancel", "dropped"});
    const CliResult cancelled = here.run({"watch", "dropped"});
    EXPECT_EQ(cancelled.code, 1);
    EXPECT_THAT(cancelled.err, HasSubstr("cancelled"));
    EXPECT_THAT(cancelled.err, HasSubstr("`steady requeue"));
    EXPECT_EQ(here.run({"watch", "nobody"}).code, 2);
    EXPECT_THAT(here.run({"watch", "dropped", "--exit-map", "git"}).err,
                HasSubstr("allowed bisect"));
}

TEST_F(StoreVerbs, ADumpHoldsTheRecords) {
    run(here, {"submit", here.experiment("kept", small_experiment())});
    const std::string path = (here.root() / "all.dump").string();
    EXPECT_EQ(here.run({"db", "dump", path}).code, 0);
    EXPECT_GT(std::filesystem::file_size(path), 10000U);
    const CliResult again = here.run({"db", "dump", path});
    EXPECT_EQ(again.code, 2);
    EXPECT_THAT(again.err, HasSubstr("--force"));
    run(here, {"cancel", "kept"});
}

TEST_F(StoreVerbs, TheFaultTestReportsWhatItDid) {
    const nlohmann::json report = run(here, {"fault-test", "--kills", "6", "--seed", "3"});
    EXPECT_EQ(report.at("sound"), true);
    EXPECT_EQ(report.at("samples_lost"), 0);
    EXPECT_GT(report.at("samples_acknowledged").get<int>(), 0);
    EXPECT_EQ(report.at("seed"), 3);
}

}  // namespace
}  // namespace steady
