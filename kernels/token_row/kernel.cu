// Enqueues the embedding's rows.
#include "kernels/token_row/body.h"
#include "kernels/token_row/cuda.h"

namespace steady::cuda {

void run_token_row(const TokenRow::Args& args, bool as_floats) {
    const Matrix table =
        device_matrix({args.shape.type, args.shape.rows, args.shape.cols, args.table}, as_floats);
    Size size;
    size.threads = TokenRowBody::kThreads;
    size.blocks = (table.cols + 255) / 256 * static_cast<int>(args.shape.n);
    launch_body<TokenRowBody>(size, {table, static_cast<const int*>(args.token), args.y});
}

}  // namespace steady::cuda
