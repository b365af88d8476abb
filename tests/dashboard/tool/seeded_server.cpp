// A server with made-up experiments, for looking at the page, for the browser tests and for load.
// Usage: seeded_server URL|private:DIR [--experiments N] [--samples M] [--port P] [--workers N]
// [--token SCOPE=TEXT …] [--record FILE …] [--series] [--no-serve]
#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "dashboard/server/serve.h"
#include "runner/base/sha256.h"
#include "runner/platform/files.h"
#include "runner/spec/spec.h"
#include "runner/storage/archive.h"
#include "runner/storage/migrate.h"
#include "runner/storage/private_cluster.h"
#include "runner/storage/store.h"
#include "tests/support/seed_records.h"

namespace {

struct Options {
    steady::SeedOptions seed;
    steady::ServeOptions serve;
    std::vector<std::string> tokens, records;  // records: archives that `steady export` wrote
    std::string private_dir;  // of a database cluster of our own, stopped at the end
    bool serve_after = true, series_only = false;
};

Options parse(int argc, char** argv) {
    Options options;
    const std::string where = argv[1];
    constexpr std::string_view kPrivate = "private:";
    if (where.starts_with(kPrivate)) options.private_dir = where.substr(kPrivate.size());
    options.seed.url = options.private_dir.empty()
                           ? where
                           : steady::private_cluster_url({.base_dir = options.private_dir});
    options.serve.database_url = options.seed.url;
    options.serve.port = 0;
    for (int i = 2; i < argc; ++i) {
        const std::string flag = argv[i];
        const std::string value = i + 1 < argc ? argv[i + 1] : "";
        if (flag == "--no-serve") {
            options.serve_after = false;
            continue;
        }
        if (flag == "--series") {
            options.series_only = true;
            continue;
        }
        ++i;
        if (flag == "--experiments") options.seed.n_experiments = std::stoi(value);
        if (flag == "--samples") options.seed.n_samples = std::stoll(value);
        if (flag == "--port") options.serve.port = static_cast<std::uint16_t>(std::stoi(value));
        if (flag == "--workers") options.serve.workers = std::stoi(value);
        if (flag == "--token") options.tokens.push_back(value);
        if (flag == "--record") options.records.push_back(value);
    }
    return options;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        fmt::print(stderr, "usage: seeded_server URL [--experiments N] [--samples M] [--port P]\n");
        return 2;
    }
    try {
        const Options options = parse(argc, argv);
        steady::migrate(options.seed.url);
        if (options.seed.n_experiments > 0) steady::seed_records(options.seed);
        if (options.series_only) steady::seed_series(options.seed.url, options.seed.seed);
        steady::Connection connection(
            {.url = options.seed.url, .role = steady::DatabaseRole::owner, .client = "import"});
        for (const std::string& file : options.records)
            steady::import_archive(connection, steady::read_file(file));
        steady::Store store(
            {.url = options.seed.url, .role = steady::DatabaseRole::owner, .client = "seed"});
        for (const std::string& token : options.tokens) {
            const std::size_t at = token.find('=');
            store.create_token({.name = token.substr(0, at),
                                .sha256 = steady::sha256_hex(token.substr(at + 1)),
                                .scopes = {token.substr(0, at)},
                                .created_at = {},
                                .expires_at = {}});
        }
        const int code = options.serve_after ? steady::serve(options.serve) : 0;
        if (!options.private_dir.empty()) steady::stop_private_cluster(options.private_dir);
        return code;
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
}
