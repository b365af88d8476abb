// The questions of the seed journal: each names a trial of the corpus (or a plan in its documents),
// runs a model of full geometry, and asks for variants that exist.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "runner/spec/spec.h"
#include "tests/runner/spec_files.h"

namespace steady {
namespace {

namespace fs = std::filesystem;

fs::path source() { return STEADY_SOURCE_DIR; }

std::set<std::string> trials_of_corpus() {
    std::set<std::string> ids;
    const nlohmann::json corpus = nlohmann::json::parse(read_data("journal-corpus.json"));
    for (const nlohmann::json& record : corpus.at("records")) ids.insert(record.at("id"));
    return ids;
}

// A variant is a file of its op, a step's alternative a line of the table of steps.
void expect_known(const ArmSpec& arm, const std::string& file) {
    static const std::string steps =
        read_file((source() / "engine/model/steps/steps.cpp").string());
    for (const auto& [op, variant] : arm.kernels) {
        EXPECT_TRUE(fs::exists(source() / "kernels" / op / (variant + ".cpp")))
            << file << ": " << op << " has no variant " << variant;
    }
    for (const auto& [step, alternative] : arm.steps) {
        EXPECT_NE(steps.find("{\"" + alternative + "\", "), std::string::npos)
            << file << ": step " << step << " has no alternative " << alternative;
    }
}

TEST(SchemaSeed, EveryQuestionNamesItsTrialAndAsksForWhatExists) {
    const std::set<std::string> trials = trials_of_corpus();
    const fs::path folder = source() / "experiments/seed";
    const std::string table = read_file((folder / "README.md").string());
    const std::regex reference(R"(^(Trial (\S+)|Seed (00\d idea \d+[a-z]?)): .+)");
    int n_files = 0;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.path().extension() != ".json") continue;
        ++n_files;
        const std::string file = entry.path().filename().string();
        const SpecResult result =
            parse_spec(read_file(entry.path().string()), entry.path().stem().string());
        ASSERT_TRUE(result.spec) << file;
        std::smatch found;
        ASSERT_TRUE(std::regex_match(result.spec->hypothesis.because, found, reference)) << file;
        const std::string trial = found[2].matched ? found[2].str() : found[3].str();
        EXPECT_TRUE(!found[2].matched || trials.contains(trial)) << file << ": " << trial;
        EXPECT_NE(table.find("| " + trial + " | [" + entry.path().stem().string() + "]"),
                  std::string::npos)
            << file << " is not in the table of README.md";
        EXPECT_TRUE(result.spec->subject.model.starts_with("synth-full-glm-4.7-flash")) << file;
        ASSERT_NE(deciding_gate(*result.spec), nullptr) << file;
        for (const char* arm : {"A", "B"}) expect_known(result.spec->arms.at(arm), file);
    }
    EXPECT_GE(n_files, 25);
}

}  // namespace
}  // namespace steady
