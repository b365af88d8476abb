// The dashboard as one call for the command line. Binds loopback by default; wider only when
// readers must bring a token, or when it is said aloud that they need none.
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
    std::uint16_t port = 8642;       // 0: a free one
    bool public_reads = false;       // wider than loopback: read without a token
    std::vector<std::string> hosts;  // further names under which browsers reach this server
    int workers = 4;                 // database connections
};

// Serves until SIGINT or SIGTERM, returns 0. Prints the address on stdout. Throws Error: address
// taken, database unreachable, or a wide bind for which no token exists.
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
    std::unique_ptr<Parts> parts_;
};

}  // namespace web
}  // namespace steady
