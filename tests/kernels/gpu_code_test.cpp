// Machine code of GPU kernels without a GPU: what is read out of it against what CUDA's assembler
// reports, and `disasm` of variants.
#include "kernels/tool/gpu_code.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "kernels/base/error.h"
#include "tests/support/ran_tool.h"

namespace steady::tool {
namespace {

const std::string kNvcc = STEADY_NVCC;  // empty: this build has no GPU variants

std::string read_file(const std::filesystem::path& path) {
    std::stringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

class GpuCodeOfNvcc : public testing::Test {
protected:
    void SetUp() override {
        if (kNvcc.empty()) GTEST_SKIP() << "this build has no nvcc";
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    // Compiles; what the assembler says is in report().
    GpuCode compiled(const std::string& source, const std::string& options) {
        std::ofstream(folder_ / "kernel.cu") << source;
        const std::string command =
            kNvcc + " " + options + " -Xptxas -v " + (folder_ / "kernel.cu").string() + " -o " +
            (folder_ / "out").string() + " 2> " + (folder_ / "report").string();
        EXPECT_EQ(std::system(command.c_str()), 0) << read_file(folder_ / "report");
        const std::string bytes = read_file(folder_ / "out");
        return gpu_code({bytes.begin(), bytes.end()});
    }
    std::string report() const { return read_file(folder_ / "report"); }

private:
    const std::filesystem::path folder_ =
        std::filesystem::path(testing::TempDir()) / ("gpu-code-" + std::to_string(getpid()));
};

constexpr const char* kSource = R"(
extern "C" __global__ void wide(const uint4* a, uint4* o) { o[threadIdx.x] = a[3 * threadIdx.x]; }
extern "C" __global__ void bytes(const unsigned char* a, unsigned* o) { o[threadIdx.x] = a[3 * threadIdx.x]; }
extern "C" __global__ void shared(const unsigned* a, unsigned* o) {
    __shared__ unsigned s[256];
    s[threadIdx.x] = a[3 * threadIdx.x];
    __syncthreads();
    o[threadIdx.x] = s[255 - threadIdx.x];
}
extern "C" __global__ __launch_bounds__(1024, 2) void spills(const float* a, float* o) {
    float v[64], s = 0;
    for (int i = 0; i < 64; i++) v[i] = a[i * 1024 + threadIdx.x];
    for (int k = 0; k < 4; k++) {
        __syncthreads();
        for (int i = 0; i < 64; i++) { v[i] = v[i] * v[(i + 7) & 63] + s; s += v[(i * 5 + k) & 63]; }
    }
    for (int i = 0; i < 64; i++) o[i * 1024 + threadIdx.x] = v[i] + s;
})";

TEST_F(GpuCodeOfNvcc, SaysOfAKernelWhatTheAssemblerSays) {
    for (const auto& [options, compute] :
         {std::pair{"-cubin -arch=sm_90a", 90}, {"-cubin -arch=sm_80", 80}}) {
        std::map<std::string, GpuKernel> kernels;
        for (GpuKernel& kernel : compiled(kSource, options).kernels) kernels[kernel.name] = kernel;
        ASSERT_EQ(kernels.size(), 4U);
        EXPECT_EQ(kernels["wide"].compute, compute);
        EXPECT_EQ(kernels["wide"].counts.loads, (std::array<int, 5>{0, 0, 0, 0, 1}));
        EXPECT_EQ(kernels["bytes"].counts.loads, (std::array<int, 5>{1, 0, 0, 0, 0}));
        EXPECT_EQ(kernels["shared"].counts.loads, (std::array<int, 5>{0, 0, 1, 0, 0}));
        EXPECT_EQ(kernels["shared"].shared_bytes, 1024);
        EXPECT_EQ(kernels["wide"].counts.local_loads + kernels["wide"].counts.local_stores, 0);
        // Each spill of this kernel has four bytes.
        const GpuKernel& spills = kernels["spills"];
        const std::string text = report();
        std::smatch found;
        const std::regex words(
            "for spills\\s+(\\d+) bytes stack frame, (\\d+) bytes spill stores, "
            "(\\d+) bytes spill loads\\s+ptxas info\\s*: Used (\\d+) registers");
        ASSERT_TRUE(std::regex_search(text, found, words)) << text;
        EXPECT_GT(spills.counts.local_stores, 0);
        EXPECT_EQ(spills.stack_bytes, std::stoi(found[1]));
        EXPECT_EQ(4 * spills.counts.local_stores, std::stoi(found[2]));
        EXPECT_EQ(4 * spills.counts.local_loads, std::stoi(found[3]));
        EXPECT_EQ(spills.registers, std::stoi(found[4]));
    }
}

TEST_F(GpuCodeOfNvcc, CompressedOrCutCodeIsAnError) {
    try {
        compiled(kSource, "-c -arch=sm_90a --compress-mode=size");
        FAIL() << "compressed";
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("--no-compress"), std::string::npos);
    }
    const GpuCode whole = compiled(kSource, "-cubin -arch=sm_90a");
    const std::string& image = whole.images.at(0);
    const std::string half = image.substr(0, image.size() / 2);
    EXPECT_THROW(gpu_code({half.begin(), half.end()}), Error);
}

TEST(GpuCode, AFileWithoutAnyHasNoKernels) {
    const std::string text(5000, 'x');
    EXPECT_TRUE(gpu_code({text.begin(), text.end()}).kernels.empty());
}

TEST(GpuDisasm, CountsTheKernelsOfAVariant) {
    if (kNvcc.empty()) GTEST_SKIP() << "this build has no GPU variants";
    const Ran wide = run({"disasm", "products/cuda_planes", "--counts", "--json"});
    ASSERT_EQ(wide.code, 0) << wide.err;
    const auto kernels = nlohmann::json::parse(wide.out).at("kernels");
    ASSERT_GE(kernels.size(), 5U);
    for (const auto& kernel : kernels) {
        EXPECT_EQ(kernel.at("compute"), 90);
        EXPECT_GT(kernel.at("loads_by_bytes").at("16"), 0) << kernel;
        EXPECT_EQ(kernel.at("loads_by_bytes").at("1"), 0) << kernel;
        EXPECT_TRUE(kernel.at("listing").is_null());
    }
    const Ran bytes = run({"disasm", "products/cuda_byte_loads", "--counts", "--json"});
    int narrow = 0;
    const auto narrow_kernels = nlohmann::json::parse(bytes.out).at("kernels");
    for (const auto& kernel : narrow_kernels) {
        narrow += kernel.at("loads_by_bytes").at("1").get<int>();
    }
    EXPECT_GT(narrow, 100) << "its idea is to load bytes";
    const Ran text = run({"disasm", "products/cuda_planes", "--counts"});
    EXPECT_NE(text.out.find("body_kernel<ProductsBody<2, 4, 1> >\n"), std::string::npos)
        << text.out;
    EXPECT_NE(text.out.find("of 16 bytes"), std::string::npos);
    const Ran ptx = run({"disasm", "products/cuda_generated_triton", "--counts"});
    EXPECT_NE(ptx.out.find("come as PTX"), std::string::npos) << ptx.out << ptx.err;
    const Ran other = run({"disasm", "products/cuda_planes", "--counts", "--compute", "70"});
    EXPECT_EQ(other.code, 2);
    EXPECT_NE(other.err.find("--compute 70: this variant is compiled for"), std::string::npos);
}

// Where no disassembler is, the complaint names both tools and the way without them.
TEST(GpuDisasm, SaysWhatAListingNeeds) {
    if (kNvcc.empty()) GTEST_SKIP() << "this build has no GPU variants";
    if (access("/usr/local/cuda/bin/cuobjdump", X_OK) == 0 ||
        access("/usr/local/cuda/bin/nvdisasm", X_OK) == 0) {
        const Ran ran = run({"disasm", "token_row/cuda_planes"});
        EXPECT_EQ(ran.code, 0) << ran.err;
        EXPECT_NE(ran.out.find("LDG"), std::string::npos) << ran.out;
        return;
    }
    const Ran ran = run({"disasm", "token_row/cuda_planes"});
    EXPECT_EQ(ran.code, 2);
    for (const char* part : {"nvdisasm or cuobjdump", "/usr/local/cuda/bin", "--counts"}) {
        EXPECT_NE(ran.err.find(part), std::string::npos) << ran.err;
    }
    EXPECT_EQ(ran.out, "");
}

constexpr const char* kProducts = "type=q4_0,rows=4096,cols=2048,matrices=1,input=1,residual=1";

std::vector<std::string> duet(const std::string& a, const std::string& b,
                              const std::string& device) {
    std::vector<std::string> words = {"duet",    "--op",    "products", "--a",
                                      a,         "--b",     b,          "--shape",
                                      kProducts, "--coins", "0110010",  "--json"};
    if (!device.empty()) words.insert(words.end(), {"--device", device});
    return words;
}

TEST(GpuBench, ComplaintsSayWhatIsAllowed) {
    if (kNvcc.empty()) GTEST_SKIP() << "this build has no GPU variants";
    const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
        {{"bench", "--device", "gpu"}, "cpu, cuda, or cuda:N"},
        {{"bench", "--device", "cuda:x"}, "cpu, cuda, or cuda:N"},
        {{"bench", "--device", "cuda:"}, "cpu, cuda, or cuda:N"},
        {{"check", "--device", "cuda"}, "bench, duet and tune take it, not check"},
        {{"bench", "--device", "cuda", "--threads", "2"}, "leave them out"},
        {{"tune", "--device", "cuda", "--threads", "2"}, "leave them out"},
        {duet("cuda_planes", "cuda_floats", ""), "duet and tune take --device cuda too"},
        {duet("cuda_planes", "reference", "cuda"), "reference runs on the CPU"},
        {{"disasm", "add/reference", "--compute", "90"}, "runs on the CPU"},
    };
    for (const auto& [arguments, expected] : cases) {
        const Ran ran = run(arguments);
        EXPECT_EQ(ran.code, 2) << expected;
        EXPECT_NE(ran.err.find(expected), std::string::npos) << ran.err;
    }
}

// Whether there is no GPU here, or no variant of one in this build, which must be said.
bool found_no_gpu(const Ran& ran) {
    if (ran.code != 2) return false;
    const char* why = kNvcc.empty() ? "built without CUDA" : "GPU";
    EXPECT_NE(ran.err.find(why), std::string::npos) << ran.err;
    return true;
}

// With a GPU: times, rates and the roof. Without one: what is missing.
TEST(GpuBench, TimesAVariantOfTheGpu) {
    const Ran ran =
        run({"bench", "--device", "cuda", "--op", "products", "--variant", "cuda_planes", "--shape",
             kProducts, "--seconds", "0.002", "--repetitions", "3", "--json"});
    if (found_no_gpu(ran)) GTEST_SKIP() << ran.err;
    ASSERT_EQ(ran.code, 0) << ran.err;
    const auto document = nlohmann::json::parse(ran.out);
    EXPECT_GT(document.at("read_gb_per_s"), 100);
    const auto& row = document.at("results").at(0);
    EXPECT_GT(row.at("latency_ns_median"), 100) << row;
    EXPECT_GT(row.at("cold_copies"), 1) << row;
    EXPECT_LT(row.at("roofline").at("share_of_read_bandwidth"), 1.2) << row;
    EXPECT_FALSE(row.contains("times_reference"));
}

// One layout and two; each side has as many values, of times that a GPU takes.
TEST(GpuDuet, HasAValueOfEachCall) {
    for (const char* b : {"cuda_threads_512", "cuda_floats"}) {
        const Ran ran = run(duet("cuda_planes", b, "cuda"));
        if (found_no_gpu(ran)) GTEST_SKIP() << ran.err;
        ASSERT_EQ(ran.code, 0) << ran.err;
        const auto document = nlohmann::json::parse(ran.out);
        EXPECT_NE(document.at("gpu"), "");
        EXPECT_EQ(document.at("warmup"), 8);
        for (const char* side : {"a_ns", "b_ns"}) {
            ASSERT_EQ(document.at(side).size(), 7 * 4) << side;
            for (const double ns : document.at(side)) {
                EXPECT_GT(ns, 500) << side;
                EXPECT_LT(ns, 1e6) << side;
            }
        }
    }
}

TEST(GpuTune, FindsAVariantOfTheGpuAndRemembersIt) {
    const std::string cache = testing::TempDir() + "/gpu-tune-" + std::to_string(getpid());
    const std::vector<std::string> words = {"tune",    "--device", "cuda",    "--op", "products",
                                            "--shape", kProducts,  "--cache", cache,  "--json"};
    const Ran ran = run(words);
    if (found_no_gpu(ran)) GTEST_SKIP() << ran.err;
    ASSERT_EQ(ran.code, 0) << ran.err;
    const auto document = nlohmann::json::parse(ran.out);
    EXPECT_NE(document.at("gpu"), "");
    const auto& found = document.at("results").at(0);
    const std::string winner = found.at("winner").at("variant");
    EXPECT_EQ(winner.rfind("cuda_", 0), 0U) << winner;
    EXPECT_EQ(found.at("winner").at("arm").at("engine_flags").at("device"), "cuda");
    EXPECT_GT(found.at("rounds").at(0).size(), 8U) << found;
    EXPECT_EQ(nlohmann::json::parse(run(words).out).at("results").at(0).at("cached"), true);
    std::filesystem::remove(cache);
}

}  // namespace
}  // namespace steady::tool
