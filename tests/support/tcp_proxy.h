// A network between worker and database that can be cut: a process of its own that listens on a
// loopback port, passes bytes to a unix socket, and does harm when told.
#pragma once

#include <sys/types.h>

#include <string>

namespace steady {

class TcpProxy {
public:
    // target: path of the unix socket to pass on to.
    explicit TcpProxy(std::string target);
    ~TcpProxy();
    TcpProxy(const TcpProxy&) = delete;
    TcpProxy& operator=(const TcpProxy&) = delete;

    int port() const { return port_; }
    std::string url(const std::string& database) const;

    void cut();            // both ends of every connection are closed in order
    void reset();          // RST to the client, whatever is in flight is lost
    void swallow(int ms);  // nothing passes and nothing is answered, connections stay open
    // The next COMMIT of each connection reaches the server; its answer never reaches the client.
    void lose_commit_answers();

private:
    void command(char what, int argument = 0);
    int port_ = 0, commands_ = -1;
    pid_t pid_ = -1;
};

}  // namespace steady
