// Weights in a memory file that processes hand on: read once, found again, never mixed up.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "engine/run/decode.h"
#include "engine/run/model.h"
#include "tests/support/tiny_models.h"

namespace steady {
namespace {

const std::vector<std::int32_t> kTokens{5, 6, 7};

struct MemoryFile {
    explicit MemoryFile(std::int64_t bytes = 64 << 20) {
        EXPECT_EQ(ftruncate(descriptor, bytes), 0);
    }
    ~MemoryFile() { close(descriptor); }
    int descriptor = memfd_create("weights", MFD_CLOEXEC);
};

struct Outcome {
    std::vector<float> logits;
    std::int64_t loaded_bytes = 0;
};

Outcome run(const std::string& name, int descriptor, const PlanRequest& plan) {
    Model model(tiny::path(name), descriptor);
    ArmOptions options;
    options.plan = plan;
    options.threads.threads = 1;
    auto arms = model.make_arms({options}, 8);
    const auto last = feed(*arms[0], kTokens);
    return {{last.begin(), last.end()}, model.store.loaded_bytes()};
}

std::string complaint(const std::string& name, int descriptor) {
    try {
        run(name, descriptor, {});
    } catch (const Error& error) {
        return error.what();
    }
    return "accepted";
}

const PlanRequest kPlainKernels{{{"*", "reference"}}, {}};

TEST(SharedWeights, AreReadOnceAndFoundAgain) {
    const MemoryFile memory;
    const Outcome alone = run("tiny-glm", -1, {});
    const Outcome first = run("tiny-glm", memory.descriptor, {});
    const Outcome second = run("tiny-glm", memory.descriptor, {});
    EXPECT_EQ(first.logits, alone.logits);
    EXPECT_EQ(second.logits, alone.logits);
    EXPECT_EQ(first.loaded_bytes, alone.loaded_bytes);
    EXPECT_GT(first.loaded_bytes, 1 << 20);
    EXPECT_EQ(second.loaded_bytes, 0);
}

// Bytes of the memory file that are in this process's page tables.
std::int64_t mapped_bytes() {
    std::ifstream smaps("/proc/self/smaps");
    std::int64_t kib = 0;
    bool of_file = false;
    for (std::string line; std::getline(smaps, line);) {
        if (line.find('-') < line.find(' ')) of_file = line.find("memfd:weights") != line.npos;
        if (of_file && line.rfind("Rss:", 0) == 0) kib += std::stoll(line.substr(4));
    }
    return kib * 1024;
}

// Else the arm that takes its prompt first pays for the page faults of both.
TEST(SharedWeights, AreInThePageTablesBeforeTheFirstToken) {
    const MemoryFile memory;
    const Outcome first = run("tiny-glm", memory.descriptor, {});
    ASSERT_EQ(mapped_bytes(), 0);
    Model model(tiny::path("tiny-glm"), memory.descriptor);
    ArmOptions options;
    options.threads.threads = 1;
    const auto arms = model.make_arms({options}, 8);
    EXPECT_GE(mapped_bytes(), first.loaded_bytes);
}

// Another layout is added beside the first one; what is the same (norms, the embedding) is not.
TEST(SharedWeights, AnotherLayoutComesBesideTheFirst) {
    const MemoryFile memory;
    const Outcome packed = run("tiny-glm", memory.descriptor, {});
    const Outcome plain = run("tiny-glm", memory.descriptor, kPlainKernels);
    EXPECT_EQ(plain.logits, run("tiny-glm", -1, kPlainKernels).logits);
    EXPECT_GT(plain.loaded_bytes, 0);
    EXPECT_LT(plain.loaded_bytes, packed.loaded_bytes);
    EXPECT_EQ(run("tiny-glm", memory.descriptor, {}).loaded_bytes, 0);
    EXPECT_EQ(run("tiny-glm", memory.descriptor, {}).logits, packed.logits);
}

TEST(SharedWeights, AProcessThatDiesWhileLoadingLeavesNothing) {
    const MemoryFile memory;
    const pid_t child = fork();
    if (child == 0) {
        Model model(tiny::path("tiny-glm"), memory.descriptor);
        const KernelPlan plan = resolve_plan({}, model.uses.shapes, model.uses.traits);
        place_weights(model.file, model.config, plan, model.store);
        model.store.reserve();  // locked, mapped, not loaded
        _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    ASSERT_EQ(status, 0);
    const Outcome after = run("tiny-glm", memory.descriptor, {});
    EXPECT_GT(after.loaded_bytes, 1 << 20);
    EXPECT_EQ(after.logits, run("tiny-glm", -1, {}).logits);
}

TEST(SharedWeights, ForeignOrSmallMemoryIsRefused) {
    const MemoryFile memory;
    run("tiny-glm", memory.descriptor, {});
    EXPECT_NE(complaint("tiny-youtu", memory.descriptor).find("something else"), std::string::npos);
    const MemoryFile small(4 << 20);
    EXPECT_NE(complaint("tiny-glm", small.descriptor).find("do not fit"), std::string::npos)
        << complaint("tiny-glm", small.descriptor);
    const MemoryFile empty(0);
    EXPECT_NE(complaint("tiny-glm", empty.descriptor).find("--weights-fd"), std::string::npos);
    EXPECT_NE(complaint("tiny-glm", 987).find("--weights-fd"), std::string::npos);
}

}  // namespace
}  // namespace steady
