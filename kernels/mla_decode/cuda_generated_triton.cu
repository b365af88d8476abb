// The way over the cache as Triton generated it from triton_attention.py, with the configurations
// that its autotuner chose, at any depth: tiles of positions that all heads share, and the join of
// their sums with the heads' values. Queries and the new row are hand-written, since a head's
// products depend on each other. The kernel is query_kernel of kernel_deep.cu again: that file is
// part of what block_decode's default was measured with, and stays as it is. A call with another
// cache, latent or type falls back on cuda_cluster. Expected: near it deep in a text; slower in the
// beginning, where cuda_cluster needs one launch and Triton, which has no clusters of blocks,
// three.
#include "kernels/layouts/planes.h"
#include "kernels/mla_decode/head.h"
#include "kernels/mla_decode/triton_launch.h"

namespace steady {
namespace cuda {

__global__ static void __launch_bounds__(kThreads, 2)
    triton_query(const __grid_constant__ MlaCall call, __half* query) {
    using U = Unit<Form::q4_0>;
    extern __shared__ uint4 memory[];
    let_consumers_start();
    const Team team = Team::own();
    const int rank = call.latent.n, head_size = call.n_nope + call.n_rot;
    const int widest = max(max(call.ranked ? call.query.n : 0, call.n_nope), rank);
    const Memory m = memory_at(reinterpret_cast<unsigned char*>(memory), widest, head_size,
                               rank + call.n_rot, rank);
    const int head = static_cast<int>(blockIdx.x) / team.size;
    HeadProduct<U, 4> q_b(call.q_b, head * head_size, call.ranked ? head_size : 0, team);
    HeadProduct<U, 2> k_b(call.k_b, head * rank, rank, team);
    const float4 weights = call.ranked ? first_weights(call.query) : float4{};
    if (call.ranked) q_b.ask();
    k_b.ask();
    wait_for_producers();
    const int position = __ldcg(call.position);
    if (call.ranked) {
        prepare(call.query, m.v, weights, m.parts);
    } else {
        for (int i = static_cast<int>(threadIdx.x); i < head_size; i += kThreads) {
            m.head[i] = __ldcg(call.q + head * head_size + i);
        }
    }
    make_row(call, m, position, blockIdx.x == 0);
    team.meet();
    if (call.ranked) {
        q_b.finish(m.v, [&](int row, float value, int lane, int lanes) {
            for (int b = lane; b < team.size; b += lanes) team.of(m.head, b)[row] = value;
        });
        team.meet();
    }
    take_vector(m.v, m.head, call.n_nope, !reads_floats(call.k_b));
    rotate(call, position, m.head + call.n_nope, m.query + rank);
    __syncthreads();
    __half* out = query + head * (rank + call.n_rot);
    const int t = static_cast<int>(threadIdx.x);
    if (team.rank == 0 && t < call.n_rot) out[rank + t] = __float2half_rn(m.query[rank + t]);
    k_b.finish(m.v, [&](int row, float value, int lane, int /*lanes*/) {
        if (lane == 0) out[row] = __float2half_rn(value);
    });
}

void run_triton_query(const MlaDecode::Args& args) {
    Size size;
    size.threads = kThreads;
    size.cluster = kTritonCluster;
    size.blocks = static_cast<int>(args.shape.n_heads) * kTritonCluster;
    size.shared_bytes = memory_of(args.shape);
    launch(triton_query, size, call_of(args, false), static_cast<__half*>(scratch_of(args).query));
}

}  // namespace cuda

static void run(const MlaDecode::Args& args, Range /*range*/) noexcept {
    cuda::run_triton_attention<cuda::kTritonAutotunerTiles, cuda::kTritonAutotunerJoin>(args);
}

static bool supports(const MlaDecodeShape& shape) {
    return cuda::attention_fits(shape) && cuda::heads_align(shape);
}

static const Variant<MlaDecode> variant{"cuda_generated_triton",
                                        {.compute = 90,
                                         .supports = supports,
                                         .granule = kWhole,
                                         .input = Input::q8,
                                         .layout = planes::kLayout,
                                         .pack_rows = planes::kRows,
                                         .packed_bytes = planes::packed_bytes,
                                         .pack = planes::pack,
                                         .run = run}};

}  // namespace steady
