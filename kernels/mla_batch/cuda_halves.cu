// All heads of several tokens share a tile of the cache: scores and sums are products of halves in
// the tensor cores, the softmax goes along (one pass over the cache), and the query's, keys' and
// values' matrices are tiles as in op products_batch. Expected: attention a small part of a
// prompt's time up to thousands of positions.
#include "kernels/cuda/tiles.h"
#include "kernels/layouts/planes.h"
#include "kernels/mla_batch/cuda.h"

namespace steady::cuda_halves {
namespace {

cuda::TileProduct product_of(const AnyMatrix& m, const cuda::Vectors& x, const MlaBatchShape& s,
                             std::int64_t groups, float* y) {
    cuda::TileProduct product = {};
    product.m[0] = cuda::device_matrix(m, false);
    product.y[0] = y;
    product.y_stride[0] = product.m[0].rows;
    product.y_group_step = product.m[0].rows / static_cast<int>(groups);
    product.matrices = 1;
    product.groups = static_cast<int>(groups);
    product.n = static_cast<int>(s.n);
    product.x = x;
    return product;
}

bool keeps_floats(const AnyMatrix& m) { return cuda::reads_floats(cuda::device_matrix(m, false)); }

void run(const MlaBatch::Args& args, Range /*range*/) noexcept {
    const MlaBatchShape& s = args.shape;
    const MlaDecode::Args& first = args.first;
    cuda::Room room(args.scratch);
    cuda::write_rows(args);
    const float* q = first.q;
    if (s.q_rank != 0) {
        const cuda::Vectors x = room.vectors(s.n, s.q_rank, keeps_floats(first.q_b));
        const auto rank = static_cast<int>(s.q_rank);
        cuda::make_vectors(
            {{first.q, first.q_norm, first.eps, rank, cuda::Make::normed, false}, rank, 0, s.n}, x);
        auto* heads = room.take<float>(s.n * s.n_heads * s.head_size());
        cuda::multiply_tiles(product_of(first.q_b, x, s, 1, heads));
        q = heads;
    }
    const cuda::Vectors nope = room.vectors(s.n * s.n_heads, s.n_nope, keeps_floats(first.k_b));
    cuda::make_vectors({{q, nullptr, 0, static_cast<int>(s.n_nope), cuda::Make::plain, false},
                        s.head_size(),
                        0,
                        s.n * s.n_heads},
                       nope);
    auto* latent = room.take<float>(s.n * s.n_heads * s.kv_rank);
    cuda::multiply_tiles(product_of(first.k_b, nope, s, s.n_heads, latent));
    cuda::Vectors sums = room.vectors(s.n * s.n_heads, s.kv_rank, keeps_floats(first.v_b));
    auto* rows = room.take<unsigned short>(
        s.n_positions * (cuda::padded_to_depth(s.kv_rank) + cuda::padded_to_depth(s.n_rot)));
    cuda::attend_tiles(args, q, latent, cuda::half_rows(args, rows), sums.halves, sums.floats);
    sums.scale = nullptr;
    cuda::multiply_tiles(product_of(first.v_b, sums, s, s.n_heads, first.out));
}

bool supports(const MlaBatchShape& s) {
    return s.kv_rank <= cuda::kMostBatchRank &&
           cuda::padded_to_depth(s.kv_rank) + cuda::padded_to_depth(s.n_rot) <=
               cuda::kMostBatchWidth;
}

}  // namespace

static const Variant<MlaBatch> variant{"cuda_halves",
                                       {.compute = 90,
                                        .supports = supports,
                                        .granule = kWhole,
                                        .input = Input::q8,
                                        .layout = planes::kLayout,
                                        .pack_rows = planes::kRows,
                                        .packed_bytes = planes::packed_bytes,
                                        .pack = planes::pack,
                                        .run = run}};

}  // namespace steady::cuda_halves
