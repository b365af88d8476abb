// The joined products on a GPU: a warp takes a row, and has asked for its first weights before it
// waits for the vector. Blocks take rows of one matrix only, so that they meet one weight type.
#include <algorithm>

#include "kernels/cuda/rows.h"
#include "kernels/products/cuda.h"

namespace steady::cuda {
namespace {

struct ProductsCall {
    Matrix m[Products::kMost];
    float* y[Products::kMost];
    int first_block[Products::kMost + 1];  // of each matrix; the last one: of all
    int rows_per_block;
    Source source;
    const float* residual;
};

template <class U, int kUnits>
__device__ void product_rows(const ProductsCall& call, int which, const Vector& x, float* parts) {
    constexpr int kN = kHeld<U, kUnits>;
    constexpr bool kAhead = U::kBytes && kUnits <= 2;
    const Matrix& m = call.m[which];
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int n_warps = static_cast<int>(blockDim.x) / 32;
    const int units = U::units(m.cols);
    const int begin =
        (static_cast<int>(blockIdx.x) - call.first_block[which]) * call.rows_per_block;
    const int end = min(m.rows, begin + call.rows_per_block);
    int row = begin + static_cast<int>(threadIdx.x) / 32;
    int first = lane;  // unit of this lane's first held one
    U held[kN];
    RowParts at = U::row(m, min(row, m.rows - 1));
    if (row < end) load_part(held, at, first, units);
    const float4 weights = first_weights(call.source);
    wait_for_producers();
    prepare(call.source, x, weights, parts);
    __syncthreads();
    float sum = 0;
    while (row < end) {
        const bool last = first - lane + 32 * kN >= units;
        const int next_row = last ? row + n_warps : row;
        const int next_first = last ? lane : first + 32 * kN;
        const bool more = next_row < end;
        if (last && more) at = U::row(m, next_row);
        if constexpr (kAhead) {
            U next[kN];
            if (more) load_part(next, at, next_first, units);
            sum += dot_part(held, x, first, units);
#pragma unroll
            for (int i = 0; i < kN; ++i) held[i] = next[i];
        } else {
            sum += dot_part(held, x, first, units);
            if (more) load_part(held, at, next_first, units);
        }
        if (last) {
            const float before =
                call.residual != nullptr && lane == 0 ? __ldcg(call.residual + row) : 0.0F;
            sum = warp_sum(sum);
            if (lane == 0) call.y[which][row] = before + sum;
            sum = 0;
        }
        row = next_row;
        first = next_first;
    }
}

template <int kUnits, int kOnly>
__global__ void __launch_bounds__(256, kUnits <= 2 ? 4 : 3)
    products_kernel(const __grid_constant__ ProductsCall call) {
    extern __shared__ uint4 memory[];
    let_consumers_start();
    auto* bytes = reinterpret_cast<unsigned char*>(memory);
    auto* parts = reinterpret_cast<float*>(bytes);
    const Vector x = vector_at(bytes + kPartsBytes, call.source.n);
    const int block = static_cast<int>(blockIdx.x);
    const int which = block >= call.first_block[2] ? 2 : block >= call.first_block[1] ? 1 : 0;
    with_form_of<kOnly>(call.m[which].form, [&](auto unit) {
        product_rows<decltype(unit), kUnits>(call, which, x, parts);
    });
}

}  // namespace

void run_products(const Products::Args& args, bool as_floats) {
    ProductsCall call = {};
    int rows = 0, n = 0;
    for (std::size_t i = 0; i < args.m.size() && args.m[i].present(); ++i) {
        call.m[i] = device_matrix(args.m[i], as_floats);
        call.y[i] = args.y[i];
        rows += call.m[i].rows;
        ++n;
    }
    const bool normed = args.norm != nullptr, is_gated = args.up != nullptr;
    bool bytes = false;
    for (int i = 0; i < n; ++i) bytes = bytes || !reads_floats(call.m[i]);
    const int cols = static_cast<int>(args.shape.cols);
    call.source = {args.x,
                   normed ? args.norm : args.up,
                   args.eps,
                   cols,
                   normed     ? Make::normed
                   : is_gated ? Make::gated
                              : Make::plain,
                   bytes};
    call.residual = args.residual;
    Size size;
    size.threads = rows <= 512 ? 128 : 256;
    const int warps = size.threads / 32, most = 4 * multiprocessors();
    call.rows_per_block = std::max(1, (rows + warps * most - 1) / (warps * most)) * warps;
    for (int i = 0; i < Products::kMost; ++i) {
        const int own =
            i < n ? (call.m[i].rows + call.rows_per_block - 1) / call.rows_per_block : 0;
        call.first_block[i + 1] = call.first_block[i] + own;
    }
    size.blocks = call.first_block[Products::kMost];
    size.shared_bytes = kPartsBytes + vector_bytes(cols, bytes);
    const bool narrow = cols <= 2048;
    bool same = true;
    for (int i = 1; i < n; ++i) same = same && call.m[i].form == call.m[0].form;
    const Form form = call.m[0].form;
    if (same && form == Form::q4_0) {
        return narrow ? launch(products_kernel<2, only(Form::q4_0)>, size, call)
                      : launch(products_kernel<5, only(Form::q4_0)>, size, call);
    }
    if (same && narrow && form == Form::q6_k) {
        return launch(products_kernel<2, only(Form::q6_k)>, size, call);
    }
    if (same && narrow && form == Form::floats) {
        return launch(products_kernel<2, only(Form::floats)>, size, call);
    }
    narrow ? launch(products_kernel<2, kAnyForm>, size, call)
           : launch(products_kernel<5, kAnyForm>, size, call);
}

}  // namespace steady::cuda
