// Where a setting comes from, and what a file of settings may not hold; the table of keys against
// the verbs. The last tests run the real program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "kernels/base/error.h"
#include "runner/cli/verbs.h"
#include "runner/platform/settings.h"
#include "tests/support/shell_output.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class SettingsFiles : public ::testing::Test {
protected:
    SettingsFiles() {
        std::string pattern = (fs::temp_directory_path() / "steady-settings-XXXXXX").string();
        folder_ = ::mkdtemp(pattern.data());
        fs::create_directories(folder_ / "own/steady");
    }
    ~SettingsFiles() override { fs::remove_all(folder_); }

    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(folder_ / name) << text;
        return (folder_ / name).string();
    }
    // What is wrong with a file, as the project's or as this user's.
    std::string mistakes(const std::string& text, bool of_project = false) const {
        const std::string file = write("steady.json", text);
        try {
            read_settings({of_project ? file : "none", file});
        } catch (const Error& error) {
            return error.what();
        }
        return "";
    }
    // stdout and stderr of the real program, started in the folder with these words of environment
    // and no other setting.
    std::string shown(const std::string& environment, const std::string& words,
                      int wanted = 0) const {
        const std::string command =
            "cd '" + folder_.string() +
            "' && env -i PATH=/usr/bin:/bin HOME=/none XDG_CONFIG_HOME=own " + environment +
            " " STEADY_BIN_DIR "/steady " + words + " 2>&1";
        const ShellOutput output = shell_output(command);
        EXPECT_EQ(output.code, wanted) << output.text;
        return output.text;
    }

    fs::path folder_;
};

TEST_F(SettingsFiles, TheFirstFileWinsAndPathsStartAtTheirFile) {
    const std::string first = write("steady.json", R"({"models": ["m", "/n"], "root": "."})");
    const std::string second = write("own/steady/steady.json",
                                     R"(// mine
{"root": "/elsewhere", "state_dir": "s", "builds_gb": 2.5,
 "serve": {"port": 9000, "public_reads": true, "host": ["a", "b"]}})");
    const auto values = read_settings({first, second, "/none/steady.json"});
    EXPECT_EQ(values.at("models").text, folder_.string() + "/m:/n");
    EXPECT_EQ(values.at("models").origin, first + ":1");
    EXPECT_EQ(values.at("root").origin, first + ":1");
    EXPECT_EQ(values.at("state_dir").text, (folder_ / "own/steady/s").string());
    EXPECT_EQ(values.at("builds_gb").text, "2.5");
    EXPECT_EQ(values.at("serve.port").text, "9000");
    EXPECT_EQ(values.at("serve.port").origin, second + ":3");
    EXPECT_EQ(values.at("serve.public_reads").text, "1");
    EXPECT_EQ(values.at("serve.host").text, "a,b");
}

TEST_F(SettingsFiles, MistakesAreNamedWithTheirPlace) {
    const std::string file = (folder_ / "steady.json").string();
    EXPECT_EQ(mistakes("{\n  \"databse_url\": \"x\"\n}"),
              file +
                  ":2:3: found unknown key \"databse_url\"; allowed: the keys of `steady config "
                  "show`; did you mean \"database_url\"?");
    EXPECT_THAT(mistakes(R"({"serve": {"prot": 1}})"), HasSubstr("did you mean \"serve.port\"?"));
    EXPECT_THAT(mistakes(R"({"serve": {"serve": {"port": 1}}})"), HasSubstr("unknown key"));
    EXPECT_THAT(mistakes(R"({"serve.port": 1})"), HasSubstr("unknown key \"serve.port\""));
    EXPECT_THAT(mistakes(R"({"serve": {"models": []}})"), HasSubstr("unknown key"));
    EXPECT_THAT(mistakes(R"({"serve": 1})"), HasSubstr("an object with keys"));
    EXPECT_THAT(mistakes(R"({"models": "m"})"), HasSubstr("allowed: a list of paths"));
    EXPECT_THAT(mistakes(R"({"models": ["a:b"]})"), HasSubstr("allowed: a list of paths"));
    EXPECT_THAT(mistakes(R"({"worker": {"max_hours": "2"}})"), HasSubstr("allowed: a number"));
    EXPECT_THAT(mistakes(R"({"worker": {"commands": 1}})"), HasSubstr("true or false"));
    EXPECT_THAT(mistakes(R"({"serve": {"port": 65536}})"),
                HasSubstr("found \"65536\" for \"serve.port\"; allowed: a whole number from 0"));
    EXPECT_THAT(mistakes(R"({"gc": {"older_than": 1.5}})"), HasSubstr("whole number from 1 to"));
    EXPECT_THAT(mistakes(R"({"builds_gb": -5})"), HasSubstr("a number from 0.001 to 1000000"));
    EXPECT_THAT(mistakes(R"({"alerts_on": ["change", "failures"]})"),
                HasSubstr("allowed: change, failure, verdict"));
    EXPECT_EQ(mistakes(R"({"alerts_on": ["verdict", "change"], "alerts_shape": "slack"})"), "");
    EXPECT_THAT(mistakes(R"({"alerts_shape": "json, slack"})"), HasSubstr("json, slack, matrix"));
    EXPECT_THAT(mistakes(R"({"root_file": "x"})"), HasSubstr("unknown key \"root_file\""));
    EXPECT_THAT(mistakes(R"({"webhook": "a", "webhook_file": "b"})"), HasSubstr("one of them"));
    EXPECT_THAT(mistakes(R"({"root": "a", "root": "b"})"), HasSubstr("root"));
    EXPECT_THAT(mistakes("[]"), HasSubstr("an object with keys"));
    EXPECT_THAT(mistakes("{"), HasSubstr(file + ":1"));
    EXPECT_THAT(mistakes(R"({"rot": 1, "modls": []})"),  // all at once
                AllOf(HasSubstr("\"root\"?\n"), HasSubstr("\"models\"?")));
    EXPECT_EQ(mistakes("{}"), "");
}

