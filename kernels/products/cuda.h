// What the GPU variants of the joined products, and ops that begin with a product, enqueue.
#pragma once

#include "kernels/products/op.h"

namespace steady::cuda {

// as_floats: the matrices lie as floats, whatever their types; else in planes.
void run_products(const Products::Args& args, bool as_floats);

}  // namespace steady::cuda
