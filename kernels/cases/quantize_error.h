// The judge of a quantised vector.
#pragma once

#include <cstdint>

namespace steady {

// Error over its bound of n values (a multiple of 32): each value may be half a step from its
// float, or a 256th of a step with second bytes (`low` not null; a half rounded up saturates); the
// scale is max|x| / 127 but for two roundings, and the sums agree with the values. Infinity when a
// sum does not, or for the value -128.
double worst_quantize_error(const float* x, const std::int8_t* q8, const std::int8_t* low,
                            const float* scale, const std::int32_t* sum, std::int64_t n);

}  // namespace steady
