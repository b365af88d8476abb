// Two groups of sixteen rows per pass: each broadcast of x serves both, and two memory streams run
// side by side. Expected: a gain where the weights are warm and broadcasts are the bound; none when
// they are cold, where one stream already keeps the memory busy.
#include "kernels/q4_0_matvec/rows16.h"

namespace steady {

static const Variant<Q4_0Matvec> variant{"avx512_vnni_rows16_pair",
                                         q4_0_rows16::pair_options<q4_0_rows16::EightBit<>>()};

}  // namespace steady
