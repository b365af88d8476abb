// Where a program finds the others: a copy of `steady` in a folder of its own, and one that lies as
// a part of an installation does, in libexec/steady.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/support/shell_output.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class SettingsParts : public ::testing::Test {
protected:
    SettingsParts() {
        std::string pattern = (fs::temp_directory_path() / "steady-parts-XXXXXX").string();
        folder_ = ::mkdtemp(pattern.data());
    }
    ~SettingsParts() override { fs::remove_all(folder_); }

    // What the copy of `steady` at this place prints, started in an empty folder.
    std::string shown(const fs::path& place, const std::string& words) const {
        const fs::path copy = folder_ / place;
        fs::create_directories(copy.parent_path());
        fs::copy_file(STEADY_BIN_DIR "/steady", copy, fs::copy_options::skip_existing);
        fs::create_directories(folder_ / "empty");
        return shell_output("cd '" + (folder_ / "empty").string() +
                            "' && env -i PATH=/usr/bin:/bin HOME=/none '" + copy.string() + "' " +
                            words + " 2>&1")
            .text;
    }
    fs::path folder_;
};

TEST_F(SettingsParts, ThePageThatIsMissingIsNamed) {
    EXPECT_THAT(shown("bin/steady", "serve"),
                HasSubstr("cannot start " + (folder_ / "bin/steady-page").string() +
                          ", the program of the page: No such file or directory. In a checkout"));
}

TEST_F(SettingsParts, APartFindsWhatIsInstalled) {
    fs::create_directories(folder_ / "share/steady/experiments");
    fs::copy_file(STEADY_SOURCE_DIR "/experiments/quickstart.json",
                  folder_ / "share/steady/experiments/quickstart.json");
    EXPECT_THAT(shown("libexec/steady/steady", "validate quickstart"),
                HasSubstr("quickstart.json: valid"));
    EXPECT_THAT(shown("other/steady/steady", "validate quickstart"),
                HasSubstr("no experiment file"));
}

}  // namespace
}  // namespace steady
