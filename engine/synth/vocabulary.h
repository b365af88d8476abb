// A complete byte-level BPE vocabulary made from nothing: the 256 bytes, letter groups that merges
// build one letter at a time, the model's special tokens, and filler up to the true size. Loading
// and tokenising cost what they cost with the real one; what the groups mean does not matter.
#pragma once

#include "engine/gguf/writer.h"
#include "engine/synth/geometry.h"

namespace steady {

// Writes the tokenizer.ggml.* metadata.
void write_vocabulary(const Geometry& geometry, GgufWriter& writer);

}  // namespace steady
