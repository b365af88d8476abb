// One thread, one poll(). Bytes are copied through blocking writes: the other end is PostgreSQL or
// libpq, which always read.
#include "tests/support/tcp_proxy.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string_view>
#include <vector>

#include "kernels/base/error.h"

namespace steady {
namespace {

using std::chrono::steady_clock;

struct Order {
    char what = 0;
    int argument = 0;
};

struct Link {
    int client = -1, server = -1;
    bool drop_answer = false;  // a COMMIT went out; its answer ends the connection
};

void close_link(Link& link, bool with_reset) {
    if (with_reset) {
        const linger at_once{1, 0};
        ::setsockopt(link.client, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
    ::close(link.client);
    ::close(link.server);
    link.client = link.server = -1;
}

int connect_to(const std::string& path) {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
    ::close(fd);
    return -1;
}

bool write_all(int fd, const char* data, ssize_t n) {
    while (n > 0) {
        const ssize_t written = ::send(fd, data, static_cast<std::size_t>(n), MSG_NOSIGNAL);
        if (written <= 0) return false;
        data += written;
        n -= written;
    }
    return true;
}

class Loop {
public:
    Loop(int listener, int orders, std::string target)
        : listener_(listener), orders_(orders), target_(std::move(target)) {}

    [[noreturn]] void run() {
        for (;;) {
            std::vector<pollfd> waits{{orders_, POLLIN, 0}, {listener_, POLLIN, 0}};
            const bool quiet = steady_clock::now() < quiet_until_;
            for (const Link& link : links_) {
                waits.push_back({quiet ? -1 : link.client, POLLIN, 0});
                waits.push_back({quiet ? -1 : link.server, POLLIN, 0});
            }
            ::poll(waits.data(), waits.size(), quiet ? 10 : 1000);
            if (waits[0].revents != 0) obey();
            for (std::size_t i = 0; i < links_.size() && 3 + 2 * i < waits.size(); ++i) {
                if (waits[2 + 2 * i].revents != 0) pass(links_[i], true);
                if (links_[i].client >= 0 && waits[3 + 2 * i].revents != 0) pass(links_[i], false);
            }
            std::erase_if(links_, [](const Link& link) { return link.client < 0; });
            if (waits[1].revents != 0 && !quiet) accept_one();
        }
    }

private:
    void accept_one() {
        Link link{::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC), connect_to(target_)};
        if (link.client < 0 || link.server < 0) {
            close_link(link, true);
            return;
        }
        links_.push_back(link);
    }

    void obey() {
        Order order;
        if (::read(orders_, &order, sizeof order) != sizeof order) ::_exit(0);
        if (order.what == 'c' || order.what == 'r') {
            for (Link& link : links_) close_link(link, order.what == 'r');
            links_.clear();
        }
        if (order.what == 's') {
            quiet_until_ = steady_clock::now() + std::chrono::milliseconds(order.argument);
        }
        if (order.what == 'a') lose_answers_ = 2;
    }

    void pass(Link& link, bool from_client) {
        std::array<char, 65536> bytes{};
        const int from = from_client ? link.client : link.server;
        const ssize_t n = ::recv(from, bytes.data(), bytes.size(), 0);
        if (n <= 0 || (!from_client && link.drop_answer)) {
            close_link(link, link.drop_answer);
            return;
        }
        const std::string_view text(bytes.data(), static_cast<std::size_t>(n));
        if (from_client && lose_answers_ > 0 && text.find("COMMIT") != std::string_view::npos) {
            link.drop_answer = true;
            --lose_answers_;
        }
        if (!write_all(from_client ? link.server : link.client, bytes.data(), n)) {
            close_link(link, false);
        }
    }

    int listener_, orders_;
    std::string target_;
    std::vector<Link> links_;
    steady_clock::time_point quiet_until_{};
    int lose_answers_ = 0;
};

}  // namespace

TcpProxy::TcpProxy(std::string target) {
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    std::array<int, 2> orders{};
    if (::bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::listen(listener, 64) != 0 ||
        ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
        ::pipe(orders.data()) != 0) {
        throw Error{"the proxy cannot listen on loopback", kExitInternal};
    }
    port_ = ntohs(address.sin_port);
    pid_ = ::fork();
    if (pid_ == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::close(orders[1]);
        Loop(listener, orders[0], std::move(target)).run();
    }
    ::close(orders[0]);
    ::close(listener);
    commands_ = orders[1];
}

TcpProxy::~TcpProxy() {
    ::close(commands_);
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
}

std::string TcpProxy::url(const std::string& database) const {
    return fmt::format("postgresql://steady@127.0.0.1:{}/{}?sslmode=disable&gssencmode=disable",
                       port_, database);
}

void TcpProxy::command(char what, int argument) {
    const Order order{what, argument};
    [[maybe_unused]] const auto n = ::write(commands_, &order, sizeof order);
}

void TcpProxy::cut() { command('c'); }
void TcpProxy::reset() { command('r'); }
void TcpProxy::swallow(int ms) { command('s', ms); }
void TcpProxy::lose_commit_answers() { command('a'); }

}  // namespace steady
