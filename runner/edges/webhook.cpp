// HTTP/1.1 as far as one POST needs it: a request that closes the connection, and the first line of
// the answer.
#include "runner/edges/webhook.h"

// clang-format off: Boost 1.74's awaitable.hpp uses std::exchange and does not include it
#include <utility>
// clang-format on
#include <fmt/format.h>

#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <regex>

#include "engine/protocol/error.h"

namespace steady {
namespace {

namespace asio = boost::asio;
using asio::use_awaitable;
using asio::ip::tcp;

constexpr std::size_t kMostHeader = 16384;

Error failure(const WebhookAddress& address, const std::string& what) {
    return Error(fmt::format("webhook at {}: {}", address.host, what), kExitInternal);
}

std::string request_text(const WebhookAddress& address, const std::string& json) {
    return fmt::format(
        "POST {} HTTP/1.1\r\nHost: {}:{}\r\nUser-Agent: steady\r\nContent-Type: "
        "application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
        address.target, address.host, address.port, json.size(), json);
}

template <typename Stream>
asio::awaitable<std::string> exchange(Stream& stream, const std::string& request) {
    co_await asio::async_write(stream, asio::buffer(request), use_awaitable);
    std::string answer;
    const std::size_t n = co_await asio::async_read_until(
        stream, asio::dynamic_buffer(answer, kMostHeader), "\r\n", use_awaitable);
    co_return answer.substr(0, n - 2);
}

// The answer's first line.
asio::awaitable<std::string> deliver(const WebhookAddress& address, const std::string& request) {
    const auto executor = co_await asio::this_coro::executor;
    tcp::resolver resolver(executor);
    std::string host = address.host;
    if (host.front() == '[') host = host.substr(1, host.size() - 2);
    const auto found = co_await resolver.async_resolve(host, address.port, use_awaitable);
    if (!address.tls) {
        tcp::socket socket(executor);
        co_await asio::async_connect(socket, found, use_awaitable);
        co_return co_await exchange(socket, request);
    }
    asio::ssl::context context(asio::ssl::context::tls_client);
    context.set_default_verify_paths();
    context.set_verify_mode(asio::ssl::verify_peer);
    asio::ssl::stream<tcp::socket> stream(executor, context);
    stream.set_verify_callback(asio::ssl::host_name_verification(host));
    SSL_set_tlsext_host_name(stream.native_handle(), host.c_str());
    co_await asio::async_connect(stream.lowest_layer(), found, use_awaitable);
    co_await stream.async_handshake(asio::ssl::stream_base::client, use_awaitable);
    co_return co_await exchange(stream, request);
}

}  // namespace

WebhookAddress parse_webhook(const std::string& url) {
    static const std::regex shape(
        R"re((https?)://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?(/[!-"$-~]*)?)re");
    std::smatch parts;
    if (!std::regex_match(url, parts, shape)) {
        throw Error(
            "--webhook: this is no address; allowed: http:// or https://, a host, optionally "
            ":port and /path, without user, fragment or white space");
    }
    WebhookAddress address;
    address.tls = parts[1] == "https";
    address.host = parts[2];
    address.port = parts[3].matched ? parts[3].str() : address.tls ? "443" : "80";
    address.target = parts[4].matched ? parts[4].str() : "/";
    return address;
}

void post_webhook(const WebhookAddress& address, const std::string& json, double timeout_s) {
    asio::io_context io;
    std::string line;
    std::exception_ptr problem;
    bool done = false;
    const std::string request = request_text(address, json);
    asio::co_spawn(io, deliver(address, request),
                   [&](std::exception_ptr thrown, std::string answer) {
                       problem = thrown;
                       line = std::move(answer);
                       done = true;
                   });
    io.run_for(std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::duration<double>(timeout_s)));
    if (!done) throw failure(address, fmt::format("no answer within {:.0f} s", timeout_s));
    if (problem) {
        try {
            std::rethrow_exception(problem);
        } catch (const std::exception& error) {
            throw failure(address, error.what());
        }
    }
    static const std::regex good(R"re(HTTP/1\.[01] 2[0-9][0-9].*)re");
    if (!std::regex_match(line, good)) {
        std::string shown = line.substr(0, 60);
        for (char& c : shown) c = c >= 0x20 && c < 0x7F ? c : '?';
        throw failure(address, fmt::format("it answered \"{}\", not 2xx", shown));
    }
}

}  // namespace steady
