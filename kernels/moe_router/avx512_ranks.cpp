// The best experts by pairwise ranks: an expert's place is the number of experts that beat it, so
// no place waits for the one before. Expected: behind avx512 on a CPU, at n² compares for n · k; on
// a GPU, where every expert has a thread, the idea wins.
#include "kernels/moe_router/parts_avx512.h"

namespace steady {

using namespace router_avx512;

static const Variant<MoeRouter> variant{"avx512_ranks",
                                        options<Divide::exactly, Choose::ranks, Scale::folded>()};

}  // namespace steady
