// What a sound file gives: every value under its key, every tensor where its bytes are, an error
// for every wrong question.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstring>
#include <fstream>
#include <map>

#include "engine/gguf/file.h"
#include "tests/support/gguf_bytes.h"

namespace steady::test {
namespace {

// One key of every type.
std::string all_types() {
    std::string payloads;
    const std::vector<std::pair<std::string, std::string>> scalars = {
        {"u8", le<std::uint8_t>(1)},
        {"i8", le<std::int8_t>(-1)},
        {"u16", le<std::uint16_t>(2)},
        {"i16", le<std::int16_t>(-2)},
        {"u32", u32(7)},
        {"i32", le<std::int32_t>(-7)},
        {"f32", le(1.5F)},
        {"bool", "\x01"},
        {"string", text("sch\xc3\xb6n")},
        {"array", array(4, 2, u32(1) + u32(2))},
        {"u64", u64(9)},
        {"i64", le<std::int64_t>(-9)},
        {"f64", le(2.5)}};
    std::string bytes = head(0, scalars.size() + 3);
    for (std::uint32_t type = 0; type < scalars.size(); ++type) {
        bytes += entry(scalars[type].first, type, scalars[type].second);
    }
    bytes += entry("strings", 9, array(8, 2, text("a") + text("")));
    bytes += entry("floats", 9, array(6, 2, le(1.0F) + le(-2.0F)));
    bytes += entry("none", 9, array(8, 0, ""));
    return bytes;
}

TEST(GgufFile, GivesEveryValueUnderItsKey) {
    const GgufFile file = parse(all_types());
    EXPECT_EQ(file.metadata().size(), 16U);
    EXPECT_EQ(file.u32("u32"), 7U);
    EXPECT_EQ(file.f32("f32"), 1.5F);
    EXPECT_EQ(file.boolean("bool"), true);
    EXPECT_EQ(file.string("string"), "sch\xc3\xb6n");
    EXPECT_EQ(file.strings("strings"), (std::vector<std::string_view>{"a", ""}));
    EXPECT_EQ(file.strings("none")->size(), 0U);
    EXPECT_EQ(file.i32_array("array"), (std::vector<std::int32_t>{1, 2}));
    EXPECT_EQ(file.f32_array("floats"), (std::vector<float>{1.0F, -2.0F}));
    EXPECT_EQ(file.u32("absent"), std::nullopt);
    EXPECT_EQ(file.strings("absent"), std::nullopt);
}

// Every getter against every type: an answer for its own, an error that names key, wanted and
// found for all others.
TEST(GgufFile, RefusesEveryKeyReadAsAnotherType) {
    const GgufFile file = parse(all_types());
    using Getter = std::function<void(const std::string&)>;
    const std::map<std::string, Getter> getters = {
        {"u32", [&](const std::string& key) { file.u32(key); }},
        {"f32", [&](const std::string& key) { file.f32(key); }},
        {"bool", [&](const std::string& key) { file.boolean(key); }},
        {"string", [&](const std::string& key) { file.string(key); }},
        {"strings", [&](const std::string& key) { file.strings(key); }},
        {"array", [&](const std::string& key) { file.i32_array(key); }},
        {"floats", [&](const std::string& key) { file.f32_array(key); }}};
    int n_refused = 0;
    for (const auto& [own, getter] : getters) {
        for (const Metadata& entry : file.metadata()) {
            const std::string key(entry.key);
            if (key == own || (key == "none" && own == "strings")) {
                EXPECT_NO_THROW(getter(key)) << own << " of " << key;
                continue;
            }
            try {
                getter(key);
                ADD_FAILURE() << own << " accepted " << key;
            } catch (const GgufError& error) {
                ++n_refused;
                EXPECT_NE(error.field.find("'" + key + "'"), std::string::npos) << error.what();
                EXPECT_FALSE(error.found.empty());
                EXPECT_FALSE(error.allowed.empty());
            }
        }
    }
    EXPECT_EQ(n_refused, 7 * 16 - 8);
}

TEST(GgufFile, NamesARequiredKeyThatIsAbsent) {
    const GgufFile file = parse(head(0, 0));
    EXPECT_THROW(file.require_u32("a"), GgufError);
    EXPECT_THROW(file.require_f32("a"), GgufError);
    EXPECT_THROW(file.require_string("a"), GgufError);
    EXPECT_THROW(file.require_tensor("a"), GgufError);
    EXPECT_EQ(file.tensor("a"), nullptr);
}

TEST(GgufFile, ReadsVersion2AndOtherAlignments) {
    EXPECT_EQ(parse(head(0, 0, 2)).version(), 2U);
    const std::string bytes =
        with_data(head(1, 1) + entry("general.alignment", 4, u32(4096)) + tensor("t", {8}, 0, 4096),
                  8192, 4096);
    const GgufFile file = parse(bytes);
    EXPECT_EQ(file.alignment(), 4096U);
    EXPECT_EQ(file.data_offset(), 4096U);
    EXPECT_EQ(file.tensor("t")->offset, 8192U);
}

// The last tensor may end with the file, and gaps are allowed.
TEST(GgufFile, AllowsGapsAndNoPaddingAtTheEnd) {
    const GgufFile file =
        parse(with_data(head(2, 0) + tensor("b", {3}, 0, 64) + tensor("a", {8}, 0, 0), 76));
    EXPECT_EQ(file.tensor("b")->offset + file.tensor("b")->bytes, file.file_bytes());
}

TEST(GgufFile, ReadsTheReferenceModels) {
    for (const char* name : {"tiny-glm", "tiny-dsv2", "tiny-youtu", "tiny-glm-f32"}) {
        const GgufFile file = GgufFile::open(model_path(std::string(name) + ".gguf"));
        EXPECT_EQ(file.require_string("general.architecture"), "deepseek2");
        EXPECT_EQ(file.require_u32("deepseek2.block_count"), 3U);
        EXPECT_EQ(file.strings("tokenizer.ggml.tokens")->size(), 320U);
        for (const Tensor& tensor : file.tensors()) {
            std::vector<std::byte> read(tensor.bytes);
            file.read(tensor, read);
            const std::span<const std::byte> mapped = file.map(tensor);
            ASSERT_EQ(mapped.size(), read.size());
            EXPECT_EQ(std::memcmp(mapped.data(), read.data(), read.size()), 0) << tensor.name;
            EXPECT_EQ(file.tensor(tensor.name), &tensor);
        }
    }
}

TEST(GgufFile, ReadsPartsOfATensorAndNothingElse) {
    const GgufFile file = GgufFile::open(model_path("tiny-glm.gguf"));
    const Tensor& tensor = file.require_tensor("output_norm.weight");
    ASSERT_EQ(tensor.bytes, 1024U);
    std::vector<std::byte> whole(1024);
    std::vector<std::byte> part(24);
    file.read(tensor, whole);
    file.read(tensor, part, 1000);
    EXPECT_EQ(std::memcmp(part.data(), whole.data() + 1000, 24), 0);
    EXPECT_THROW(file.read(tensor, part, 1001), GgufError);
    EXPECT_THROW(file.read(tensor, part, ~std::uint64_t{0}), GgufError);
}

TEST(GgufFile, SaysWhatAPathIsInstead) {
    const auto message = [](const std::string& path) {
        try {
            GgufFile::open(path);
        } catch (const GgufError& error) {
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    EXPECT_NE(message("/no/such/file").find("No such file"), std::string::npos);
    EXPECT_NE(message("/").find("a directory"), std::string::npos);
    EXPECT_NE(message("/dev/null").find("regular file"), std::string::npos);
}

// 200 000 keys are read in linear time and in memory near the file's size; the run time is visible
// in the report, and a quadratic scan would hit the test's time limit.
TEST(GgufFile, ReadsManyKeys) {
    constexpr int kKeys = 200000;
    std::string bytes = head(0, kKeys);
    for (int i = 0; i < kKeys; ++i) bytes += entry("key." + std::to_string(i), 4, u32(7));
    const GgufFile file = parse(bytes);
    EXPECT_EQ(file.metadata().size(), static_cast<std::size_t>(kKeys));
    EXPECT_EQ(file.u32("key.199999"), 7U);
}

// A length of gigabytes in a small file must not be believed.
TEST(GgufFile, TakesNoMemoryForClaims) {
    rusage before{};
    getrusage(RUSAGE_SELF, &before);
    for (const std::uint64_t n :
         {~std::uint64_t{0}, std::uint64_t{1} << 63, std::uint64_t{1} << 40}) {
        EXPECT_THROW(parse(head(0, n) + std::string(100, ' ')), GgufError);
        EXPECT_THROW(parse(head(n, 0) + std::string(100, ' ')), GgufError);
        EXPECT_THROW(parse(head(0, 1) + entry("k", 9, array(0, n, ""))), GgufError);
        EXPECT_THROW(parse(head(0, 1) + entry("k", 8, u64(n))), GgufError);
    }
    rusage after{};
    getrusage(RUSAGE_SELF, &after);
    EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 * 1024) << "KiB";
}

}  // namespace
}  // namespace steady::test
