// `steady serve`: the options of the command line as those of the server.
#include "dashboard/serve_page.h"

#include <fmt/format.h>

#include "dashboard/server/serve.h"
#include "kernels/base/error.h"
#include "runner/cli/exchange.h"
#include "runner/cli/records.h"
#include "runner/cli/workspace.h"
#include "runner/platform/files.h"
#include "runner/storage/migrate.h"

namespace steady {

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

}  // namespace steady
