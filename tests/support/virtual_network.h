// Several hosts on one machine: each is a network namespace with a TUN device, and a process in the
// middle passes their packets on, late, not at all, or only some of them. Nothing of the kernel's
// traffic control is needed. Making namespaces needs root.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "runner/platform/files.h"

namespace steady {

class VirtualNetwork {
public:
    static constexpr int kMostHosts = 8;

    // Empty when this process may make networks, else why not.
    static std::string why_not();

    VirtualNetwork(int n_hosts, std::uint64_t seed);
    ~VirtualNetwork();
    VirtualNetwork(const VirtualNetwork&) = delete;
    VirtualNetwork& operator=(const VirtualNetwork&) = delete;

    static std::string address(int host);  // 10.77.0.x

    // The calling process (its only thread) joins the host's network for good.
    void enter(int host) const;

    void set_delay_ms(int each_way);
    void set_loss(double share);
    void cut(int one, int other, bool is_cut);
    void isolate(int host, bool is_cut);  // from all others
    void heal();                          // no delay, no loss, no cut

    struct Counts {
        std::int64_t passed = 0, lost = 0, cut = 0;
    };
    Counts counts() const;

private:
    struct Shared {  // with the process in the middle
        std::atomic<int> delay_ms, loss_permille;
        std::atomic<bool> is_cut[kMostHosts][kMostHosts];
        std::atomic<std::int64_t> passed, lost, cut;
    };
    void make_host(int host, int home);
    [[noreturn]] void pass_packets(std::uint64_t seed) const;

    std::vector<Fd> namespaces_, devices_;
    Shared* shared_ = nullptr;
    pid_t middle_ = -1;
};

}  // namespace steady
