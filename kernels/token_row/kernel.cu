// The embedding's rows: threads take a token's values one after the other.
#include "kernels/cuda/rows.h"
#include "kernels/token_row/cuda.h"

namespace steady::cuda {
namespace {

__global__ void token_row_kernel(Matrix table, const int* token, float* y) {
    let_consumers_start();
    wait_for_producers();
    const int step = (table.cols + 255) / 256 * 256;  // a token's threads
    const int t = static_cast<int>(blockIdx.x) / (step / 256);
    const int row = min(max(*reinterpret_cast<const volatile int*>(token + t), 0), table.rows - 1);
    const int begin = static_cast<int>(blockIdx.x * 256 + threadIdx.x) - t * step;
    y += static_cast<long long>(t) * table.cols;
    if (reads_floats(table)) {
        const float* from =
            reinterpret_cast<const float*>(table.w) + static_cast<long long>(row) * table.cols;
        for (int i = begin; i < table.cols; i += step) y[i] = __ldg(from + i);
        return;
    }
    with_form(table.form, [&](auto unit) {
        using U = decltype(unit);
        if constexpr (U::kBytes) {
            const RowParts at = U::row(table, row);
            for (int i = begin; i < table.cols; i += step) {
                unit.load(at, i / 32);
                y[i] = unit.value(i % 32);
            }
        }
    });
}

}  // namespace

void run_token_row(const TokenRow::Args& args, bool as_floats) {
    const Matrix table =
        device_matrix({args.shape.type, args.shape.rows, args.shape.cols, args.table}, as_floats);
    Size size;
    size.threads = 256;
    size.blocks = (table.cols + 255) / 256 * static_cast<int>(args.shape.n);
    launch(token_row_kernel, size, table, static_cast<const int*>(args.token), args.y);
}

}  // namespace steady::cuda
