// Any bytes as a line between runner and engine, in both directions. What is understood is written
// and read once more, to the same line.
#include <cstdlib>

#include "engine/protocol/session_json.h"
#include "tests/fuzz/target.h"

namespace {

template <class Read>
void back_and_forth(const std::string& line, Read read) {
    steady::fuzz::may_refuse([&] {
        const std::string written = steady::protocol::to_line(read(line));
        if (steady::protocol::to_line(read(written)) != written) std::abort();
    });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string line(steady::fuzz::text_of(bytes, size));
    back_and_forth(line, steady::protocol::request_from_line);
    back_and_forth(line, steady::protocol::reply_from_line);
    return 0;
}
