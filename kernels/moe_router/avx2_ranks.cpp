// The best experts by pairwise ranks with AVX2: an expert's place is the number of experts that
// beat it. Expected: behind avx2, at n² compares for n · k, as avx512_ranks is behind avx512.
#include "kernels/moe_router/parts_avx2.h"

namespace steady {

using namespace router_avx2;

static const Variant<MoeRouter> variant{"avx2_ranks",
                                        options<Divide::exactly, Choose::ranks, Scale::folded>()};

}  // namespace steady
