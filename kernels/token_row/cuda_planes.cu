// The table in planes, which a tied output matrix shares with it.
#include "kernels/layouts/planes.h"
#include "kernels/token_row/cuda.h"

namespace steady::cuda_planes {

static void run(const TokenRow::Args& args, Range /*range*/) noexcept {
    cuda::run_token_row(args, false);
}

static const Variant<TokenRow> variant{"cuda_planes",
                                       {.compute = 80,
                                        .persistent = true,
                                        .granule = kWhole,
                                        .layout = planes::kLayout,
                                        .pack_rows = planes::kRows,
                                        .packed_bytes = planes::packed_bytes,
                                        .pack = planes::pack,
                                        .run = run}};

}  // namespace steady::cuda_planes
