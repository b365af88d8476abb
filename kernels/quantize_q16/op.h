// Brings a vector into the q16 form (kernels/quantize_q8/op.h): two bytes per value.
#pragma once

#include "kernels/quantize_q8/op.h"

namespace steady {

using QuantizeQ16 = QuantizeOp<true>;

}  // namespace steady
