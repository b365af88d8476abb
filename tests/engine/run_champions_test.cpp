// The defaults against what is registered: a misspelt or deleted name would be passed over in
// silence when a plan is resolved.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <sstream>

#include "engine/exec/alternatives.h"
#include "engine/exec/champions.h"
#include "engine/exec/champions_code.h"
#include "engine/exec/code.h"
#include "engine/verbs/verbs.h"
#include "kernels/registry/registry.h"

namespace steady {
namespace {

template <class Named>
bool has_name(const Named& named, std::string_view name) {
    return std::any_of(named.begin(), named.end(), [&](const auto& one) {
        if constexpr (requires { one->name; }) {
            return one->name == name;
        } else {
            return one.name == name;
        }
    });
}

TEST(Champions, EachNameIsRegisteredOnce) {
    ASSERT_FALSE(champions().empty());
    for (const Champion& one : champions()) {
        const bool left_out =
            one.variant.rfind("cuda_", 0) == 0 && !has_name(variants_of("products"), "cuda_floats");
        if (left_out) continue;  // built without CUDA
        const bool exists = one.op == "moe"     ? has_name(moe_alternatives(), one.variant)
                            : one.op == "mla"   ? has_name(mla_alternatives(), one.variant)
                            : one.op == "block" ? has_name(block_alternatives(), one.variant)
                            : one.op == "norm"  ? has_name(norm_alternatives(), one.variant)
                                                : has_name(variants_of(one.op), one.variant);
        EXPECT_TRUE(exists) << one.op << " has no " << one.variant;
        const auto same =
            std::count_if(champions().begin(), champions().end(), [&](const Champion& c) {
                return c.op == one.op && c.variant == one.variant && c.decided_on == one.decided_on;
            });
        EXPECT_EQ(same, 1) << one.op << ' ' << one.variant;
    }
}

// The record's content behind a line of a default, of an experiment that was accepted on the full
// geometry; and its specification.
void read_accepted(const Champion& one, nlohmann::json& content, nlohmann::json& spec) {
    const std::string root = STEADY_SOURCE_DIR;
    const std::string entry(one.journal);
    EXPECT_TRUE(std::filesystem::exists(root + "/journal/" + entry + ".md")) << entry;
    const std::string id = entry.substr(std::string("2026-11-21-").size());
    std::ifstream in(root + "/experiments/records/" + id + ".steady.json");
    const auto record = nlohmann::json::parse(in, nullptr, false);
    ASSERT_FALSE(record.is_discarded()) << id;
    content = record["experiments"][0]["content"];
    EXPECT_EQ(content["verdict"][0]["outcome"], "accept") << id;
    spec = nlohmann::json::parse(content["experiment"]["spec_text"].get<std::string>(), nullptr,
                                 true, true);
    EXPECT_EQ(spec["subject"]["model"], "synth-full-glm-4.7-flash-s1.gguf") << id;
}

// A default rests on such an experiment, with this choice in its candidate.
TEST(Champions, EachEntryAcceptedWhatItIsCitedFor) {
    int cited = 0;
    for (const Champion& one : champions()) {
        if (one.journal.empty()) continue;
        ++cited;
        nlohmann::json content, spec;
        ASSERT_NO_FATAL_FAILURE(read_accepted(one, content, spec));
        std::string ran;
        for (const auto& evidence : content["evidence"]) {
            if (evidence["kind"] != "applied") continue;
            const auto body = nlohmann::json::parse(evidence["body"].get<std::string>());
            const auto& b = body["arms"]["B"];
            const std::string op(one.op);
            ran = b["steps"].contains(op) ? b["steps"][op] : b["kernels"][op]["variant"];
        }
        EXPECT_EQ(ran, one.variant) << one.journal;
    }
    EXPECT_GT(cited, 0);
}

// A flag's default as well.
TEST(Champions, EachFlagsEntryAcceptedWhatItIsCitedFor) {
    ASSERT_FALSE(flag_champions().empty());
    for (const Champion& one : flag_champions()) {
        nlohmann::json content, spec;
        ASSERT_NO_FATAL_FAILURE(read_accepted(one, content, spec));
        EXPECT_EQ(spec["arms"]["B"]["engine_flags"][std::string(one.op)], one.variant)
            << one.journal;
    }
}

// What a verdict measured must be what runs today, or be declared open. When this fails, the code
// of a default was changed: ask its question again and write the new hash, or declare it open.
TEST(Champions, TheCodeIsAsMeasuredOrDeclaredOpen) {
    for (const Champion& one : champions()) {
        if (one.journal.empty()) continue;
        const MeasuredCode* row = measured_code_of(one);
        ASSERT_NE(row, nullptr) << one.op << ' ' << one.variant
                                << ": add its line to engine/exec/champions_code.cpp";
        const Evidence evidence = evidence_of(one);
        EXPECT_EQ(evidence != Evidence::current, row->open)
            << one.op << ' ' << one.variant << ": " << words_of(evidence) << "; measured "
            << row->hash << ", now " << code_of(one.op, one.variant);
    }
    for (const MeasuredCode& row : measured_code()) {
        const bool cited =
            std::any_of(champions().begin(), champions().end(), [&](const Champion& one) {
                return measured_code_of(one) == &row && !one.journal.empty();
            });
        EXPECT_TRUE(cited) << row.op << ' ' << row.variant << " is measured, but no default";
    }
}

// Records that hold the code that ran are the evidence for the hash of their default; older ones
// hold their revision alone.
TEST(Champions, TheHashIsTheRecords) {
    for (const Champion& one : champions()) {
        if (one.journal.empty()) continue;
        const std::string id(one.journal.substr(std::string("2026-11-21-").size()));
        std::ifstream in(std::string(STEADY_SOURCE_DIR) + "/experiments/records/" + id +
                         ".steady.json");
        const auto record = nlohmann::json::parse(in, nullptr, false);
        ASSERT_FALSE(record.is_discarded()) << id;
        const auto& content = record["experiments"][0]["content"];
        const auto print =
            nlohmann::json::parse(content["attempts"].back()["fingerprint"].get<std::string>());
        const MeasuredCode* row = measured_code_of(one);
        ASSERT_NE(row, nullptr);
        const bool dirty = print["steady_revision"].get<std::string>().ends_with("-dirty");
        EXPECT_EQ(dirty, row->hash.empty()) << one.op << ' ' << one.variant;
        for (const auto& evidence : content["evidence"]) {
            if (evidence["kind"] != "applied") continue;
            const auto body = nlohmann::json::parse(evidence["body"].get<std::string>());
            const auto& b = body["arms"]["B"];
            if (!b.contains("code")) continue;
            const std::string op(one.op);
            const auto ran = b["steps"].contains(op) ? b["code"][op] : b["kernels"][op]["code"];
            EXPECT_EQ(ran, row->hash) << id;
        }
    }
}

TEST(Champions, TheTableOfEvidenceIsWritten) {
    std::ifstream in(std::string(STEADY_SOURCE_DIR) + "/engine/DEFAULTS.md");
    std::stringstream page;
    page << in.rdbuf();
    EXPECT_NE(page.str().find(defaults_text("")), std::string::npos)
        << "write it anew: steady-engine defaults";
}

TEST(Champions, EachVariantHasAHashOfItsCode) {
    EXPECT_EQ(code_of("q4_0_matvec", "reference").size(), 16u);
    EXPECT_NE(code_of("q4_0_matvec", "reference"), code_of("q4_0_matvec", "avx2"));
    EXPECT_EQ(code_of("mla", "spans_i8x2"), code_of("mla", "spans"));
    EXPECT_EQ(code_of("mla", "absorbed_i16"), code_of("mla", "absorbed"));
    EXPECT_NE(code_of("mla", "spans"), code_of("mla", "absorbed"));
    EXPECT_EQ(code_of("q4_0_matvec", "no_such"), "");
    EXPECT_EQ(code_of("exec", "threads").size(), 16u);
}

TEST(Champions, AVerdictIsOfItsClass) {
    const Champion one{"op", "variant", "entry", "amd-26-avx512_vnni"};
    EXPECT_TRUE(decided_on_class(one, "amd-26-avx512_vnni"));
    EXPECT_FALSE(decided_on_class(one, "amd-25-avx512_vnni"));
    EXPECT_FALSE(decided_on_class(one, "amd-26-avx2"));
    const Champion any_family{"op", "variant", "entry", "intel-avx512_vnni"};
    EXPECT_TRUE(decided_on_class(any_family, "intel-6-avx512_vnni"));
    EXPECT_FALSE(decided_on_class(any_family, "intel-6-amx"));
}

TEST(Champions, EachEntryHasTheClassThatDecided) {
    for (const Champion& one : champions()) {
        EXPECT_EQ(one.journal.empty(), one.decided_on.empty()) << one.op << ' ' << one.variant;
    }
}

// What ran on a GPU is a default of that GPU, whatever CPU stood beside it.
TEST(Champions, AGpusVerdictIsOfThatGpu) {
    int of_gpus = 0;
    for (const std::span<const Champion> all : {champions(), flag_champions()}) {
        for (const Champion& one : all) {
            if (one.journal.empty()) continue;
            std::ifstream in(STEADY_SOURCE_DIR "/journal/" + std::string(one.journal) + ".md");
            std::string gpu;
            for (std::string line; gpu.empty() && std::getline(in, line);) {
                if (line.starts_with("gpu: ")) gpu = line.substr(5);
            }
            EXPECT_EQ(is_gpu(one.decided_on), !gpu.empty()) << one.journal;
            if (gpu.empty()) continue;
            EXPECT_EQ(gpu, '"' + std::string(one.decided_on) + '"') << one.journal;
            ++of_gpus;
        }
    }
    EXPECT_GT(of_gpus, 0);
}

// What a token of the full geometry runs here comes first for its op and is decided. The others are
// for lesser CPUs, other files and prompts, which no experiment on that geometry can reach.
TEST(Champions, WhatATokenRunsIsDecided) {
    const std::set<std::string_view> undecided = {
        "block",        "products",       "token_row",   "mla_decode",
        "moe_decode",   "products_batch", "mla_batch",   "moe_batch",
        "greedy_token", "norm",           "q8_0_matvec", "q8_0_matmul",
        "other_matvec", "quantize_q16",   "rms_norm_q8", "mla_attention_q8"};
    std::set<std::string_view> seen;
    for (const Champion& one : champions()) {
        if (!seen.insert(one.op).second) continue;
        EXPECT_EQ(one.journal.empty(), undecided.contains(one.op)) << one.op;
    }
}

}  // namespace
}  // namespace steady
