// steady-kernels as a program: exit codes, one JSON document, helpful complaints, and the refusal
// to time what fails its check. Runs the tool's body in this process, linked with broken variants.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kernels/registry/cpu.h"
#include "tests/support/ran_tool.h"

namespace steady::tool {
namespace {

TEST(Tool, ComplaintsNameTheChoicesAndExitWithTwo) {
    const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
        {{}, "verb"},
        {{"benhc"}, "did you mean 'bench'"},
        {{"check", "--opp", "add"}, "did you mean '--op'"},
        {{"check", "--op", "q4_0_matvce"}, "did you mean 'q4_0_matvec'"},
        {{"check", "--op", "add", "--variant", "referenc"}, "did you mean 'reference'"},
        {{"check", "--op", "add", "--shape", "m=3"}, "names n"},
        {{"check", "--shape", "n=3"}, "needs --op"},
        {{"check", "--seed", "x"}, "number"},
        {{"check", "--without", "avx513"}, "avx512"},
        {{"check", "--cpu", "avx9"}, "x86-64-v2"},
        {{"bench", "--cut", "dynamic:0"}, "dynamic:N"},
        {{"disasm"}, "OP/VARIANT"},
        {{"disasm", "add/referenc"}, "did you mean 'reference'"},
        {{"disasm", "add"}, "OP/VARIANT"},
        {{"list", "add/reference"}, "unexpected"},
        {{"ladder", "--out", "/nowhere/at/all"}, "not a folder"},
        {{"duet", "--op", "add"}, "--coins"},
        {{"duet", "--op", "add", "--a", "reference", "--b", "reference", "--shape", "n=64",
          "--coins", "012"},
         "only 0"},
    };
    for (const auto& [arguments, expected] : cases) {
        const Ran ran = run(arguments);
        EXPECT_EQ(ran.code, 2) << expected;
        EXPECT_NE(ran.err.find(expected), std::string::npos) << ran.err;
        EXPECT_EQ(ran.out, "");
    }
}

TEST(Tool, ListsEveryOp) {
    const Ran ran = run({"list", "--json"});
    EXPECT_EQ(ran.code, 0);
    const auto document = nlohmann::json::parse(ran.out);
    EXPECT_GE(document["ops"].size(), 15U);
}

TEST(Tool, ACheckThatFailsExitsWithOne) {
    const Ran good = run({"check", "--op", "add", "--json"});
    EXPECT_EQ(good.code, 0);
    EXPECT_EQ(nlohmann::json::parse(good.out)["failed"], 0);
    const Ran bad = run({"check", "--op", "q4_0_matvec", "--variant", "broken_lost_row", "--shape",
                         "rows=64,cols=64", "--json"});
    EXPECT_EQ(bad.code, 1);
    EXPECT_EQ(nlohmann::json::parse(bad.out)["failed"], 1);
}

TEST(Tool, BenchRefusesToTimeWhatFails) {
    const Ran ran =
        run({"bench", "--op", "q4_0_matvec", "--variant", "broken_ulp", "--shape",
             "rows=64,cols=64", "--warm", "--repetitions", "2", "--seconds", "0.001", "--json"});
    EXPECT_EQ(ran.code, 1);
    const auto results = nlohmann::json::parse(ran.out)["results"];
    ASSERT_EQ(results.size(), 2U);
    EXPECT_GT(results[0]["latency_ns_median"], 0);  // the reference, for the ratio
    EXPECT_NE(results[1]["refused"].get<std::string>().find("bound"), std::string::npos);
    EXPECT_FALSE(results[1].contains("latency_ns_median"));
}

TEST(Tool, DuetGivesEachCallOfBothSidesWarmUpIncluded) {
    const Ran ran =
        run({"duet", "--op", "rms_norm", "--a", "reference", "--b", "reference", "--shape", "n=512",
             "--coins", "0110", "--chunk", "3", "--warmup", "3", "--json"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    const auto document = nlohmann::json::parse(ran.out);
    EXPECT_EQ(document["a_ns"].size(), 12U);
    EXPECT_EQ(document["b_ns"].size(), 12U);
    EXPECT_EQ(document["warmup"], 3);
    EXPECT_EQ(document["shape"], "n=512");
    EXPECT_GT(document["bytes"], 0);
}

// Few calls read few copies: no more are made, of one layout for both sides or of two.
TEST(Tool, DuetMakesACopyOfTheWeightsForEachCall) {
    const auto copies = [](const char* b) {
        const Ran ran =
            run({"duet", "--op", "q4_0_matvec", "--a", "avx2", "--b", b, "--shape",
                 "rows=64,cols=64", "--coins", "01", "--warmup", "3", "--chunk", "3", "--json"});
        EXPECT_EQ(ran.code, 0) << ran.err;
        return nlohmann::json::parse(ran.out).at("cold_copies").get<int>();
    };
    if (!cpu::has(cpu::avx2)) GTEST_SKIP() << "needs AVX2";
    EXPECT_EQ(copies("avx2"), 12);
    EXPECT_EQ(copies("avx2_rows8"), 6);
}

TEST(Tool, DuetRefusesWhatFailsItsCheck) {
    const Ran ran = run({"duet", "--op", "q4_0_matvec", "--a", "reference", "--b",
                         "broken_lost_row", "--shape", "rows=64,cols=64", "--coins", "0101"});
    EXPECT_EQ(ran.code, 1);
    EXPECT_NE(ran.err.find("fails its check"), std::string::npos) << ran.err;
}

TEST(Tool, AForcedVariantThatCannotRunIsAnError) {
    const Ran ran =
        run({"duet", "--op", "q4_0_matvec", "--a", "reference", "--b", "avx512_vnni_rows16",
             "--shape", "rows=64,cols=64", "--coins", "0101", "--without", "avx512"});
    EXPECT_EQ(ran.code, 2);
    EXPECT_NE(ran.err.find("this CPU lacks"), std::string::npos) << ran.err;
}

TEST(Tool, BenchSaysWhereARowStandsUnderTheMemoryRoof) {
    const Ran ran =
        run({"bench", "--op", "q4_0_matvec", "--variant", "portable_hoisted_scale", "--shape",
             "rows=64,cols=64", "--warm", "--repetitions", "2", "--seconds", "0.001", "--json"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    const auto document = nlohmann::json::parse(ran.out);
    const auto row = document["results"][1];
    const auto& roof = row["roofline"];
    const double intensity = roof["flop_per_byte"];
    EXPECT_DOUBLE_EQ(intensity, 2.0 * 64 * 64 / row["bytes"].get<double>());
    EXPECT_DOUBLE_EQ(roof["memory_roof_gflop_per_s"].get<double>(),
                     intensity * document["read_gb_per_s"].get<double>());
    // The file's own layout moves the bytes that are counted, no more.
    EXPECT_DOUBLE_EQ(roof["moved_gb_per_s"].get<double>(), row["gb_per_s"].get<double>());
}

// A line per op for what the CPU lacks, and none per shape.
TEST(Tool, BenchTellsOnceWhatTheCpuLacks) {
    const Ran ran = run({"bench", "--op", "rms_norm", "--cpu", "x86-64-v2", "--repetitions", "2",
                         "--seconds", "0.001"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.err.find("not timed"), std::string::npos) << ran.err;
    const std::string told = "not timed, rms_norm: this CPU lacks avx2 fma f16c (avx2)";
    const std::size_t line = ran.out.find(told);
    ASSERT_NE(line, std::string::npos) << ran.out;
    EXPECT_EQ(ran.out.find(told, line + 1), std::string::npos) << ran.out;
    EXPECT_EQ(ran.out.find("rms_norm/avx2/"), std::string::npos) << ran.out;
}

// On any machine, whatever it has: a lesser CPU is never given what it lacks.
TEST(Tool, ALesserCpuSkipsVisiblyAndRunsTheRest) {
    for (const auto& [level, lacks] : std::vector<std::pair<std::string, std::string>>{
             {"x86-64-v2", "avx2"}, {"avx2", "avx512"}, {"avx512", "vnni"}}) {
        const Ran ran = run({"check", "--op", "q4_0_matvec", "--shape", "rows=64,cols=64", "--cpu",
                             level, "--json"});
        int passed = 0;
        int skipped = 0;
        const auto document = nlohmann::json::parse(ran.out);
        for (const auto& result : document["results"]) {
            const std::string variant = result["variant"];
            if (variant.rfind("broken", 0) == 0) continue;
            EXPECT_NE(result["outcome"], "failed") << level << ' ' << variant;
            (result["outcome"] == "passed" ? passed : skipped) += 1;
            if (variant.find(lacks) != std::string::npos) {
                EXPECT_EQ(result["outcome"], "skipped") << level << ' ' << variant;
            }
        }
        EXPECT_GE(passed, 4) << level;  // reference and the portable rungs
        EXPECT_GE(skipped, 4) << level;
    }
}

TEST(Tool, DisasmShowsTheCodeOfOneVariant) {
    const Ran ran = run({"disasm", "q4_0_matvec/portable_byte_loads", "--json"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    const auto functions = nlohmann::json::parse(ran.out)["functions"];
    ASSERT_GE(functions.size(), 1U);
    EXPECT_NE(functions[0]["name"].get<std::string>().find("add_scaled"), std::string::npos);
    EXPECT_GT(functions[0]["mix"]["all"], 10);
    EXPECT_GE(functions[0]["innermost_loops"].size(), 1U);
    const Ran text = run({"disasm", "q4_0_matvec/portable_byte_loads"});
    EXPECT_NE(text.out.find("innermost loop at"), std::string::npos);
}

TEST(Tool, LadderWritesItsSectionAndAFigure) {
    const std::filesystem::path folder =
        testing::TempDir() + "ladder-" + std::to_string(::getpid());
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "LADDER.md") << "# Before\n";
    const auto contents = [&](const std::string& name) {
        std::stringstream text;
        text << std::ifstream(folder / name).rdbuf();
        return text.str();
    };
    for (const char* shape : {"n=512", "n=768"}) {
        const Ran ran = run({"ladder", "--op", "rms_norm", "--shape", shape, "--out", folder,
                             "--repetitions", "2", "--seconds", "0.001"});
        EXPECT_EQ(ran.code, 0) << ran.err;
    }
    const std::string page = contents("LADDER.md");
    EXPECT_EQ(page.rfind("# Before\n", 0), 0U);
    EXPECT_NE(page.find("| [reference](rms_norm/reference.cpp) |"), std::string::npos);
    EXPECT_NE(page.find("rms_norm, n=768"), std::string::npos);
    EXPECT_EQ(page.find("rms_norm, n=512"), std::string::npos) << "the second run takes its place";
    const std::string figure = contents("ladder-" + cpu::level() + ".svg");
    EXPECT_EQ(figure.rfind("<svg", 0), 0U);
    EXPECT_NE(figure.find("reference</text><rect"), std::string::npos);
    std::filesystem::remove_all(folder);
}

TEST(Tool, ReadNamesTheFastestLoopAsTheLimit) {
    const Ran ran = run({"read", "--json"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    const auto document = nlohmann::json::parse(ran.out);
    const auto& loops = document.at("loops");
    ASSERT_GE(loops.size(), 2U);
    EXPECT_EQ(document.at("read_loop"), loops.at(0).at("loop"));
    EXPECT_EQ(document.at("read_gb_per_s"), loops.at(0).at("gb_per_s"));
    EXPECT_LE(document.at("read_gb_per_s_low"), document.at("read_gb_per_s"));
    for (const auto& loop : loops) EXPECT_GT(loop.at("gb_per_s"), 0) << loop;
}

// Counted while they run: the same each time, and as many dot products as the arithmetic needs.
TEST(Tool, BoundCountsTheInstructionsThatRan) {
    if (!cpu::has(cpu::avx512_vnni)) GTEST_SKIP() << "needs AVX-512 VNNI";
    const std::vector<std::string> words = {
        "bound",     "--warm", "--op",          "q4_0_matvec", "--variant", "avx512_vnni_rows16",
        "--seconds", "0.001",  "--repetitions", "1",           "--json"};
    const Ran ran = run(words);
    ASSERT_EQ(ran.code, 0) << ran.err;
    const auto row = nlohmann::json::parse(ran.out).at("variants").at(0);
    // 16 rows in a register of 16 sums, four bytes to a product: 8 of them for 32 weights of 16
    // rows.
    EXPECT_NEAR(row.at("kinds").at("dot").get<double>(), 8.0 / 16, 0.02) << row;
    EXPECT_NEAR(row.at("bytes_per_32_weights").get<double>(), 18, 0.01);
    EXPECT_GT(row.at("instructions_per_32_weights"), row.at("kinds").at("dot"));
    const auto again = nlohmann::json::parse(run(words).out).at("variants").at(0);
    EXPECT_EQ(again.at("instructions_per_32_weights"), row.at("instructions_per_32_weights"));
}

}  // namespace
}  // namespace steady::tool
