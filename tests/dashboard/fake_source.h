// A source filled by hand, and a server over it on a free port, so that transport, permission and
// routing are tested without a database.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "dashboard/server/serve.h"

namespace steady::web {

// Tokens of the fake: the text is "<scope>-token".
MakeSource fake_source();

class RunningDashboard {
public:
    explicit RunningDashboard(HttpLimits limits = {}, ServeOptions options = {},
                              MakeSource source = fake_source());
    ~RunningDashboard();
    std::uint16_t port() const { return dashboard_.port(); }

private:
    Dashboard dashboard_;
    std::thread thread_;
};

// A client that sends exactly the bytes it is given.
class RawClient {
public:
    explicit RawClient(std::uint16_t port);
    ~RawClient();
    RawClient(const RawClient&) = delete;
    RawClient& operator=(const RawClient&) = delete;

    bool send(const std::string& bytes);  // false: the server closed
    // What arrives until the server closes, `until` appears or timeout_ms passed.
    std::string receive(const std::string& until = "", int timeout_ms = 5000);

private:
    int fd_ = -1;
};

// One request on a connection of its own; everything that came back.
std::string exchange(std::uint16_t port, const std::string& bytes);

// "HTTP/1.1 404 …" → 404; 0 when there is no answer.
int status_of(const std::string& response);

// A complete GET with a correct Host.
std::string get_request(const std::string& target, const std::string& extra = "");

}  // namespace steady::web
