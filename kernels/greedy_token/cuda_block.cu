// One block of threads, for GPUs without clusters.
#include "kernels/greedy_token/search.h"

namespace steady::cuda_block {

static __global__ void __launch_bounds__(cuda::kGreedyThreads)
    greedy_kernel(const __grid_constant__ cuda::GreedyCall call) {
    cuda::wait_for_producers();
    const cuda::Candidate best =
        cuda::best_of_block(call, static_cast<int>(threadIdx.x), cuda::kGreedyThreads);
    if (threadIdx.x == 0) cuda::tell(call, best);
}

static void run(const GreedyToken::Args& args, Range /*range*/) noexcept {
    cuda::Size size;
    size.threads = cuda::kGreedyThreads;
    cuda::launch(greedy_kernel, size, cuda::greedy_call(args));
}

static const Variant<GreedyToken> variant{"cuda_block",
                                          {.compute = 80, .granule = kWhole, .run = run}};

}  // namespace steady::cuda_block
