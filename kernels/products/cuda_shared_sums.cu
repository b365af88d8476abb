// As cuda_planes, but the lanes of a warp add up through shared memory, by one lane, where
// cuda_planes shuffles. Expected: four blocks of GLM-4.7-Flash and the output matrix, blocks in
// parts, decode 2 to 15 % slower: a row takes 32 reads of one lane more.
#include "kernels/layouts/planes.h"
#include "kernels/products/body_ways.h"

namespace steady::cuda_shared_sums {

static void run(const Products::Args& args, Range /*range*/) noexcept {
    cuda::run_products_by<cuda::ReadOnce, cuda::SumInShared>(
        args, [](auto body, const cuda::Size& size, const cuda::ProductsCall& call) {
            cuda::launch_body<decltype(body)>(size, call);
        });
}

static const Variant<Products> variant{"cuda_shared_sums",
                                       {.compute = 90,
                                        .granule = kWhole,
                                        .input = Input::q8,
                                        .layout = planes::kLayout,
                                        .pack_rows = planes::kRows,
                                        .packed_bytes = planes::packed_bytes,
                                        .pack = planes::pack,
                                        .run = run}};

}  // namespace steady::cuda_shared_sums
