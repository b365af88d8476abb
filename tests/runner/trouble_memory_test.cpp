// The n-th allocation fails, for every n: reading an experiment file and a model file either works
// or throws, and gives everything back.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <new>
#include <sstream>

#include "engine/gguf/file.h"
#include "engine/text/tokenizer.h"
#include "kernels/base/error.h"
#include "runner/spec/spec.h"
#include "tests/support/failing_calls.h"

namespace steady {
namespace {

constexpr std::int64_t kMost = 2000;

// How many allocations it took until none failed any more, at most kMost.
std::int64_t fail_each(const std::function<void()>& step) {
    step();  // what is made once stays
    for (std::int64_t n = 1; n <= kMost; ++n) {
        const std::int64_t before = test::live_allocations();
        bool happened = false;
        {
            const test::FailingAllocation failing(n);
            try {
                step();
            } catch (const std::bad_alloc&) {
            } catch (const Error&) {
            }
            happened = failing.happened();
        }
        EXPECT_EQ(test::live_allocations(), before) << "allocation " << n;
        if (!happened) return n - 1;
    }
    return kMost;
}

std::string text_of(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(STEADY_SOURCE_DIR "/" + path).rdbuf();
    return text.str();
}

TEST(MemoryTrouble, AnExperimentFileIsReadOrNot) {
    const std::string good = text_of("experiments/quickstart.json");
    const std::string bad = good.substr(0, good.size() / 2) + ", \"unknown\": [}";
    for (const std::string& text : {good, bad}) {
        const std::int64_t n = fail_each([&] { parse_spec(text, "quickstart"); });
        EXPECT_GT(n, 50);
        fmt::print("{} allocations of an experiment file failed\n", n);
    }
}

TEST(MemoryTrouble, AModelFileIsReadOrNot) {
    const std::int64_t n = fail_each([] {
        const GgufFile file = GgufFile::open(STEADY_SOURCE_DIR "/tests/data/models/tiny-glm.gguf");
        for (const Metadata& entry : file.metadata()) file.find(entry.key);
    });
    EXPECT_GT(n, 100);
    fmt::print("{} allocations of a model file failed\n", n);
}

TEST(MemoryTrouble, AVocabularyIsReadOrNot) {
    const std::int64_t n = fail_each([] {
        const GgufFile file =
            GgufFile::open(STEADY_SOURCE_DIR "/tests/data/tokenizer/vocabulary-youtu.gguf");
        const Tokenizer tokenizer = Tokenizer::load(file);
        tokenizer.decode(tokenizer.encode("the hen"));
    });
    EXPECT_GT(n, 20);
    fmt::print("{} allocations of a vocabulary failed\n", n);
}

}  // namespace
}  // namespace steady
