// Every malformed file of tests/data/specs/bad, with the place and the words of its error. The
// lines and columns were counted from the files' text, not copied from the decoder.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "runner/spec/spec.h"
#include "tests/runner/spec_files.h"

namespace steady {
namespace {

struct BadFile {
    const char* file;
    const char* pointer;
    int line, column;
    const char* found;    // is part of the message
    const char* allowed;  // is part of the message
    const char* hint;     // is part of the message; empty: not looked at
};

// clang-format off
const BadFile kBadFiles[] = {
    {"empty", "", 1, 1, "the end of the file", "a value", ""},
    {"only-comment", "", 2, 1, "the end of the file", "a value", ""},
    {"not-utf8", "", 4, 14, "the byte 0xe9", "UTF-8", ""},
    {"too-deep", "", 1, 161, "\"{\"", "at most 32 levels", ""},
    {"too-large", "", 1, 1, "bytes", "at most 262144 bytes", ""},
    {"list-at-top", "", 1, 1, "a list of 2", "an object with the keys $schema, id", ""},
    {"two-documents", "", 1, 4, "\"{\"", "the end of the file", ""},
    {"cut-off", "", 31, 3, "the end of the file", "a key in double quotes", "inside the document"},
    {"trailing-comma", "", 14, 3, "\"}\"", "a key in double quotes", "one too many"},
    {"missing-comma", "", 5, 3, "a quote", "\",\" or \"}\"", ""},
    {"single-quotes", "", 4, 12, "\"'\"", "a value", "double quotes"},
    {"open-comment", "", 11, 50, "never closed", "*/", ""},
    {"open-string", "", 4, 12, "never closed", "same line", ""},
    {"bad-escape", "", 4, 15, "\"i\"", "after a backslash", ""},
    {"lone-surrogate", "", 4, 19, "a quote", "a character", "second half"},
    {"leading-zero", "", 32, 30, "\"7\"", "without leading zeros", ""},
    {"nan", "", 32, 29, "\"N\"", "a value", ""},
    {"duplicate-key", "/owner", 5, 3, "a second \"owner\"", "each key once", ""},
    {"duplicate-op", "/arms/A/kernels/q4_0_experts", 16, 56, "a second", "each key once", ""},
    {"unknown-key", "/retry", 37, 3, "the unknown key \"retry\"", "retry_if", "did you mean \"retry_if\"?"},
    {"unknown-key-far", "/zzz", 37, 3, "the unknown key \"zzz\"", "$schema, id, owner", ""},
    {"missing-owner", "", 1, 1, "no key \"owner\"", "\"owner\" is required", ""},
    {"id-other-stem", "/id", 3, 9, "\"experts-fused\"", "file's name", ""},
    {"id-upper-case", "/id", 3, 9, "\"Experts\"", "3 to 64 of a-z 0-9 -", ""},
    {"owner-empty", "/owner", 4, 12, "(0 characters)", "1 to 64 characters", ""},
    {"owner-number", "/owner", 4, 12, "12", "text of 1 to 64", ""},
    {"retry-if-list", "/retry_if", 37, 15, "a list of 1", "text of 3 to 500", ""},
    {"claim-short", "/hypothesis/claim", 6, 14, "(6 characters)", "10 to 500", ""},
    {"no-because", "/hypothesis", 5, 17, "no key \"because\"", "\"because\" is required", ""},
    {"no-predict", "/hypothesis", 5, 17, "no key \"predict\"", "when a gate decides on a gain", ""},
    {"predict-other-metric", "/hypothesis/predict/metric", 8, 28, "\"ttft_ns\"", "\"decode_tps\"", ""},
    {"predict-reversed", "/hypothesis/predict/change", 8, 52, "low above high", "low <= high", ""},
    {"predict-one-value", "/hypothesis/predict/change", 8, 52, "a list of 1", "exactly 2", ""},
    {"predict-no-cell", "/hypothesis/predict", 8, 16, "no matrix cell", "\"at\": {\"ctx\": \"512\"}", ""},
    {"percent-number", "/hypothesis/predict/change/0", 8, 53, "2", "a percentage as text", "\"2%\""},
    {"percent-no-sign", "/gates/3/worth", 26, 32, "\"1\"", "\"0.1%\" to \"50%\"", "% sign"},
    {"program-unknown", "/subject/program", 11, 16, "\"steady\"", "steady-engine, outside", ""},
    {"model-path", "/subject/model", 12, 14, "\"../models/glm.gguf\"", "no ..", ""},
    {"model-absolute", "/subject/model", 12, 14, "\"/models/glm.gguf\"", "no leading /", ""},
    {"no-model", "/subject", 10, 14, "no key \"model\"", "is required for steady-engine", ""},
    {"no-workload", "/subject", 10, 14, "no key \"workload\"", "experiments/workloads", ""},
    {"threads-zero", "/subject/threads", 13, 41, "0", "1 to 1024", ""},
    {"threads-fraction", "/subject/threads", 13, 41, "1.5", "a whole number", ""},
    {"engine-with-build", "/subject/build", 13, 53, "\"build\"", "this tree's release build", ""},
    {"outside-no-repo", "/subject", 10, 14, "no key \"repo\"", "for an outside program", ""},
    {"build-shell-text", "/subject/build", 12, 14, "\"make -j2\"", "a list of 1 to 20", ""},
    {"build-placeholder", "/subject/build/0/2", 12, 31, "{scr}", "{src}, {model}, {jobs}, {ctx}", "did you mean {src}?"},
    {"no-arm-b", "/arms", 15, 11, "no key \"B\"", "\"B\" is required", ""},
    {"arm-c", "/arms/C0", 18, 5, "unknown key \"C0\"", "A, B, B0", "did you mean \"B0\"?"},
    {"kernel-name", "/arms/B/kernels/q4_0_experts", 17, 41, "\"AVX512\"", "lower-case letters", ""},
    {"kernel-op-name", "/arms/B/kernels/Q4-experts", 17, 25, "the key \"Q4-experts\"", "an op's name", ""},
    {"engine-with-rev", "/arms/A/rev", 16, 19, "\"rev\"", "kernels, steps", "process_pairs"},
    {"outside-with-kernels", "/arms/A/kernels", 16, 40, "\"kernels\"", "rev, run, args, env", ""},
    {"outside-no-rev", "/arms/A", 16, 11, "no key \"rev\"", "the revision to build", ""},
    {"rev-is-option", "/arms/A/rev", 16, 20, "\"--exec=x\"", "a revision, tag or branch", ""},
    {"env-preload", "/arms/A/env/LD_PRELOAD", 16, 52, "\"LD_PRELOAD\"", "do not change which code is loaded", ""},
    {"b0-no-role", "/arms/B0", 18, 11, "no key \"role\"", "layout_control", ""},
    {"role-in-b", "/arms/A/role", 16, 37, "\"role\"", "only B0", ""},
    {"duet-two-builds", "/schedule/mode", 31, 25, "\"duet\" with two builds", "process_pairs", ""},
    {"diff-typo", "/expect_diff/0", 19, 19, "\"kernels.q4_0_expert\"", "\"kernels.q4_0_experts\"", "did you mean \"kernels.q4_0_experts\"?"},
    {"diff-missing", "/expect_diff", 19, 18, "no \"kernels.q4_0_experts\"", "exactly what differs", ""},
    {"diff-of-equal-arms", "/expect_diff/0", 12, 19, "\"threads\"", "A/A", ""},
    {"diff-undeclared-threads", "/expect_diff", 19, 18, "no \"threads\"", "\"threads\"", ""},
    {"applied-unknown-rule", "/applied/B/log_contains", 21, 23, "unknown key", "log_has, log_lacks, file_has, counter_at_least", ""},
    {"applied-for-engine", "/applied", 37, 14, "\"applied\"", "proves its plan itself", ""},
    {"matrix-too-many", "/matrix/ctx", 22, 22, "a list of 17", "a list of 1 to 16", ""},
    {"matrix-unused-axis", "/matrix/batch", 22, 44, "no gate", "{batch}", ""},
    {"at-unknown-value", "/gates/2/at/ctx", 28, 95, "\"4096\"", "512, 8192", ""},
    {"at-missing", "/gates/2", 28, 5, "no key \"at\"", "more than one cell", ""},
    {"no-gates", "/gates", 20, 12, "an empty list", "a list of 1 to 32", ""},
    {"no-correctness", "/gates", 13, 12, "no gate of level correctness", "at least one", ""},
    {"ladder-order", "/gates/2/level", 24, 32, "\"correctness\" after micro", "in the order", ""},
    {"gate-id-twice", "/gates/4/id", 27, 13, "\"decode\"", "no other gate", ""},
    {"level-typo", "/gates/2/level", 24, 32, "\"blok\"", "correctness, micro, block, model", "did you mean \"block\"?"},
    {"role-typo", "/gates/3/role", 25, 49, "\"decide\"", "advice, guard, decides", "did you mean \"decides\"?"},
    {"decides-at-micro", "/gates/1/role", 23, 49, "\"decides\" at level micro", "advice, guard", ""},
    {"decides-twice", "/gates/4/role", 27, 49, "a second \"decides\"", "one gate", ""},
    {"metric-other-level", "/gates/2/metric", 24, 70, "\"op_ns\"", "block_ns, ffn_ns at level block", "another level"},
    {"metric-typo", "/gates/4/metric", 27, 68, "\"token_ns_90\"", "token_ns_p90", "did you mean \"token_ns_p90\"?"},
    {"op-not-in-arms", "/gates/1/op", 23, 85, "\"rms_norm\"", "q4_0_experts", "equal in both arms"},
    {"micro-two-devices", "/gates/1/level", 23, 32, "\"micro\" with arm A on cpu and arm B on cuda", "on one device", "block and model"},
    {"need-direction", "/gates/0/need/kl", 22, 48, "\">=1e-4\"", "\"<=\"", ""},
    {"need-syntax", "/gates/0/need/kl", 22, 48, "\"< 1e-4\"", "<= or >= and a number", ""},
    {"need-unknown", "/gates/0/need/perplexity", 22, 42, "unknown key", "top1_agree, kl, kl_max", ""},
    {"worth-on-guard", "/gates/2/worth", 24, 91, "\"worth\"", "margin", "no effect"},
    {"worth-too-small", "/gates/3/worth", 26, 32, "\"0.01%\"", "\"0.1%\" to \"50%\"", ""},
    {"alpha-too-large", "/gates/3/alpha", 26, 62, "0.1", "0.0001 to 0.05", ""},
    {"beta-text", "/gates/3/beta", 26, 76, "\"0.05\"", "0.001 to 0.2", "without quotes"},
    {"worth-with-equivalent", "/gates/2/worth", 17, 115, "\"worth\"", "margin", ""},
    {"adapter-unknown", "/gates/1/adapter", 27, 18, "\"lama-bench\"", "llama-bench, google-benchmark, hyperfine", "did you mean \"llama-bench\"?"},
    {"pairs-too-few", "/schedule/pairs/max", 32, 50, "7", "10 to 1000", ""},
    {"pairs-number", "/schedule/pairs", 32, 41, "50", "keys max", ""},
    {"seed-overflow", "/schedule/seed", 32, 29, "18446744073709551616", "18446744073709551615", ""},
    {"seed-negative", "/schedule/seed", 32, 29, "-7", "a whole number from 0", ""},
    {"tokens-not-chunked", "/schedule/tokens", 33, 48, "66", "a multiple of chunk", ""},
    {"environment-looser", "/environment/max_discarded", 36, 57, "\"60%\"", "\"0%\" to \"30%\"", ""},
    {"outside-no-command", "/arms/A", 12, 10, "no key \"run\"", "in each arm, or in each gate", ""},
    {"outside-no-name", "/subject", 10, 14, "no key \"name\"", "without a repo", ""},
    {"outside-src-without-repo", "/arms/B/run/0", 13, 20, "{src} without a repo", "subject.repo", ""},
    {"direction-missing", "/gates/3", 24, 5, "no key \"direction\"", "lower or higher", "frobs"},
    {"regex-no-pattern", "/gates/3", 24, 5, "no key \"pattern\"", "the adapter regex", "(?<value>"},
    {"stdout-rule", "/gates/0/need/stdout", 20, 38, "\"same\"", "\"equal\", \"sha256:\"", ""},
    {"stdout-bad-expression", "/gates/0/need/stdout", 20, 38, "(unclosed", "a regular expression", "parenthesis"},
    {"tokens-of-a-command", "/schedule/tokens", 27, 52, "\"tokens\"", "warmup_runs, inner, timeout_s", "no effect"},
    {"counter-no-number", "/applied/A/counter_at_least", 16, 43, "\"lines\"", "name=number", ""},
    {"lockstep-adapter", "/gates/3/adapter", 25, 18, "\"go\" in lockstep", "process (wall_seconds of a turn) or lines", "lockstep/README.md"},
    {"lockstep-metric", "/gates/3/metric", 24, 96, "\"frobs\" in lockstep", "\"adapter\": \"lines\"", ""},
    {"lockstep-engine", "/schedule/mode", 32, 13, "\"lockstep\" with steady-engine", "duet, process_pairs", "one process"},
    {"profile-lockstep", "/schedule/profile", 26, 120, "a profile in lockstep", "process_pairs", "waits in between"},
    {"profile-typo", "/schedule/profile", 26, 100, "\"frame_pointer\"", "frame_pointers, dwarf", "did you mean \"frame_pointers\"?"},
    {"sweep-axis", "/sweep/axes/model.size", 17, 24, "the key \"model.size\"", "args.<name>, env.<NAME>", ""},
};
// clang-format on

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

class SpecBadFiles : public testing::TestWithParam<BadFile> {};

TEST_P(SpecBadFiles, SaysWhereWhatAndWhatIsAllowed) {
    const BadFile& bad = GetParam();
    const std::string stem = std::string(bad.file) == "id-other-stem" ? bad.file : "";
    const SpecResult result =
        parse_spec(read_data(std::string("specs/bad/") + bad.file + ".json"), stem);
    EXPECT_FALSE(result.spec);
    ASSERT_FALSE(result.errors.empty());
    std::string all;
    for (const SpecError& error : result.errors) {
        all += describe(error, bad.file) + "\n";
        if (error.pointer == bad.pointer && error.line == bad.line && error.column == bad.column &&
            contains(error.found, bad.found) && contains(error.allowed, bad.allowed) &&
            contains(error.hint, bad.hint)) {
            return;
        }
    }
    ADD_FAILURE() << "expected " << bad.line << ":" << bad.column << " " << bad.pointer
                  << " found …" << bad.found << "… allowed …" << bad.allowed << "… hint …"
                  << bad.hint << "…\n"
                  << all;
}

INSTANTIATE_TEST_SUITE_P(All, SpecBadFiles, testing::ValuesIn(kBadFiles), [](const auto& one) {
    std::string name = one.param.file;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
});

TEST(SpecBadFilesFolder, TableAndFolderAgree) {
    std::set<std::string> in_table;
    for (const BadFile& bad : kBadFiles) {
        EXPECT_TRUE(in_table.insert(std::string(bad.file) + ".json").second) << bad.file;
    }
    std::set<std::string> in_folder;
    for (const auto& path : data_files("specs/bad")) {
        in_folder.insert(path.filename().string());
    }
    EXPECT_EQ(in_table, in_folder);
    EXPECT_GE(in_table.size(), 60U);
}

// One slip must not bury its author in consequences.
TEST(SpecBadFilesFolder, FewFollowUpErrors) {
    std::map<std::string, std::size_t> chatty;
    for (const BadFile& bad : kBadFiles) {
        const std::size_t n =
            parse_spec(read_data(std::string("specs/bad/") + bad.file + ".json"), "").errors.size();
        if (n > 2) {
            chatty[bad.file] = n;
        }
    }
    EXPECT_LE(chatty.size(), 6U) << testing::PrintToString(chatty);
}

}  // namespace
}  // namespace steady
