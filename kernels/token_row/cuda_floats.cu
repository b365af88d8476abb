// The table as floats: what it costs in memory is its only difference.
#include "kernels/layouts/planes.h"
#include "kernels/token_row/cuda.h"

namespace steady::cuda_floats {

static void run(const TokenRow::Args& args, Range /*range*/) noexcept {
    cuda::run_token_row(args, true);
}

static const Variant<TokenRow> variant{"cuda_floats",
                                       {.compute = 80,
                                        .granule = kWhole,
                                        .layout = planes::kFloatLayout,
                                        .packed_bytes = planes::float_bytes,
                                        .pack = planes::pack_floats,
                                        .run = run}};

}  // namespace steady::cuda_floats
