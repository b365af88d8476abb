// Any bytes as what a client sends to the page, through a real socket. Whatever they are, the
// server answers the next request.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/dashboard/fake_source.h"
#include "tests/fuzz/target.h"

namespace {

steady::web::RunningDashboard& server() {
    // Never ended: its threads still serve when the last input has been tried.
    static auto* const running = new steady::web::RunningDashboard;
    return *running;
}

// Sends everything, then nothing more: the server need not wait for the rest of a request.
void send_all(std::uint16_t port, std::string_view bytes) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
        static_cast<void>(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL));
        ::shutdown(fd, SHUT_WR);
        timeval most{.tv_sec = 0, .tv_usec = 20000};  // an event stream does not end by itself
        ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
        char answer[4096];
        while (::recv(fd, answer, sizeof answer, 0) > 0) {
        }
    }
    ::close(fd);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    static unsigned count = 0;
    send_all(server().port(), steady::fuzz::text_of(bytes, size));
    if (++count % 100 != 0) return 0;
    const std::string alive =
        steady::web::exchange(server().port(), steady::web::get_request("/healthz"));
    if (steady::web::status_of(alive) != 200) std::abort();
    return 0;
}
