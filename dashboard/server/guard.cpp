// Who may ask: Host and Origin against rebinding and cross-site forms, bearer tokens against
// everybody else. No cookies anywhere, so a browser never carries a right by itself.

#include <algorithm>
#include <boost/asio/ip/address.hpp>

#include "dashboard/server/app.h"
#include "dashboard/server/http_server.h"

namespace steady::web {
namespace {

// "name:8080" → "name", "[::1]:8080" → "::1"; empty for what is neither.
std::string host_name(const std::string& authority) {
    if (authority.starts_with('[')) {
        const std::size_t end = authority.find(']');
        return end == std::string::npos ? "" : authority.substr(1, end - 1);
    }
    const std::size_t colon = authority.find(':');
    if (colon != std::string::npos && authority.find(':', colon + 1) != std::string::npos)
        return "";
    return authority.substr(0, colon);
}

bool is_address(const std::string& host) {
    boost::system::error_code ec;
    boost::asio::ip::make_address(host, ec);
    return !ec;
}

}  // namespace

bool is_loopback(const std::string& address) {
    namespace ip = boost::asio::ip;
    boost::system::error_code ec;
    const ip::address parsed = ip::make_address(address, ec);
    if (ec) return address == "localhost";
    if (parsed.is_loopback()) return true;
    return parsed.is_v6() && parsed.to_v6().is_v4_mapped() &&
           ip::make_address_v4(ip::v4_mapped, parsed.to_v6()).is_loopback();
}

const char* name(Scope scope) {
    switch (scope) {
        case Scope::open:
            return "open";
        case Scope::read:
            return "read";
        case Scope::submit:
            return "submit";
        case Scope::cancel:
            return "cancel";
        case Scope::admin:
            return "admin";
    }
    return "open";
}

// A rebound DNS name reaches us with that name in Host; an address or localhost cannot be rebound.
std::optional<Response> check_origin(const Request& request, const AppOptions& options) {
    const std::string& authority = header(request, "host");
    std::string host = host_name(authority);
    std::transform(host.begin(), host.end(), host.begin(),
                   [](char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c); });
    const bool known =
        host == "localhost" || is_address(host) ||
        std::find(options.hosts.begin(), options.hosts.end(), host) != options.hosts.end();
    if (!known) {
        return error_response(
            421,
            "this Host is not served here; allowed: localhost, an IP address, or a name "
            "given with --host");
    }
    const std::string& origin = header(request, "origin");
    if (!origin.empty() && origin != "http://" + authority && origin != "https://" + authority) {
        return error_response(403, "requests from another origin are refused");
    }
    const std::string& site = header(request, "sec-fetch-site");
    if (request.method == "POST" && (site == "cross-site" || site == "same-site")) {
        return error_response(403, "requests from another site are refused");
    }
    return std::nullopt;
}

bool App::may_submit(const std::string& token_sha) {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    auto& times = submits_[token_sha];
    std::erase_if(times, [&](auto time) { return now - time > std::chrono::minutes(1); });
    if (static_cast<int>(times.size()) >= options.submits_per_minute) return false;
    times.push_back(now);
    return true;
}

}  // namespace steady::web
