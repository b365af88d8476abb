// The best experts by a partial sort of all of them, the library's own.
// Expected: behind avx512, whose passes are vector compares; what a framework's top-k costs.
#include "kernels/moe_router/parts_avx512.h"

namespace steady {

using namespace router_avx512;

static const Variant<MoeRouter> variant{"avx512_sort",
                                        options<Divide::exactly, Choose::sort, Scale::folded>()};

}  // namespace steady
