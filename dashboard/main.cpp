// steady: parse the command line, run the verb, turn an Error into one line and its exit code. It
// stands here, above the runner and the page, since it joins the two.
#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "dashboard/serve_page.h"
#include "kernels/base/error.h"
#include "runner/cli/command_line.h"
#include "runner/cli/exit_map.h"
#include "runner/cli/verbs.h"

int main(int argc, char** argv) {
    using namespace steady;
    set_page(serve_page);
    try {
        Parsed parsed = parse_command_line(verbs(), {argv + 1, argv + argc});
        if (parsed.verb == nullptr) {
            fmt::print("{}", parsed.help);
            return kExitOk;
        }
        add_settings(*parsed.verb, parsed.arguments);
        return parsed.verb->run(parsed.arguments);
    } catch (const Error& error) {
        fmt::print(stderr, "steady: {}\n", error.what());
        return error_exit(error.exit_code, argc, argv);
    } catch (const std::exception& error) {
        fmt::print(stderr, "steady: internal error: {}\n", error.what());
        return error_exit(kExitInternal, argc, argv);
    }
}
