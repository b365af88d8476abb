// `steady index` over a journal: what it writes, and when --check calls it out of date.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "runner/platform/files.h"
#include "tests/support/counted_program.h"
#include "tests/support/steady_cli.h"

namespace steady {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Index : public ::testing::Test {
protected:
    CliResult index(std::vector<std::string> more = {}) const {
        more.insert(more.begin(), {"index", journal});
        return cli.run(more);
    }
    std::string page() const { return read_file(journal + "/README.md"); }
    std::string decided(const std::string& name) const {
        std::ofstream(cli.root() / "steps.sh") << counted_program();
        nlohmann::json question = counted_question();
        question["arms"]["B"]["args"] = {"200"};
        question["expect_diff"] = {"args"};
        const CliResult ran = cli.run({"run", cli.experiment(name, question), "--json"});
        EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
        return ran.json().at("id");
    }

    SteadyCli cli;
    std::string journal = (cli.root() / "journal").string();
};

TEST_F(Index, OnesOwnEntriesCountOnceTheirRecordIsPublished) {
    const std::string first = decided("first");
    EXPECT_EQ(index().code, 0);
    EXPECT_THAT(page(), HasSubstr(first));
    EXPECT_EQ(index({"--check"}).code, 0);

    const std::string second = decided("second");
    EXPECT_EQ(index({"--check"}).code, 0) << "an entry of one's own";
    std::filesystem::create_directories(cli.root() / "experiments/records");
    const std::string record =
        (cli.root() / "experiments/records" / (second + ".steady.json")).string();
    ASSERT_EQ(cli.run({"export", second, "--out", record}).code, 0);
    const CliResult stale = index({"--check"});
    EXPECT_EQ(stale.code, 1);
    EXPECT_THAT(stale.out, HasSubstr("writes the table again"));
    EXPECT_THAT(page(), Not(HasSubstr(second)));
    EXPECT_EQ(index().code, 0);
    EXPECT_THAT(page(), HasSubstr(second));
    EXPECT_EQ(index({"--check"}).code, 0);
}

}  // namespace
}  // namespace steady
