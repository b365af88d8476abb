// Sockets, deadlines and limits. Hostile clients are handled here, before a handler sees a request.
// Handlers run on other threads (see app.h) unless they are quick.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dashboard/server/http.h"

namespace steady::web {

struct HttpLimits {
    std::uint32_t header_bytes = 16 * 1024;
    int header_fields = 100;
    std::uint64_t body_bytes = 1024 * 1024;
    std::size_t url_bytes = 8 * 1024;
    int header_deadline_ms = 5000;    // from the first byte (or the connection) to the last header
    int request_deadline_ms = 10000;  // the same, to the end of the body
    int answer_deadline_ms = 10000;   // how long a reader may take for one response
    int idle_ms = 60000;              // between two requests of one connection
    int connections = 800;
    int connections_per_address = 40;  // loopback and proxies are exempt
    std::vector<std::string> proxies;
    int event_streams = 200;
    int event_interval_ms = 1000;
    int heartbeat_ms = 15000;
    std::size_t event_backlog_bytes = 64 * 1024;
};

struct HttpCounts {
    int connections = 0, event_streams = 0;
    std::uint64_t accepted = 0, refused = 0, requests = 0, malformed = 0, timeouts = 0;
};

// What answers requests. `quick` runs on the network thread and must not block: it returns a
// response, or nothing when the request needs a worker. `submit` hands it to one and returns false
// when all are busy; the callback may come from any thread.
struct Answerer {
    std::function<std::optional<Response>(Request&)> quick;
    std::function<bool(Request, std::function<void(Response)>)> submit;
};

class HttpServer {
public:
    // Binds and listens. port 0 takes a free one. Throws Error when the address is taken or bad.
    HttpServer(const std::string& address, std::uint16_t port, HttpLimits limits,
               Answerer answerer);
    ~HttpServer();
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    std::uint16_t port() const;
    HttpCounts counts() const;  // from the network thread only (a quick answer), or after run()

    // Serves until stop() or, if asked to handle signals, SIGINT or SIGTERM.
    void run(bool handle_signals);
    void stop();  // from any thread

private:
    struct State;
    std::unique_ptr<State> state_;
};

// True for an address of this machine's loopback (127.0.0.0/8, ::1, ::ffff:127…).
bool is_loopback(const std::string& address);

// One spelling for each address: "::ffff:10.0.0.2" is "10.0.0.2". Empty: it is none.
std::string plain_address(const std::string& address);

}  // namespace steady::web