TEST_F(SettingsFiles, ACheckoutSetsNothingOfTheMachine) {
    for (const Setting& setting : settings()) {
        const std::string key(setting.key);
        const std::size_t dot = key.find('.');
        const std::string_view among = setting.range.one_of;
        const std::string word(among.empty() ? "a" : among.substr(0, among.find(',')));
        const std::string value =
            setting.type == SettingType::number   ? "1"
            : setting.type == SettingType::yes_no ? "true"
            : setting.type == SettingType::paths || setting.type == SettingType::words
                ? "[\"" + word + "\"]"
                : "\"" + word + "\"";
        const std::string text = dot == std::string::npos
                                     ? "{\"" + key + "\": " + value + "}"
                                     : "{\"" + key.substr(0, dot) + "\": {\"" +
                                           key.substr(dot + 1) + "\": " + value + "}}";
        EXPECT_EQ(mistakes(text), "") << text;
        EXPECT_EQ(mistakes(text, true).empty(), setting.in_project) << text;
    }
    for (const char* key :
         {"state_dir", "programs", "host_lock", "worker.commands", "serve.bind"}) {
        const auto one = std::find_if(settings().begin(), settings().end(),
                                      [&](const Setting& setting) { return setting.key == key; });
        ASSERT_NE(one, settings().end()) << key;
        EXPECT_FALSE(one->in_project) << key;
    }
}

TEST(Settings, EveryKeyHasAMeaningAndEveryFlagIsAnOption) {
    std::set<std::string> keys, environments;
    for (const Setting& setting : settings()) {
        EXPECT_TRUE(keys.emplace(setting.key).second) << setting.key;
        EXPECT_TRUE(environments.insert(environment_name(setting)).second) << setting.key;
        EXPECT_NE(setting_meaning(setting), "") << setting.key;
        const std::size_t dot = setting.key.find('.');
        if (dot == std::string_view::npos) continue;
        const auto verb = std::find_if(verbs().begin(), verbs().end(), [&](const Verb& one) {
            return one.name == setting.key.substr(0, dot);
        });
        ASSERT_NE(verb, verbs().end()) << setting.key;
        std::string flag(setting.key.substr(dot + 1));
        std::replace(flag.begin(), flag.end(), '_', '-');
        EXPECT_EQ(setting.flag, flag);
        EXPECT_TRUE(std::any_of(verb->options.begin(), verb->options.end(),
                                [&](const Option& option) { return option.name == flag; }))
            << setting.key;
    }
}

TEST(Settings, FillOptionsThatAreNotGiven) {
    ::setenv("STEADY_SERVE_PORT", "9001", 1);
    ::setenv("STEADY_SERVE_PRIVATE_READS", "yes", 1);
    ::setenv("STEADY_SERVE_PUBLIC_READS", "0", 1);
    ::setenv("STEADY_WORKER_TAGS", "quiet", 1);
    Parsed parsed = parse_command_line(verbs(), {"serve"});
    add_settings(*parsed.verb, parsed.arguments);
    EXPECT_EQ(parsed.arguments.get("port"), "9001");
    EXPECT_TRUE(parsed.arguments.has("private-reads"));
    EXPECT_FALSE(parsed.arguments.has("public-reads"));
    parsed = parse_command_line(verbs(), {"serve", "--port", "1"});
    add_settings(*parsed.verb, parsed.arguments);
    EXPECT_EQ(parsed.arguments.get("port"), "1");
    parsed = parse_command_line(verbs(), {"submit", "x"});  // --tags of another verb
    add_settings(*parsed.verb, parsed.arguments);
    EXPECT_FALSE(parsed.arguments.has("tags"));
    for (const char* name :
         {"SERVE_PORT", "SERVE_PRIVATE_READS", "SERVE_PUBLIC_READS", "WORKER_TAGS"})
        ::unsetenv(("STEADY_" + std::string(name)).c_str());
}

