// Bad files by name: what other loaders trusted and should not have. Each case states the field
// that the error must name and words that its text must hold. None of them may allocate more than
// the file's own size justifies.
#include <gtest/gtest.h>

#include <functional>

#include "tests/support/gguf_bytes.h"

namespace steady::test {
namespace {

constexpr std::uint64_t kMax = ~std::uint64_t{0};
enum : std::uint32_t { kU8 = 0, kU32 = 4, kI32 = 5, kF32 = 6, kBool = 7, kString = 8, kArray = 9 };

struct BadFile {
    std::string name;
    std::string bytes;
    std::string field;  // part of the error's field
    std::string found;  // part of what it found
};

std::string one_entry(std::uint32_t type, const std::string& payload) {
    return head(0, 1) + entry("key", type, payload);
}
std::string alignment_of(std::uint32_t type, const std::string& payload) {
    return head(0, 1) + entry("general.alignment", type, payload);
}
std::string one_tensor(const std::vector<std::uint64_t>& dims, std::uint32_t type = 0,
                       std::uint64_t offset = 0, std::string_view name = "t") {
    return with_data(head(1, 0) + tensor(name, dims, type, offset), 4096);
}
std::string two_tensors(std::uint64_t first, std::uint64_t second) {
    return with_data(head(2, 0) + tensor("a", {64}, 0, first) + tensor("b", {64}, 0, second), 4096);
}
std::string raw_tensor(const std::string& name, std::uint32_t n_dims, const std::string& rest) {
    return with_data(head(1, 0) + name + u32(n_dims) + rest, 4096);
}

std::vector<BadFile> header_cases() {
    const std::string padding(200, '\0');
    return {
        {"empty", "", "magic", "4 bytes wanted"},
        {"three_bytes", "GGU", "magic", "4 bytes wanted"},
        {"magic_zip", std::string("PK\x03\x04") + padding, "magic", "PK\\x03\\x04"},
        {"magic_reversed", "FUGG" + padding, "magic", "FUGG"},
        {"magic_ggml", "ggml" + padding, "magic", "ggml"},
        {"no_version", "GGUF", "version", "4 bytes wanted"},
        {"version_0", head(0, 0, 0), "version", "0"},
        {"version_1", head(0, 0, 1), "version", "1"},
        {"version_4", head(0, 0, 4), "version", "4"},
        {"version_huge", head(0, 0, 0xFFFFFFFF), "version", "4294967295"},
        {"big_endian_2", head(0, 0, 0x02000000), "version", "big-endian 2"},
        {"big_endian_3", head(0, 0, 0x03000000), "version", "big-endian 3"},
        {"cut_in_counts", head(0, 0).substr(0, 20), "n_kv", "8 bytes wanted"},
        {"n_kv_max", head(0, kMax) + padding, "n_kv", "18446744073709551615"},
        {"n_kv_half", head(0, kMax / 2 + 1) + padding, "n_kv", "9223372036854775808"},
        {"n_kv_one_too_many", head(0, 200 / 13 + 1) + padding, "n_kv", "16"},
        {"n_tensors_max", head(kMax, 0) + padding, "n_tensors", "18446744073709551615"},
        {"n_tensors_half", head(kMax / 2 + 1, 0) + padding, "n_tensors", "9223372036854775808"},
        {"n_tensors_one_too_many", head(200 / 24 + 1, 0) + padding, "n_tensors", "9"},
        {"no_entries", head(0, 1), "n_kv", "1"},
    };
}

std::vector<BadFile> metadata_cases() {
    const std::string pad(64, '\0');
    return {
        {"key_empty", head(0, 1) + entry("", kU32, u32(1)) + pad, "metadata key", "0 bytes"},
        {"key_64k", head(0, 1) + entry(std::string(65536, 'k'), kU32, u32(1)), "metadata key",
         "65536 bytes"},
        {"key_longer_than_file", head(0, 1) + u64(1 << 20) + pad, "metadata key", "1048576"},
        {"key_length_max", head(0, 1) + u64(kMax) + pad, "metadata key", "18446744073709551615"},
        {"key_with_nul", head(0, 1) + entry(std::string("a\0b", 3), kU32, u32(1)) + pad,
         "metadata key", "zero byte"},
        {"key_twice", head(0, 2) + entry("k", kU32, u32(1)) + entry("k", kU32, u32(1)) + pad,
         "metadata key 'k'", "twice"},
        {"type_13", one_entry(13, pad), "type", "13"},
        {"type_max", one_entry(0xFFFFFFFF, pad), "type", "4294967295"},
        {"value_cut", one_entry(kU32, "ab"), "key", "4 bytes wanted"},
        {"string_longer_than_file", one_entry(kString, u64(100) + "short"), "metadata string",
         "100"},
        {"string_length_max", one_entry(kString, u64(kMax) + pad), "metadata string",
         "18446744073709551615"},
        {"string_length_int32", one_entry(kString, u64(std::uint64_t{1} << 32) + pad),
         "metadata string", "4294967296"},
        {"boolean_2", one_entry(kBool, "\x02") + pad, "key", "boolean 2"},
        {"boolean_array_255", one_entry(kArray, array(kBool, 2, "\x01\xff")) + pad, "key",
         "boolean 255"},
        {"array_of_arrays", one_entry(kArray, array(kArray, 1, pad)), "element type", "array"},
        {"array_nested_deep",
         [] {
             std::string deep;
             for (int i = 0; i < 100000; ++i) deep += array(kArray, 1, "");
             return one_entry(kArray, deep);
         }(),
         "element type", "array"},
        {"array_type_13", one_entry(kArray, array(13, 1, pad)), "element type", "13"},
        {"array_2_to_61", one_entry(kArray, array(10, std::uint64_t{1} << 61, pad)), "length",
         "2305843009213693952"},
        {"array_length_max", one_entry(kArray, array(kU8, kMax, pad)), "length",
         "18446744073709551615"},
        {"array_one_too_long", one_entry(kArray, array(kU32, 17, pad)), "length", "17"},
        {"string_array_max", one_entry(kArray, array(kString, kMax / 8, pad)), "length",
         "2305843009213693951"},
        {"string_array_cut", one_entry(kArray, array(kString, 2, text("a") + u64(99))),
         "metadata string", "99"},
    };
}

std::vector<BadFile> alignment_cases() {
    return {
        {"alignment_0", alignment_of(kU32, u32(0)), "general.alignment", "0"},
        {"alignment_1", alignment_of(kU32, u32(1)), "general.alignment", "1"},
        {"alignment_13", alignment_of(kU32, u32(13)), "general.alignment", "13"},
        {"alignment_4", alignment_of(kU32, u32(4)), "general.alignment", "4"},
        {"alignment_2_to_31", alignment_of(kU32, u32(1U << 31)), "general.alignment", "2147483648"},
        {"alignment_131072", alignment_of(kU32, u32(131072)), "general.alignment", "131072"},
        {"alignment_i32", alignment_of(kI32, u32(32)), "general.alignment", "i32"},
        {"alignment_string", alignment_of(kString, text("32")), "general.alignment", "string"},
        {"alignment_array", alignment_of(kArray, array(kU32, 1, u32(32))), "general.alignment",
         "array"},
    };
}

std::vector<BadFile> tensor_cases() {
    const std::uint64_t big = std::uint64_t{1} << 30;
    return {
        {"name_empty", one_tensor({32}, 0, 0, ""), "tensor name", "0 bytes"},
        {"name_64", one_tensor({32}, 0, 0, std::string(64, 'n')), "tensor name", "64 bytes"},
        {"name_with_nul", one_tensor({32}, 0, 0, std::string_view("a\0b", 3)), "tensor",
         "zero byte"},
        {"name_length_max", raw_tensor(u64(kMax), 1, ""), "tensor name", "18446744073709551615"},
        {"name_twice", with_data(head(2, 0) + tensor("t", {8}, 0, 0) + tensor("t", {8}, 0, 32), 64),
         "tensor 't'", "twice"},
        {"n_dims_0", raw_tensor(text("t"), 0, u32(0) + u64(0)), "n_dims", "0"},
        {"n_dims_5", one_tensor({32, 1, 1, 1, 1}), "n_dims", "5"},
        {"n_dims_max", raw_tensor(text("t"), 0xFFFFFFFF, ""), "n_dims", "4294967295"},
        {"dim_0", one_tensor({0}), "dim 0", "0"},
        {"dim_1_is_0", one_tensor({32, 0}), "dim 1", "0"},
        {"dim_minus_1", one_tensor({kMax}), "dim 0", "18446744073709551615"},
        {"dim_2_to_63", one_tensor({std::uint64_t{1} << 63}), "dim 0", "9223372036854775808"},
        {"dim_2_to_42", one_tensor({(std::uint64_t{1} << 42) + 1}), "dim 0", "4398046511105"},
        {"dims_product_wraps", one_tensor({4, big - 1, big + 1}), "dims",
         "4 x 1073741823 x 1073741825"},
        {"dims_product_wraps_to_0", one_tensor({big * 4, big * 4, big * 4, 16}), "dims", " x "},
        {"bytes_wrap", one_tensor({big * 1024, big / 256}), "dims", "1099511627776 x 4194304"},
        {"dims_larger_than_data", one_tensor({1U << 20}), "tensor 't'", "4194304 bytes"},
        {"row_not_blocks_q4_0", one_tensor({33}, 2), "dim 0", "33"},
        {"row_not_blocks_q6_k", one_tensor({128}, 14), "dim 0", "128"},
        {"type_iq4_xs", one_tensor({256}, 23), "tensor 't': type", "23 (iq4_xs)"},
        {"type_withdrawn", one_tensor({256}, 4), "tensor 't': type", "withdrawn"},
        {"type_unknown", one_tensor({256}, 12345), "tensor 't': type", "12345"},
        {"type_max", one_tensor({256}, 0xFFFFFFFF), "tensor 't': type", "4294967295"},
        {"offset_unaligned", one_tensor({32}, 0, 8), "offset", "8"},
        {"offset_max_aligned", one_tensor({32}, 0, kMax - 31), "tensor 't'", "does not fit"},
        {"offset_behind_file", one_tensor({32}, 0, 8192), "tensor 't'", "bytes that end"},
        {"pad_wraps", one_tensor({3, 715827883, 2147483647}), "dims", "3 x 715827883 x "},
        {"overlap_same", two_tensors(0, 0), "tensor 'b'", "shared with tensor 'a'"},
        {"overlap_partly", two_tensors(128, 0), "tensor 'a'", "shared with tensor 'b'"},
        {"data_cut",
         [] {
             std::string bytes = one_tensor({1024});
             bytes.pop_back();
             return bytes;
         }(),
         "tensor 't'", "4096 bytes"},
        {"table_cut", (head(1, 0) + tensor("t", {32}, 0, 0)).substr(0, 50), "tensor",
         "bytes wanted"},
    };
}

void PrintTo(const BadFile& bad, std::ostream* out) { *out << bad.name; }

class BadFiles : public testing::TestWithParam<BadFile> {};

TEST_P(BadFiles, AreRefusedWithTheFieldNamed) {
    const BadFile& bad = GetParam();
    try {
        const GgufFile file = parse(bad.bytes);
        FAIL() << "accepted";
    } catch (const GgufError& error) {
        EXPECT_NE(error.field.find(bad.field), std::string::npos) << error.what();
        EXPECT_NE(error.found.find(bad.found), std::string::npos) << error.what();
        EXPECT_EQ(error.exit_code, kExitUsage);
        EXPECT_LE(error.offset, bad.bytes.size());
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    }
}

std::string case_name(const testing::TestParamInfo<BadFile>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Header, BadFiles, testing::ValuesIn(header_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Metadata, BadFiles, testing::ValuesIn(metadata_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Alignment, BadFiles, testing::ValuesIn(alignment_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Tensors, BadFiles, testing::ValuesIn(tensor_cases()), case_name);

std::string error_text(const std::string& bytes) {
    try {
        const GgufFile file = parse(bytes);
    } catch (const GgufError& error) {
        return error.what();
    }
    return "accepted";
}

TEST(GgufErrorText, IsOneLineWithFileByteFieldFoundAllowed) {
    EXPECT_EQ(error_text("GGML" + std::string(100, ' ')),
              "test.gguf: byte 0: magic: found 'GGML', allowed: 'GGUF': a model file in GGUF "
              "format");
    EXPECT_EQ(error_text(head(0, kMax) + std::string(130, ' ')),
              "test.gguf: byte 16: n_kv: found 18446744073709551615, allowed: at most 10: 130 "
              "bytes remain");
    EXPECT_EQ(error_text(one_tensor({256}, 23, 0, "blk.0.ffn_up.weight")),
              "test.gguf: byte 63: tensor 'blk.0.ffn_up.weight': type: found 23 (iq4_xs), allowed: "
              "f32, f16, bf16, q4_0, q4_1, q5_0, q5_1, q8_0, q4_k, q5_k, q6_k");
    EXPECT_EQ(error_text(alignment_of(kU32, u32(13))),
              "test.gguf: byte 24: metadata key 'general.alignment': found 13, allowed: a power of "
              "two from 8 to 65536");
}

TEST(GgufErrorText, EscapesWhatATerminalWouldObey) {
    const std::string name = "\x1b]0;owned\x07\xff\xc2\x9b";
    const std::string shown = error_text(one_tensor({256}, 23, 0, name));
    EXPECT_NE(shown.find("\\x1b]0;owned\\x07\\xff\\xc2\\x9b"), std::string::npos) << shown;
    for (const char c : shown) EXPECT_GE(static_cast<unsigned char>(c), 0x20);
}

}  // namespace
}  // namespace steady::test
