// Every experiment of this repository is one that the decoder accepts, named like its file, and
// asks for a workload that exists.
#include <gtest/gtest.h>

#include "runner/spec/spec.h"
#include "tests/runner/spec_files.h"

namespace steady {
namespace {

namespace fs = std::filesystem;

TEST(SchemaExperiments, EveryFileIsValid) {
    const fs::path root = fs::path(STEADY_SOURCE_DIR) / "experiments";
    int n_files = 0;
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
        const std::string folder = fs::relative(entry.path(), root).begin()->string();
        // Beside the questions: what they are run on, how they are written, and answers.
        const bool question = folder != "workloads" && folder != "schema" && folder != "records";
        if (entry.path().extension() != ".json" || !question) continue;
        ++n_files;
        const SpecResult result =
            parse_spec(read_file(entry.path().string()), entry.path().stem().string());
        for (const SpecError& error : result.errors) {
            ADD_FAILURE() << describe(error, entry.path().filename().string());
        }
        if (!result.spec || result.spec->subject.workload.empty()) {
            continue;
        }
        const fs::path workload = root / "workloads" / result.spec->subject.workload;
        EXPECT_TRUE(fs::exists(workload.string() + ".json") ||
                    fs::exists(workload.string() + ".txt"))
            << entry.path() << " names the workload " << result.spec->subject.workload;
    }
    EXPECT_GE(n_files, 5);
}

}  // namespace
}  // namespace steady
