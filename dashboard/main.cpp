// steady-page, which `steady serve` becomes: the options of its command line as those of the
// server.
#include <fmt/format.h>

#include <algorithm>

#include "dashboard/server/serve.h"
#include "kernels/base/error.h"
#include "runner/cli/command_line.h"
#include "runner/cli/exchange.h"
#include "runner/cli/records.h"
#include "runner/cli/verbs.h"
#include "runner/cli/workspace.h"
#include "runner/platform/files.h"
#include "runner/storage/migrate.h"

namespace steady {
namespace {

int serve_page(const Arguments& arguments) {
    ServeOptions options;
    options.database_url = database_url(arguments.get("db"), true);
    try {
        Store store = open_store(arguments);
        learn_shipped(store);
    } catch (const Error& error) {
        fmt::print(stderr, "the page will not find the records of this checkout: {}\n",
                   error.what());
    }
    options.shipped.records = static_cast<int>(shipped_records().size());
    options.shipped.import = [&arguments](const std::function<bool(int, int)>& told) {
        import_shipped(arguments, told);
    };
    options.address = arguments.get("bind", "127.0.0.1");
    options.port = static_cast<std::uint16_t>(arguments.number("port", 8642, 0, 65535));
    options.public_reads = arguments.has("public-reads");
    options.state_dir = state_dir();
    options.private_reads = arguments.has("private-reads");
    options.hosts = split_list(arguments.get("host"));
    options.proxies = split_list(arguments.get("behind-proxy"));
    return serve(options);
}

// The verb of the command line's table, served here.
Verb page_verb() {
    const auto all = verbs();
    Verb verb =
        *std::find_if(all.begin(), all.end(), [](const Verb& one) { return one.name == "serve"; });
    verb.run = serve_page;
    return verb;
}

}  // namespace
}  // namespace steady

int main(int argc, char** argv) {
    const steady::Verb verb = steady::page_verb();
    return steady::run_program({&verb, 1}, argc, argv);
}
