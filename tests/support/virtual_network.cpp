// Packets are IPv4, read whole from a TUN device; the last byte of an address is the host.
#include "tests/support/virtual_network.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <new>
#include <random>

#include "kernels/base/error.h"

namespace steady {
namespace {

using std::chrono::steady_clock;

constexpr const char* kDevice = "steady0";

void need(bool good, const char* what) {
    if (!good) throw Error{fmt::format("{}: {}", what, std::strerror(errno)), kExitInternal};
}

sockaddr as_address(const std::string& text) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    ::inet_pton(AF_INET, text.c_str(), &in.sin_addr);
    sockaddr any{};
    std::memcpy(&any, &in, sizeof any);
    return any;
}

ifreq request_for(const char* device) {
    ifreq request{};
    std::strncpy(request.ifr_name, device, IFNAMSIZ - 1);
    return request;
}

void bring_up(int control, const char* device) {
    ifreq request = request_for(device);
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    need(::ioctl(control, SIOCSIFFLAGS, &request) == 0, "bringing up a device");
}

// Which host an address belongs to, or -1. at: where the address stands in the packet.
int host_at(const std::vector<char>& packet, std::size_t at, int n_hosts) {
    if (packet.size() < 20 || (static_cast<unsigned char>(packet[0]) >> 4U) != 4) return -1;
    const int host = static_cast<unsigned char>(packet[at + 3]) - 1;
    return host >= 0 && host < n_hosts ? host : -1;
}

}  // namespace

std::string VirtualNetwork::address(int host) { return fmt::format("10.77.0.{}", host + 1); }

std::string VirtualNetwork::why_not() {
    if (::geteuid() != 0) return "making networks needs root";
    const Fd device{::open("/dev/net/tun", O_RDWR | O_CLOEXEC)};
    if (device.get() < 0) return fmt::format("/dev/net/tun: {}", std::strerror(errno));
    const pid_t child = ::fork();
    if (child == 0) ::_exit(::unshare(CLONE_NEWNET) == 0 ? 0 : 1);
    int status = 1;
    ::waitpid(child, &status, 0);
    return status == 0 ? "" : "this machine's rules forbid new network namespaces";
}

VirtualNetwork::VirtualNetwork(int n_hosts, std::uint64_t seed) {
    void* memory =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    need(memory != MAP_FAILED, "shared memory");
    shared_ = new (memory) Shared{};
    const Fd home{::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)};
    for (int host = 0; host < n_hosts; ++host) make_host(host, home.get());
    middle_ = ::fork();
    if (middle_ == 0) pass_packets(seed);
}

VirtualNetwork::~VirtualNetwork() {
    if (middle_ > 0) {
        ::kill(middle_, SIGKILL);
        ::waitpid(middle_, nullptr, 0);
    }
    ::munmap(shared_, sizeof(Shared));
}

void VirtualNetwork::make_host(int host, int home) {
    need(::unshare(CLONE_NEWNET) == 0, "a new network namespace");
    namespaces_.emplace_back(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    devices_.emplace_back(::open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK));
    ifreq request = request_for(kDevice);
    request.ifr_flags = IFF_TUN | IFF_NO_PI;
    need(::ioctl(devices_.back().get(), TUNSETIFF, &request) == 0, "a TUN device");
    const Fd control{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    request = request_for(kDevice);
    request.ifr_addr = as_address(address(host));
    need(::ioctl(control.get(), SIOCSIFADDR, &request) == 0, "an address");
    request.ifr_netmask = as_address("255.255.255.0");
    need(::ioctl(control.get(), SIOCSIFNETMASK, &request) == 0, "a netmask");
    bring_up(control.get(), kDevice);
    bring_up(control.get(), "lo");
    need(::setns(home, CLONE_NEWNET) == 0, "going back to the first network");
}

void VirtualNetwork::enter(int host) const {
    need(::setns(namespaces_.at(static_cast<std::size_t>(host)).get(), CLONE_NEWNET) == 0,
         "joining a network");
}

void VirtualNetwork::set_delay_ms(int each_way) { shared_->delay_ms = each_way; }
void VirtualNetwork::set_loss(double share) {
    shared_->loss_permille = static_cast<int>(1000 * share);
}
void VirtualNetwork::cut(int one, int other, bool is_cut) {
    shared_->is_cut[one][other] = is_cut;
    shared_->is_cut[other][one] = is_cut;
}
void VirtualNetwork::isolate(int host, bool is_cut) {
    for (int other = 0; other < kMostHosts; ++other) cut(host, other, is_cut);
}
void VirtualNetwork::heal() {
    set_delay_ms(0);
    set_loss(0);
    for (int host = 0; host < kMostHosts; ++host) isolate(host, false);
}

VirtualNetwork::Counts VirtualNetwork::counts() const {
    return {shared_->passed, shared_->lost, shared_->cut};
}

void VirtualNetwork::pass_packets(std::uint64_t seed) const {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::mt19937_64 random(seed);
    const int n_hosts = static_cast<int>(devices_.size());
    std::vector<pollfd> waits;
    for (const Fd& device : devices_) waits.push_back({device.get(), POLLIN, 0});
    struct Packet {
        int to = 0;
        std::vector<char> bytes{};
    };
    std::multimap<steady_clock::time_point, Packet> under_way;  // equal times keep their order
    for (;;) {
        int wait_ms = 1000;
        if (!under_way.empty()) {
            const auto left = under_way.begin()->first - steady_clock::now();
            wait_ms = static_cast<int>(std::max<std::int64_t>(
                0, std::chrono::ceil<std::chrono::milliseconds>(left).count()));
        }
        ::poll(waits.data(), waits.size(), wait_ms);
        const auto now = steady_clock::now();
        std::array<char, 65536> buffer;
        for (int from = 0; from < n_hosts; ++from) {
            const int device = devices_[static_cast<std::size_t>(from)].get();
            ssize_t n = 0;
            while ((n = ::read(device, buffer.data(), buffer.size())) > 0) {
                Packet packet{.bytes = {buffer.data(), buffer.data() + n}};
                packet.to = host_at(packet.bytes, 16, n_hosts);
                if (packet.to < 0) continue;  // IPv6's greetings, other networks
                if (shared_->is_cut[from][packet.to]) {
                    ++shared_->cut;
                } else if (static_cast<int>(random() % 1000) < shared_->loss_permille) {
                    ++shared_->lost;
                } else {
                    under_way.emplace(now + std::chrono::milliseconds(shared_->delay_ms),
                                      std::move(packet));
                }
            }
        }
        while (!under_way.empty() && under_way.begin()->first <= now) {
            const Packet& packet = under_way.begin()->second;
            const int device = devices_[static_cast<std::size_t>(packet.to)].get();
            if (::write(device, packet.bytes.data(), packet.bytes.size()) > 0) ++shared_->passed;
            under_way.erase(under_way.begin());
        }
    }
}

}  // namespace steady
