// One connection and how a request is read from it. Everything here is a template or inline, since
// Boost.Beast takes long to compile: this header belongs to http_server.cpp alone, and is the only
// file that includes the library.
#pragma once

#include <fmt/format.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "dashboard/server/http_server.h"

// The library recycles coroutine frames through its own allocator; GCC 12 pairs the two wrongly.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

namespace steady::web {

namespace beast = boost::beast;
namespace http = beast::http;
namespace net = boost::asio;
using boost::system::error_code;
using net::awaitable;
using tcp = net::ip::tcp;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

using Parser = http::request_parser<http::string_body>;

inline auto into(error_code& ec) { return net::redirect_error(net::use_awaitable, ec); }

// What one connection holds; lives in its coroutine's frame.
template <typename State>
struct Connection {
    Connection(tcp::socket socket, State& shared)
        : stream(std::move(socket)), alarm(shared.io), state(shared) {
        error_code ec;
        const auto remote = stream.socket().remote_endpoint(ec);
        if (!ec) address = remote.address().to_string();
        loopback = is_loopback(address);
        ++state.counts.connections;
        ++state.per_address[address];
    }
    ~Connection() {
        --state.counts.connections;
        const auto it = state.per_address.find(address);
        if (it != state.per_address.end() && --it->second == 0) state.per_address.erase(it);
    }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    // From now: after `ms` the socket's operations are cancelled and `late` is set.
    void deadline(int ms) {
        late = false;
        stream.expires_after(milliseconds(ms + 500));
        alarm.expires_after(milliseconds(ms));
        alarm.async_wait([this, mine = ++round](error_code ec) {
            if (ec || mine != round) return;  // a newer deadline has replaced this one
            late = true;
            error_code ignored;
            stream.socket().cancel(ignored);
        });
    }
    void no_deadline() {
        ++round;
        alarm.cancel();
        stream.expires_never();
    }

    beast::tcp_stream stream;
    net::steady_timer alarm;
    State& state;
    beast::flat_buffer buffer;
    std::string address;
    bool loopback = false, late = false;
    unsigned round = 0;
};

// A request, or the status that refuses it, or neither: the connection is over.
struct Incoming {
    std::optional<Request> request;
    int refuse = 0;
    std::string why;
    bool keep_alive = false;
    unsigned version = 11;
};

inline Incoming refuse(int status, std::string why) {
    Incoming out;
    out.refuse = status;
    out.why = std::move(why);
    return out;
}

inline Incoming refuse_parse(error_code ec, bool late, const HttpLimits& limits, bool in_request) {
    if (late) {
        if (!in_request) return {};
        return refuse(408, fmt::format("the request took too long; allowed: {} ms for the headers, "
                                       "{} ms in all",
                                       limits.header_deadline_ms, limits.request_deadline_ms));
    }
    if (ec == http::error::header_limit) {
        return refuse(431, fmt::format("headers over {} bytes", limits.header_bytes));
    }
    if (ec == http::error::body_limit) {
        return refuse(413, fmt::format("a body over {} bytes", limits.body_bytes));
    }
    const bool malformed = ec.category() == make_error_code(http::error::bad_method).category() &&
                           ec != http::error::end_of_stream && ec != http::error::partial_message;
    return malformed ? refuse(400, "malformed request: " + ec.message()) : Incoming{};
}

// Framing that two servers could read differently is refused: the door to request smuggling.
inline std::optional<Incoming> check_headers(const Parser& parser, const HttpLimits& limits) {
    const auto& message = parser.get();
    if (message.target().size() > limits.url_bytes) {
        return refuse(414, fmt::format("a URL over {} bytes", limits.url_bytes));
    }
    const auto n_fields = std::distance(message.begin(), message.end());
    if (n_fields > limits.header_fields) {
        return refuse(431, fmt::format("more than {} header fields", limits.header_fields));
    }
    const auto lengths = message.count(http::field::content_length);
    const auto encodings = message.count(http::field::transfer_encoding);
    if (lengths > 1 || encodings > 1 || (lengths > 0 && encodings > 0)) {
        return refuse(400, "more than one statement of the body's length");
    }
    if (encodings > 0 && !parser.chunked()) return refuse(501, "only chunked transfer encoding");
    if (message.count(http::field::host) > 1) return refuse(400, "more than one Host");
    if (message.version() >= 11 && message.count(http::field::host) == 0) {
        return refuse(400, "no Host");
    }
    if (message.count(http::field::content_encoding) > 0) {
        return refuse(415, "no compressed request bodies");
    }
    return std::nullopt;
}

template <typename Connection>
Request to_request(const Parser& parser, const Connection& connection) {
    const auto& message = parser.get();
    Request request;
    request.method = std::string(message.method_string());
    request.target = std::string(message.target());
    for (const auto& field : message) {
        std::string name(field.name_string());
        for (char& c : name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
        std::string& value = request.headers[name];
        if (!value.empty()) value += ", ";
        value += std::string(field.value());
    }
    request.body = message.body();
    request.peer = connection.address;
    request.loopback = connection.loopback;
    // nginx asks by HTTP/1.0 and names no client unless it is told to; browsers and curl do not.
    request.forwarded = message.version() < 11;
    return request;
}

template <typename Connection>
awaitable<Incoming> read_request(Connection& connection, bool first) {
    const HttpLimits& limits = connection.state.limits;
    error_code ec;
    if (connection.buffer.size() == 0) {
        connection.deadline(first ? limits.header_deadline_ms : limits.idle_ms);
        const auto room = connection.buffer.prepare(4096);
        const std::size_t n = co_await connection.stream.async_read_some(room, into(ec));
        connection.buffer.commit(n);
        if (ec) co_return Incoming{};
    }
    connection.deadline(limits.header_deadline_ms);
    Parser parser;
    parser.header_limit(limits.header_bytes);
    parser.body_limit(limits.body_bytes);
    const Clock::time_point begin = Clock::now();
    co_await http::async_read_header(connection.stream, connection.buffer, parser, into(ec));
    if (ec) {
        // The cap was reached within the first line: it is the URL that is too long.
        if (ec == http::error::header_limit && parser.get().target().empty()) {
            co_return refuse(414, fmt::format("a URL over {} bytes", limits.url_bytes));
        }
        co_return refuse_parse(ec, connection.late, limits, true);
    }
    std::optional<Incoming> refused = check_headers(parser, limits);
    if (refused) co_return std::move(*refused);
    const auto spent = std::chrono::duration_cast<milliseconds>(Clock::now() - begin).count();
    connection.deadline(limits.request_deadline_ms - static_cast<int>(spent));
    if (!parser.is_done() && beast::iequals(parser.get()[http::field::expect], "100-continue")) {
        static const std::string go_on = "HTTP/1.1 100 Continue\r\n\r\n";
        co_await net::async_write(connection.stream, net::buffer(go_on), into(ec));
        if (ec) co_return Incoming{};
    }
    if (!parser.is_done()) {
        co_await http::async_read(connection.stream, connection.buffer, parser, into(ec));
        if (ec) co_return refuse_parse(ec, connection.late, limits, true);
    }
    connection.no_deadline();
    Incoming incoming;
    incoming.request = to_request(parser, connection);
    incoming.keep_alive = parser.get().keep_alive();
    incoming.version = parser.get().version();
    co_return incoming;
}

}  // namespace steady::web
