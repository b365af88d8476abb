// The table in Q6_K, in the layout where it also lies as half floats, which are not read here.
#include "kernels/cuda/launch.h"
#include "kernels/cuda/units_of_both.h"
#include "kernels/token_row/op.h"

namespace steady::cuda_planes_of_both {

static constexpr int kThreads = 256;
static constexpr cuda::Form kForm = cuda::form_of_both(Type::q6_k, cuda::Copy::planes);

// A thread takes a value of a token; its blocks follow each other.
static __global__ void __launch_bounds__(kThreads)
    row_kernel(const __grid_constant__ cuda::Matrix table, const int* token, float* y) {
    using U = cuda::Unit<kForm>;
    cuda::let_consumers_start();
    cuda::wait_for_producers();
    const int blocks = (table.cols + kThreads - 1) / kThreads;
    const int t = static_cast<int>(blockIdx.x) / blocks;
    const int i = static_cast<int>(blockIdx.x) % blocks * kThreads + static_cast<int>(threadIdx.x);
    if (i >= table.cols) return;
    const int row = min(max(*reinterpret_cast<const volatile int*>(token + t), 0), table.rows - 1);
    U unit;
    unit.load(U::row(table, row), i / 32);
    y[static_cast<long long>(t) * table.cols + i] = unit.value(i % 32);
}

static void run(const TokenRow::Args& args, Range /*range*/) noexcept {
    const cuda::Matrix table =
        cuda::device_matrix({args.shape.type, args.shape.rows, args.shape.cols, args.table}, false);
    cuda::Size size;
    size.threads = kThreads;
    size.blocks = (table.cols + kThreads - 1) / kThreads * static_cast<int>(args.shape.n);
    cuda::launch(row_kernel, size, table, static_cast<const int*>(args.token), args.y);
}

static bool supports(const TokenRowShape& shape) { return shape.type == Type::q6_k; }

static const Variant<TokenRow> variant{"cuda_planes_of_both",
                                       {.compute = 90,
                                        .supports = supports,
                                        .granule = kWhole,
                                        .layout = planes::kBothLayout,
                                        .pack_rows = planes::kRows,
                                        .packed_bytes = planes::packed_bytes_of_both,
                                        .pack = planes::pack_both,
                                        .run = run}};

}  // namespace steady::cuda_planes_of_both
