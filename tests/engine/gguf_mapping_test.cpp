// A file that shrinks while it is in use: reading it is an error, touching its mapping ends the
// program with one line and exit code 2, and never with a signal.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "engine/gguf/mapping.h"
#include "tests/support/gguf_bytes.h"

namespace steady::test {
namespace {

std::string two_pages_of_data() {
    return with_data(head(1, 0) + tensor("t", {16384}, 0, 0), 65536);
}

int first_byte(std::span<const std::byte> bytes, std::size_t at) {
    return std::to_integer<int>(*const_cast<const volatile std::byte*>(&bytes[at]));
}

TEST(GgufShrinking, ReadingIsAnError) {
    const int descriptor = memory_file(two_pages_of_data());
    const GgufFile file = GgufFile::from_descriptor(descriptor, "test.gguf");
    ASSERT_EQ(ftruncate(descriptor, 8192), 0);
    std::vector<std::byte> bytes(65536);
    try {
        file.read(file.tensors()[0], bytes);
        FAIL() << "read a file that is gone";
    } catch (const GgufError& error) {
        EXPECT_EQ(error.offset, 8192U);
        EXPECT_NE(error.allowed.find("shrunk"), std::string::npos) << error.what();
    }
}

TEST(GgufShrinkingDeathTest, TouchingTheMappingEndsWithOneLine) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    EXPECT_EXIT(
        {
            const int descriptor = memory_file(two_pages_of_data());
            const GgufFile file = GgufFile::from_descriptor(descriptor, "test.gguf");
            const auto bytes = file.map(file.tensors()[0]);
            if (first_byte(bytes, 60000) != 0x11) _exit(99);
            if (ftruncate(descriptor, 8192) != 0) _exit(98);
            first_byte(bytes, 60000);
            _exit(97);
        },
        testing::ExitedWithCode(kExitUsage),
        "^error: test.gguf: byte 6[0-9]+: reading: found the end of the file, .*\n$");
}

TEST(FileMapping, FreesItsPlaceInTheTable) {
    const int descriptor = memory_file(two_pages_of_data());
    for (int i = 0; i < 1000; ++i) const FileMapping mapping(descriptor, 4096, "test.gguf");
    close(descriptor);
}

}  // namespace
}  // namespace steady::test
