// Eight blocks of threads, which hand each other their best through shared memory. Expected: 620 KB
// of logits at eight multiprocessors' speed, and no word of memory that a pass would have to clear.
#include "kernels/cuda/cluster.h"
#include "kernels/greedy_token/search.h"

namespace steady::cuda_cluster {

static constexpr int kBlocks = 8;

static __global__ void __launch_bounds__(cuda::kGreedyThreads)
    greedy_kernel(const __grid_constant__ cuda::GreedyCall call) {
#if __CUDA_ARCH__ >= 900
    __shared__ cuda::Candidate of_block;
    cuda::wait_for_producers();
    const int first = cuda::Cluster::rank() * cuda::kGreedyThreads + static_cast<int>(threadIdx.x);
    const cuda::Candidate mine = cuda::best_of_block(call, first, kBlocks * cuda::kGreedyThreads);
    if (threadIdx.x == 0) of_block = mine;
    cuda::Cluster::meet();
    if (first == 0) {
        cuda::Candidate best = mine;
        for (int block = 1; block < kBlocks; ++block) {
            best = max(best, *cuda::Cluster::of(&of_block, block));
        }
        cuda::tell(call, best);
    }
    cuda::Cluster::meet();  // a block's shared memory lives as long as it is read
#endif
}

static void run(const GreedyToken::Args& args, Range /*range*/) noexcept {
    cuda::Size size;
    size.threads = cuda::kGreedyThreads;
    size.blocks = size.cluster = kBlocks;
    cuda::launch(greedy_kernel, size, cuda::greedy_call(args));
}

static const Variant<GreedyToken> variant{"cuda_cluster",
                                          {.compute = 90, .granule = kWhole, .run = run}};

}  // namespace steady::cuda_cluster
