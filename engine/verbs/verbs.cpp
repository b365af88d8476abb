// The table of verbs.
#include "engine/verbs/verbs.h"

#include <fmt/core.h>

#include <cstdio>
#include <exception>
#include <new>

#include "engine/protocol/error.h"

namespace steady {

const std::vector<Verb>& verbs() {
    static const std::vector<Verb> table{
        {"logits", "FILE", "the last position's logits for a list of tokens",
         "With --dump PREFIX every named intermediate of every position goes to PREFIX.bin and\n"
         "PREFIX.json.",
         true,
         {{"--tokens", "LIST", "token ids, e.g. 1,2,3"},
          {"--dump", "PREFIX", "write named intermediates"}},
         run_logits},
    };
    return table;
}

int report_error() {
    try {
        throw;
    } catch (const Error& error) {
        fmt::print(stderr, "steady-engine: {}\n", error.what());
        return error.exit_code;
    } catch (const std::bad_alloc&) {
        fmt::print(stderr, "steady-engine: out of memory; ask for less context or a smaller model\n");
    } catch (const std::exception& error) {
        fmt::print(stderr, "steady-engine: internal error: {}\n", error.what());
    }
    return kExitInternal;
}

}  // namespace steady