TEST_F(SettingsFiles, ShowSaysWhereAndKeepsSecrets) {
    write("steady.json", R"({"models": ["m"], "database_url": "postgresql://me:hunter2@h/db"})");
    write("secret", "https://hooks.example/very-secret\n");
    write("own/steady/steady.json", R"({"webhook_file": "../../secret", "builds_gb": 3})");
    const std::string text =
        shown("STEADY_BUILDS_GB=4 STEADY_SERVE_PORT=7", "config show --origin");
    EXPECT_THAT(text, HasSubstr("builds_gb                 4  (environment STEADY_BUILDS_GB)"));
    EXPECT_THAT(text, HasSubstr("(environment STEADY_SERVE_PORT)"));
    EXPECT_THAT(text, HasSubstr("(steady.json:1)"));
    EXPECT_THAT(text, HasSubstr("(own/steady/steady.json:1: "));
    EXPECT_THAT(text, AllOf(Not(HasSubstr("very-secret")), Not(HasSubstr("hunter2"))));
    EXPECT_THAT(shown("", "config show --json"), Not(HasSubstr("very-secret")));
    write("own/steady/steady.json", R"({"webhook_file": "gone"})");
    EXPECT_THAT(shown("", "config show --origin"), HasSubstr("gone cannot be read"));
}

TEST_F(SettingsFiles, AVerbNamesTheFileOfABadValue) {
    write("own/steady/steady.json", "{\n\"gc\": {\n\"older_than\": 0}}");
    EXPECT_THAT(shown("", "gc --db postgresql:///?host=/none", 2),
                HasSubstr("own/steady/steady.json:3:15: found \"0\" for \"gc.older_than\""));
    write("own/steady/steady.json", R"({"rot": 1})");
    EXPECT_THAT(shown("", "validate x", 2), HasSubstr("did you mean \"root\"?"));
    EXPECT_THAT(shown("", "completion bash"), HasSubstr("complete -F"));  // concerns no key
    write("own/steady/steady.json", R"({"database_url_file": "/none/url"})");
    EXPECT_THAT(shown("", "queue", 2), HasSubstr("/none/url cannot be read"));
    EXPECT_THAT(shown("STEADY_DATABASE_URL_FILE=/none/two", "queue", 2), HasSubstr("/none/two"));
}

// One table of ranges for files, environment and flags.
TEST_F(SettingsFiles, AFlagHasTheRangeOfItsSetting) {
    int n = 0;
    for (const Setting& setting : settings()) {
        if (setting.type != SettingType::number || setting.flag.empty()) continue;
        const std::string verb(setting.key.substr(0, setting.key.find('.')));
        const std::string most = std::to_string(static_cast<long long>(setting.range.high));
        const std::string beyond = std::to_string(static_cast<long long>(setting.range.high) + 1);
        const std::string range =
            "from " + std::to_string(static_cast<int>(setting.range.low)) + " to " + most + "\n";
        const std::string kind =
            setting.range.whole ? "allowed a whole number " : "allowed a number ";
        const std::string flag(setting.flag), name = environment_name(setting);
        EXPECT_THAT(shown("STEADY_STATE_DIR=state", verb + " --" + flag + " " + beyond, 2),
                    HasSubstr("--" + flag + ": found \"" + beyond + "\", " + kind + range));
        EXPECT_THAT(shown(name + "=" + beyond, "config show", 2),
                    HasSubstr(name + ": found \"" + beyond + "\", " + kind + range));
        ++n;
    }
    EXPECT_GE(n, 5);
}

TEST_F(SettingsFiles, AnErrorOfTheDatabaseTellsWhoNamedItAndWhatIsAllowed) {
    write("own/steady/steady.json", "{\n\"database_url\": \"mysql://me:secret@h/x\"}");
    EXPECT_THAT(shown("", "queue", 2),
                AllOf(HasSubstr("mysql://me:***@h/x is no address of a PostgreSQL"),
                      HasSubstr("allowed: postgresql://"), Not(HasSubstr("secret")),
                      HasSubstr("(named by own/steady/steady.json:2)")));
    EXPECT_THAT(
        shown("STEADY_DATABASE_URL=postgresql:///x?host=/none", "queue", 1),
        AllOf(HasSubstr("does not answer"), Not(HasSubstr("\n\t")),
              HasSubstr("(named by environment STEADY_DATABASE_URL); start it or correct")));
    EXPECT_THAT(shown("", "queue --db postgresql://h/x?foo=1", 2), HasSubstr("(named by --db)"));
    fs::remove(folder_ / "own/steady/steady.json");
    EXPECT_THAT(shown("STEADY_STATE_DIR=/proc/none", "queue", 1),
                HasSubstr("cannot create the directory /proc/none for Steady's state: No such file "
                          "or directory; set STEADY_STATE_DIR"));
}

}  // namespace
}  // namespace steady
