// The session: the runner's requests in, replies out, one JSON object per line. A request that is
// wrong gets an error reply and the session goes on; only `quit` or the end of input ends it.
#pragma once

#include <iosfwd>
#include <string>

namespace steady {

// Serves until quit or end of input. weights_descriptor: a memory file for the weights that
// outlives this process, or -1. Error only if the model file itself cannot be opened, or the memory
// file is not for it.
void serve_session(const std::string& model_path, std::istream& in, std::ostream& out,
                   int weights_descriptor = -1);

}  // namespace steady
