// Gate and up of sixteen hidden values at a time in the layout rows16, SwiGLU and quantisation in
// the epilogue; then down, with the experts' weights folded into the sum of sixteen outputs at a
// time. Expected: bound by memory, since nothing is read twice and nothing is written between.
#include "kernels/q4_0_experts/rows16.h"

namespace steady {

static const Variant<Q4_0Experts> variant{"avx512_vnni_rows16",
                                          q4_0_rows16::experts_options<q4_0_rows16::EightBit<>>()};

}  // namespace steady
