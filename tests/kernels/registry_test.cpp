// The registry against the folders: every variant file registers exactly itself. Besides, names,
// shapes and CPU features as the engine and the tool meet them.
#include "kernels/registry/registry.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "kernels/cases/op_info.h"
#include "kernels/products/op.h"
#include "kernels/q4_0_matvec/op.h"

namespace steady {
namespace {

namespace fs = std::filesystem;

using Names = std::map<std::string, std::set<std::string>>;  // op → variants

bool built_for_gpus() { return find_variant<Products>("cuda_floats").variant != nullptr; }

Names variant_files() {
    Names files;
    for (const auto& folder : fs::directory_iterator(fs::path(STEADY_SOURCE_DIR) / "kernels")) {
        const std::string op = folder.path().filename();
        if (!fs::exists(folder.path() / "op.cpp"))
            continue;  // what all ops share: formats, cases, …
        for (const auto& file : fs::directory_iterator(folder)) {
            const std::string stem = file.path().stem();
            if (file.path().extension() == ".cpp" && stem != "op") files[op].insert(stem);
            // What several GPU variants share is in kernel.cu.
            const bool for_gpu = file.path().extension() == ".cu" && stem.rfind("kernel", 0) != 0;
            if (for_gpu && built_for_gpus()) files[op].insert(stem);
        }
    }
    return files;
}

Names registered() {
    Names names;
    for (const std::string_view op : op_names()) {
        for (const VariantBase* variant : variants_of(op)) {
            EXPECT_TRUE(names[std::string(op)].insert(std::string(variant->name)).second)
                << op << " registers " << variant->name << " twice";
        }
    }
    return names;
}

TEST(Registry, AsManyVariantsAsFilesAndByTheSameNames) {
    const Names files = variant_files();
    EXPECT_GT(files.size(), 10U) << "no variant files were found: the test would never fail";
    EXPECT_EQ(registered(), files);
}

TEST(Registry, EveryOpHasAReferenceForEveryShapeAndACase) {
    for (const std::string_view name : op_names()) {
        ASSERT_NE(find_op(name), nullptr) << name << " has no op.cpp that registers it";
        const VariantBase* reference = variants_of(name).front();
        EXPECT_EQ(reference->name, "reference") << name;
        EXPECT_EQ(reference->needs, cpu::none) << name;
        EXPECT_EQ(reference->layout, "gguf") << name;
        for (const std::string& shape : find_op(name)->model_shapes()) {
            EXPECT_EQ(find_op(name)->shape_error(shape), "") << name << ' ' << shape;
            EXPECT_EQ(find_op(name)->why_not(*reference, shape), "") << name << ' ' << shape;
        }
    }
}

TEST(Registry, PackedLayoutsSayHowToPack) {
    for (const std::string_view op : op_names()) {
        for (const VariantBase* variant : variants_of(op)) {
            EXPECT_EQ(variant->layout != "gguf", variant->pack != nullptr) << variant->name;
            EXPECT_EQ(variant->pack != nullptr, variant->packed_bytes != nullptr) << variant->name;
            EXPECT_GE(variant->granule, 1) << variant->name;
        }
    }
}

TEST(Registry, UnknownVariantNamesTheChoices) {
    const FoundVariant<Q4_0Matvec> found = find_variant<Q4_0Matvec>("referense");
    EXPECT_EQ(found.variant, nullptr);
    EXPECT_NE(found.error.find("did you mean 'reference'?"), std::string::npos) << found.error;
    EXPECT_NE(found.error.find("avx512_vnni_rows16"), std::string::npos) << found.error;
    EXPECT_EQ(find_variant<Q4_0Matvec>("reference").error, "");
}

TEST(Registry, MaskedFeaturesMakeVariantsUnusable) {
    const auto* variant = find_variant<Q4_0Matvec>("avx512_vnni_rows16").variant;
    ASSERT_NE(variant, nullptr);
    cpu::mask(cpu::to_hide("avx512_vnni"));
    const std::string reason = why_not(*variant, {1, 16, 32});
    cpu::mask(cpu::none);
    EXPECT_NE(reason.find("avx512vnni"), std::string::npos) << reason;
    EXPECT_NE(reason.find("reference"), std::string::npos) << reason;
    if (cpu::has(cpu::avx512_vnni)) {
        EXPECT_EQ(why_not(*variant, {1, 16, 32}), "");
        EXPECT_NE(why_not(*variant, {1, 17, 32}), "");
    }
}

TEST(Registry, HidingASetHidesWhatBuildsOnIt) {
    cpu::mask(cpu::to_hide("avx2"));
    EXPECT_FALSE(cpu::has(cpu::avx2));
    EXPECT_FALSE(cpu::has(cpu::kAvx512f));
    cpu::mask(cpu::none);
    EXPECT_EQ(cpu::to_hide("sse9"), cpu::none);
}

TEST(Cpu, AFeatureNeedsTheCpuAndTheSystem) {
    cpu::Answers all{~0U, ~0U, ~0U, ~0U, ~0U, ~0ULL};
    EXPECT_EQ(cpu::features_of(all).bits, (cpu::avx512_vnni | cpu::kAvx512vbmi | cpu::kAvx512bf16 |
                                           cpu::kAmxTile | cpu::kAmxInt8)
                                              .bits);
    cpu::Answers no_zmm = all;
    no_zmm.saved = 0x6;  // the system saves ymm only
    EXPECT_EQ(cpu::features_of(no_zmm), cpu::avx2);
    cpu::Answers nothing_saved = all;
    nothing_saved.saved = 0;
    EXPECT_EQ(cpu::features_of(nothing_saved), cpu::none);
    cpu::Answers no_tiles = all;
    no_tiles.saved = 0xE6;
    EXPECT_EQ(cpu::features_of(no_tiles).bits & cpu::kAmxInt8.bits, 0U);
    EXPECT_EQ(cpu::features_of({}), cpu::none);
}

TEST(Cpu, OnAmdTheLastCacheIsThatOfOneComplex) {
    if (!cpu::class_name().starts_with("amd-")) GTEST_SKIP() << cpu::class_name();
    EXPECT_GT(cpu::last_level_cache_bytes(), 0);
    EXPECT_LE(cpu::last_level_cache_bytes(), 96 << 20);
}

// What we do not know by name is never asked for, so it is never selected.
TEST(Cpu, EveryVariantNeedsNamedFeaturesOnly) {
    const cpu::Features known = cpu::features_of({~0U, ~0U, ~0U, ~0U, ~0U, ~0ULL});
    for (const std::string_view op : op_names()) {
        for (const VariantBase* variant : variants_of(op)) {
            EXPECT_EQ(variant->needs.bits & ~known.bits, 0U) << op << ' ' << variant->name;
            const bool for_gpu = variant->name.rfind("cuda_", 0) == 0;
            EXPECT_EQ(variant->on_gpu(), for_gpu) << op << ' ' << variant->name;
            const bool portable =
                variant->name == "reference" || for_gpu || variant->name.rfind("portable_", 0) == 0;
            EXPECT_EQ(variant->needs == cpu::none, portable) << op << ' ' << variant->name;
            const bool says_avx512 =
                variant->name.rfind("avx512", 0) == 0 || variant->name.rfind("amx", 0) == 0;
            EXPECT_EQ((variant->needs.bits & cpu::kAvx512f.bits) != 0, says_avx512)
                << op << ' ' << variant->name;
        }
    }
}

TEST(Cpu, LevelsHideWhatLiesBeyondThem) {
    cpu::Features hidden;
    ASSERT_TRUE(cpu::beyond_level("avx2", hidden));
    EXPECT_EQ(hidden.bits & cpu::avx2.bits, 0U);
    EXPECT_EQ(hidden.bits & cpu::kAvx512f.bits, cpu::kAvx512f.bits);
    ASSERT_TRUE(cpu::beyond_level("x86-64-v2", hidden));
    cpu::mask(hidden);
    EXPECT_EQ(cpu::available(), cpu::none);
    cpu::mask(cpu::none);
    ASSERT_TRUE(cpu::beyond_level("native", hidden));
    EXPECT_EQ(hidden, cpu::none);
    EXPECT_FALSE(cpu::beyond_level("avx3", hidden));
}

TEST(Shape, TextRoundTripsAndLeavesDefaultsOut) {
    const auto parsed = parse_shape<MatvecShape>("rows=768,cols=2048");
    EXPECT_EQ(parsed.error, "");
    EXPECT_EQ(parsed.shape.groups, 1);
    EXPECT_EQ(to_text(parsed.shape), "rows=768,cols=2048");
    const auto grouped = parse_shape<MatvecShape>("cols=192,groups=20,rows=512");
    EXPECT_EQ(to_text(grouped.shape), "groups=20,rows=512,cols=192");
    for (const OpInfo& op : all_ops()) {
        for (const std::string& shape : op.model_shapes()) EXPECT_EQ(op.shape_error(shape), "");
    }
}

TEST(Shape, BadTextSaysWhichPartAndWhatIsAllowed) {
    for (const char* text : {"rows=3", "rows=-1,cols=32", "rows=3,cols=x", "rows", "row=3,cols=32",
                             "rows=3,cols=32x", ""}) {
        const std::string error = parse_shape<MatvecShape>(text).error;
        EXPECT_NE(error.find("cols"), std::string::npos) << text << ": " << error;
    }
    EXPECT_NE(find_op("q4_0_matvec")->shape_error("rows=3,cols=33").find("multiple of 32"),
              std::string::npos);
}

// The sanitizers' builds have no CUDA.
TEST(Registry, AnUnknownVariantOfAGpuHasItsReason) {
    const std::string text = unknown_variant("products", "cuda_plane");
    const char* reason = built_for_gpus() ? "did you mean 'cuda_planes'?" : "built without CUDA";
    EXPECT_NE(text.find(reason), std::string::npos) << text;
}

}  // namespace
}  // namespace steady
