// The session: the runner's requests in, replies out, one JSON object per line. A request that is
// wrong gets an error reply and the session goes on; only `quit` or the end of input ends it.
#pragma once

#include <iosfwd>
#include <string>

namespace steady {

// Serves until quit or end of input. Error only if the model file itself cannot be opened.
void serve_session(const std::string& model_path, std::istream& in, std::ostream& out);

}  // namespace steady
