// Every adapter decides one question through the real `steady`: the program writes what the real
// tool wrote (tests/data/adapters), and in arm B the numbers of one benchmark are half as large.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>

#include "runner/adapters/adapter.h"
#include "runner/platform/files.h"
#include "tests/support/steady_cli.h"

namespace steady {
namespace {

namespace fs = std::filesystem;

// usage: TOOL GOLDEN [arguments that the adapter adds]. Writes the golden where the arguments or
// the environment ask for it, else to stdout.
const char kTool[] = R"(#!/bin/sh
golden= out= before=
for word in "$@"; do
    case $word in
    [ab]/*) golden=$word ;;
    --benchmark_out=*) out=${word#*=} ;;
    --benchmark-json=*) out=${word#*=} ;;
    esac
    case $before in --export-json) out=$word ;; esac
    if [ "$before" = -o ] && [ "$word" != jsonl ]; then out=$word; fi
    before=$word
done
if [ -d "$golden" ]; then
    [ -n "$CRITERION_HOME" ] || mkdir -p results
    exec cp -r "$golden/." "${CRITERION_HOME:-results}"
fi
if [ -n "$out" ]; then exec cp "$golden" "$out"; fi
exec cat "$golden"
)";

struct Question {
    const char *adapter, *golden, *metric, *select;
    // The numbers to change: those between each `before` and the next of the characters `until`.
    const char *before, *until;
    const char* tool = "tool";  // the program's name, where the adapter looks at it
};

const Question kQuestions[] = {
    {"asv", "asv", "time_seconds", "100", "e-", ""},
    {"criterion", "criterion", "time_ns", "sum 100", "\"times\":[", "]"},
    {"go", "go.txt", "ns_per_op", "BenchmarkAlloc-2", "\t     200\t", "n"},
    {"google-benchmark", "google-benchmark.json", "real_time_ns", "BM_sum/1024",
     "\"real_time\": ", ","},
    {"hyperfine", "hyperfine.json", "wall_seconds", "0.01", "\"times\": [", "]", "hyperfine"},
    {"lines", "lines.txt", "parse_ns", "small.json", "\"parse_ns\", \"value\": ", ","},
    {"llama-bench", "llama-bench.jsonl", "decode_tps", "n_gen=16;n_depth=256", "\"samples_ts\": [",
     "]"},
    {"perf", "perf.txt", "task_clock_seconds", "", "2026\n\n", ",", "perf"},
    {"pytest-benchmark", "pytest-benchmark.json", "time_seconds", "test_small", "\"data\": [", "]"},
    {"regex", "regex.txt", "throughput", "lz4", "throughput: ", "M"},
    {"steady-engine", "steady-engine-block.json", "block_ns", "", "\"token_ns\":[", "]"},
    {"steady-kernels", "steady-kernels-bench.json", "op_ns", "variant=reference; shape=n=512",
     "\"latency_ns_median\": ", ","},
};

bool of_a_number(char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.' || c == 'e' || c == '-' ||
           c == '+';
}

std::string halved(const std::string& text) {
    std::string out;
    for (std::size_t i = 0; i < text.size();) {
        if (std::isdigit(static_cast<unsigned char>(text[i])) == 0) {
            out += text[i++];
            continue;
        }
        std::size_t end = i;
        while (end < text.size() && of_a_number(text[end])) ++end;
        out += fmt::format("{}", std::stod(text.substr(i, end - i)) / 2);
        i = end;
    }
    return out;
}

// asv's times are the numbers with an exponent; its result says when it was measured.
std::string asv_result(const std::string& text, bool change) {
    std::string out;
    for (std::size_t i = 0; i < text.size();) {
        std::size_t end = i;
        while (end < text.size() && of_a_number(text[end])) ++end;
        std::string word = text.substr(i, std::max<std::size_t>(end - i, 1));
        if (change && word.find("e-") != word.npos && word.size() > 8) word = halved(word);
        if (word.starts_with("17954922") && word.size() == 13) word = "9" + word.substr(1);
        out += word;
        i += std::max<std::size_t>(end - i, 1);
    }
    return out;
}

std::string changed(const Question& asked, const std::string& text) {
    const std::string before = asked.before;
    std::string out;
    std::size_t at = 0;
    for (;;) {
        std::size_t found = text.find(before, at);
        if (found == text.npos) return out + text.substr(at);
        found += before.size();
        const std::size_t end = std::min(text.find_first_of(asked.until, found), text.size());
        out += text.substr(at, found - at) + halved(text.substr(found, end - found));
        at = end;
    }
}

void write_arm(const Question& asked, const fs::path& from, const fs::path& to, bool change) {
    fs::create_directories(to.parent_path());
    std::string text = read_file(from.string());
    if (std::string(asked.adapter) == "asv") {
        if (from.filename().string().starts_with("f7b15da0")) text = asv_result(text, change);
    } else if (change) {
        text = changed(asked, text);
    }
    std::ofstream(to) << text;
}

class OutsideAdapters : public ::testing::Test {
protected:
    SteadyCli cli;

    void prepare(const Question& asked) const {
        const fs::path golden = fs::path(STEADY_SOURCE_DIR) / "tests/data/adapters" / asked.golden;
        for (const char* arm : {"a", "b"}) {
            const fs::path to = cli.root() / arm / asked.golden;
            if (!fs::is_directory(golden)) {
                write_arm(asked, golden, to, *arm == 'b');
                continue;
            }
            for (const auto& entry : fs::recursive_directory_iterator(golden)) {
                if (entry.is_regular_file())
                    write_arm(asked, entry.path(), to / fs::relative(entry.path(), golden),
                              *arm == 'b');
            }
        }
        const fs::path tool = cli.root() / asked.tool;
        std::ofstream(tool) << kTool;
        fs::permissions(tool, fs::perms::owner_all);
    }

    CliResult ask(const Question& asked, const std::string& a, const std::string& b) const {
        const auto run = [&](const std::string& arm) {
            std::vector<std::string> words = {std::string("./") + asked.tool};
            if (words[0] == "./perf") words.insert(words.end(), {"stat", "--"});
            words.push_back(arm + "/" + asked.golden);
            return nlohmann::json{{"run", words}};
        };
        nlohmann::json gate = {
            {"id", "speed"}, {"level", "model"},         {"role", "decides"},
            {"worth", "5%"}, {"adapter", asked.adapter}, {"metric", asked.metric}};
        if (*asked.select != '\0') gate["select"] = asked.select;
        const std::string name = asked.adapter;
        if (name == "regex") {
            gate["direction"] = "higher";
            gate["pattern"] =
                "throughput: (?<value>[0-9.]+) (?<unit>[A-Za-z/]+) with (?<codec>[a-z0-9]+)";
        }
        const nlohmann::json same = {
            {"id", "ends"}, {"level", "correctness"}, {"role", "guard"}, {"need", {{"exit", 0}}}};
        return cli.run(
            {"run",
             cli.experiment(
                 "adapter-" + name + "-" + a + b,
                 {{"owner", "tests"},
                  {"hypothesis",
                   {{"claim", "B takes half of A"}, {"because", "the numbers are planted"}}},
                  {"subject", {{"program", "outside"}, {"name", name}}},
                  {"arms", {{"A", run(a)}, {"B", run(b)}}},
                  {"expect_diff", {"run"}},
                  {"gates", {same, gate}},
                  {"schedule", {{"pairs", {{"max", 20}}}, {"aa_pairs", 2}, {"warmup_runs", 0}}}}),
             "--json"});
    }
};

TEST_F(OutsideAdapters, EveryAdapterDecidesOneQuestion) {
    for (const Question& asked : kQuestions) {
        prepare(asked);
        const CliResult done = ask(asked, "a", "b");
        const std::string metric = asked.metric;
        const bool better_when_lower =
            metric.ends_with("_ns") || metric.ends_with("seconds") || metric.ends_with("_op");
        const nlohmann::json shown = done.json();
        ASSERT_TRUE(shown.is_object()) << asked.adapter << done.out << done.err;
        EXPECT_EQ(shown.at("verdict"), better_when_lower ? "accept" : "reject")
            << asked.adapter << ": " << shown.at("sentence");
        ASSERT_TRUE(shown.at("effect").is_number()) << asked.adapter << shown.at("sentence");
        EXPECT_NEAR(shown.at("effect").get<double>(), better_when_lower ? 1 : -0.5, 0.01)
            << asked.adapter;
    }
}

TEST_F(OutsideAdapters, TheListHasAll) {
    std::set<std::string> asked = {"process"};  // tests of Outside
    for (const Question& question : kQuestions) asked.insert(question.adapter);
    for (const Adapter& adapter : adapters())
        EXPECT_TRUE(asked.contains(adapter.name)) << adapter.name;
}

}  // namespace
}  // namespace steady
