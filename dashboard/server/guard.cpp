// Authorisation: Host and Origin against DNS rebinding and cross-site forms, bearer tokens for
// everything else. There are no cookies, so a browser never sends a credential by itself.

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

std::string plain_address(const std::string& address) {
    namespace ip = boost::asio::ip;
    boost::system::error_code ec;
    const ip::address parsed = ip::make_address(address, ec);
    if (ec) return "";
    if (parsed.is_v6() && parsed.to_v6().is_v4_mapped()) {
        return ip::make_address_v4(ip::v4_mapped, parsed.to_v6()).to_string();
    }
    return parsed.to_string();
}

std::optional<Response> find_client(Request& request, const AppOptions& options) {
    const auto is_proxy = [&](const std::string& address) {
        return std::find(options.proxies.begin(), options.proxies.end(), address) !=
               options.proxies.end();
    };
    const std::string peer = plain_address(request.peer);
    if (!options.proxies.empty() && is_proxy(peer)) {
        request.in_clear = header(request, "x-forwarded-proto") == "http";
        std::string list = header(request, "x-forwarded-for");
        while (!list.empty()) {
            const std::size_t comma = list.rfind(',');
            std::string one = comma == std::string::npos ? list : list.substr(comma + 1);
            list = comma == std::string::npos ? "" : list.substr(0, comma);
            std::erase(one, ' ');
            request.peer = plain_address(one);
            if (request.peer.empty()) return error_response(400, "X-Forwarded-For: not an address");
            if (!is_proxy(request.peer)) break;
        }
        request.loopback = false;  // whatever the proxy says: it is not at this keyboard
        return std::nullopt;
    }
    if (!options.proxies.empty() && !peer.empty() && !is_loopback(peer)) {
        return error_response(403, "this server is reached through its proxy only");
    }
    for (const char* name : {"forwarded", "x-forwarded-for", "x-real-ip", "via"}) {
        if (!header(request, name).empty()) request.forwarded = true;
    }
    return std::nullopt;
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

// Counts within the last minute, in a table that strangers cannot make grow.
bool App::within_limit(Times& all, const std::string& who, int per_minute, bool count) {
    constexpr std::size_t kMost = 10000;
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    const auto is_old = [&](auto time) { return now - time > std::chrono::minutes(1); };
    if (all.size() >= kMost) {
        std::erase_if(all, [&](const auto& one) {
            return std::all_of(one.second.begin(), one.second.end(), is_old);
        });
        if (all.size() >= kMost && !all.contains(who)) return false;
    }
    const auto found = all.find(who);
    if (found != all.end()) std::erase_if(found->second, is_old);
    const std::size_t n = found == all.end() ? 0 : found->second.size();
    if (n >= static_cast<std::size_t>(per_minute)) return false;
    if (count) all[who].push_back(now);
    return true;
}

bool App::may_submit(const std::string& token_sha) {
    return within_limit(submits_, token_sha, options.submits_per_minute, true);
}

// Tokens are few: only a valid one comes here.
bool App::may_store(const std::string& token_sha, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (now - stored_since_ > std::chrono::hours(24)) {
        stored_.clear();
        stored_since_ = now;
    }
    std::uint64_t& stored = stored_[token_sha];
    if (stored + bytes > options.submit_bytes_per_day) return false;
    stored += bytes;
    return true;
}

bool App::may_guess(const std::string& peer) {
    return within_limit(guesses_, peer, options.wrong_tokens_per_minute, true);
}

bool App::guesses_too_much(const std::string& peer) {
    return !within_limit(guesses_, peer, options.wrong_tokens_per_minute, false);
}

}  // namespace steady::web
