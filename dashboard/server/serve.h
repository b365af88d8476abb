// The dashboard as one call for the command line. It binds loopback by default; a wider bind needs
// a proxy that ends TLS. Reads without a token are allowed on loopback only, unless `--public-
// reads` is given.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dashboard/server/app.h"
#include "dashboard/server/http_server.h"

namespace steady {

struct ServeOptions {
    std::string database_url;
    std::string address = "127.0.0.1";
    std::uint16_t port = 8642;         // 0: a free one
    bool private_reads = false;        // reads need a token, on loopback too
    bool public_reads = false;         // behind a proxy: read without a token
    std::vector<std::string> proxies;  // who may bring requests of others; they end TLS
    std::vector<std::string> hosts;    // further names under which browsers reach this server
    int workers = 0;                   // database connections; 0: one for each CPU, 2 to 8
    std::string state_dir;             // health looks at its disk; empty: at none
    web::ShippedRecords shipped;
};

// Serves until SIGINT or SIGTERM, returns 0. Prints the address on stdout. Throws Error: address
// taken, database unreachable, a wide bind without a proxy that ends TLS, or reads that need a
// token when none exists.
int serve(const ServeOptions& options);

namespace web {

// All parts running together; what serve() and the tests use.
class Dashboard {
public:
    // make_source runs on the workers' threads.
    Dashboard(const ServeOptions& options, MakeSource make_source, HttpLimits limits = {});
    ~Dashboard();
    std::uint16_t port() const;
    App& app();
    void run(bool handle_signals);
    void stop();

private:
    struct Parts;
    void probe();
    std::unique_ptr<Parts> parts_;
};

}  // namespace web
}  // namespace steady
