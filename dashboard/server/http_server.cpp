// The only translation unit that knows Boost.Beast (by http_connection.h). One thread, one
// coroutine per connection: slow clients cost a few kilobytes and a timer, not a thread. Deadlines
// are ours rather than the library's, because a client that ran out of time still deserves to read
// 408; the library's timer stays as a backstop.
#include "dashboard/server/http_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <unordered_map>

#include "dashboard/server/http_connection.h"
#include "kernels/base/error.h"

namespace steady::web {

struct HttpServer::State {
    HttpLimits limits;
    Answerer answerer;
    HttpCounts counts;  // before io: connections that die with it still count down
    std::unordered_map<std::string, int> per_address;
    net::io_context io{1};
    tcp::acceptor acceptor{io};
    net::signal_set signals{io};
};

namespace {

// Hands the request to a worker and sleeps until it answered; the network thread goes on.
template <typename State>
awaitable<Response> ask_worker(State& state, Request request) {
    struct Answer {
        explicit Answer(net::io_context& io) : bell(io) {}
        net::steady_timer bell;
        std::optional<Response> response;
    };
    auto answer = std::make_shared<Answer>(state.io);
    answer->bell.expires_at(Clock::time_point::max());
    net::io_context& io = state.io;
    const bool taken = state.answerer.submit(std::move(request), [answer, &io](Response response) {
        net::post(io, [answer, response = std::move(response)]() mutable {
            answer->response = std::move(response);
            answer->bell.cancel();
        });
    });
    if (!taken) {
        Response busy = error_response(503, "all workers are busy; try again in a second");
        busy.headers.emplace_back("Retry-After", "1");
        co_return busy;
    }
    while (!answer->response) {
        error_code ec;
        co_await answer->bell.async_wait(into(ec));
    }
    co_return std::move(*answer->response);
}

template <typename Body>
void fill_header(http::response<Body>& message, const Response& response, bool keep_alive) {
    message.reason(std::string(status_text(response.status)));
    const bool text = response.type.starts_with("text/") || response.type == "image/svg+xml";
    message.set(http::field::content_type,
                text ? response.type + "; charset=utf-8" : response.type);
    for (const auto& [name, value] : security_headers(response)) message.set(name, value);
    for (const auto& [name, value] : response.headers) message.set(name, value);
    message.keep_alive(keep_alive);
}

template <typename Connection>
awaitable<bool> write_response(Connection& connection, const Response& response, unsigned version,
                               bool head, bool keep_alive) {
    connection.deadline(connection.state.limits.answer_deadline_ms);
    error_code ec;
    const auto status = static_cast<http::status>(response.status);
    if (head || response.status == 304) {
        http::response<http::empty_body> message{status, version};
        fill_header(message, response, keep_alive);
        if (head) message.content_length(response.body.size());
        co_await http::async_write(connection.stream, message, into(ec));
    } else {
        http::response<http::span_body<const char>> message{status, version};
        fill_header(message, response, keep_alive);
        message.body() = {response.body.data(), response.body.size()};
        message.prepare_payload();
        co_await http::async_write(connection.stream, message, into(ec));
    }
    connection.no_deadline();
    co_return !ec;
}

// Closing with unread input would reset the connection and take our answer with it.
template <typename Connection>
awaitable<void> linger(Connection& connection) {
    error_code ec;
    connection.stream.socket().shutdown(tcp::socket::shutdown_send, ec);
    connection.deadline(500);
    std::size_t total = 0;
    while (!ec && !connection.late && total < 256 * 1024) {
        connection.buffer.clear();
        const auto room = connection.buffer.prepare(4096);
        total += co_await connection.stream.async_read_some(room, into(ec));
    }
    connection.no_deadline();
}

template <typename Connection>
awaitable<bool> send_event_text(Connection& connection, const std::string& text) {
    connection.deadline(connection.state.limits.answer_deadline_ms);
    error_code ec;
    co_await net::async_write(connection.stream, net::buffer(text), into(ec));
    connection.no_deadline();
    co_return !ec;
}

// One stream: the head, then what each answer holds, until nothing follows or the reader is slow.
// At most one answer waits to be sent, so a reader that does not read holds back no memory.
template <typename Connection>
awaitable<void> stream_events(Connection& connection, Response response) {
    auto& state = connection.state;
    http::response<http::empty_body> head{http::status::ok, 11};
    fill_header(head, response, false);
    std::string first = fmt::format("HTTP/1.1 200 OK\r\n");
    for (const auto& field : head) {
        first +=
            fmt::format("{}: {}\r\n", std::string(field.name_string()), std::string(field.value()));
    }
    first += "\r\n" + response.body;
    bool open = co_await send_event_text(connection, first);
    int quiet_ms = 0;
    while (open && response.follow) {
        net::steady_timer pause(state.io);
        pause.expires_after(milliseconds(state.limits.event_interval_ms));
        error_code ec;
        co_await pause.async_wait(into(ec));
        Request next = *response.follow;
        response = co_await ask_worker(state, std::move(next));
        if (response.status != 200 || response.body.size() > state.limits.event_backlog_bytes) {
            break;
        }
        quiet_ms += state.limits.event_interval_ms;
        if (response.body.empty() && quiet_ms < state.limits.heartbeat_ms) continue;
        const std::string text = response.body.empty() ? ": still here\n\n" : response.body;
        open = co_await send_event_text(connection, text);
        quiet_ms = 0;
    }
}

template <typename Connection>
awaitable<Response> answer(Connection& connection, Request request) {
    auto& state = connection.state;
    std::optional<Response> quick = state.answerer.quick(request);
    if (quick) co_return std::move(*quick);
    Response response = co_await ask_worker(state, std::move(request));
    co_return response;
}

template <typename Connection>
awaitable<bool> serve_one(Connection& connection, bool first) {
    auto& state = connection.state;
    Incoming incoming = co_await read_request(connection, first);
    if (incoming.refuse != 0) {
        ++(incoming.refuse == 408 ? state.counts.timeouts : state.counts.malformed);
        Response response = error_response(incoming.refuse, incoming.why);
        co_await write_response(connection, response, 11, false, false);
        co_await linger(connection);
        co_return false;
    }
    if (!incoming.request) {
        if (connection.late) ++state.counts.timeouts;
        co_return false;
    }
    ++state.counts.requests;
    const bool head = incoming.request->method == "HEAD";
    Request request = std::move(*incoming.request);
    Response response = co_await answer(connection, std::move(request));
    if (response.follow) {
        if (state.counts.event_streams >= state.limits.event_streams) {
            response = error_response(429, "too many event streams; poll instead");
        } else {
            ++state.counts.event_streams;
            co_await stream_events(connection, std::move(response));
            --state.counts.event_streams;
            co_return false;
        }
    }
    const bool keep = incoming.keep_alive && !response.close;
    const bool sent = co_await write_response(connection, response, incoming.version, head, keep);
    co_return sent&& keep;
}

template <typename State>
awaitable<void> serve_connection(tcp::socket socket, State& state) {
    Connection<State> connection(std::move(socket), state);
    bool more = true;
    for (bool first = true; more; first = false) more = co_await serve_one(connection, first);
    connection.no_deadline();
    error_code ec;
    connection.stream.socket().shutdown(tcp::socket::shutdown_both, ec);
    // The alarm's cancelled handler still refers to this frame: let it run before the frame goes.
    net::steady_timer turn(state.io);
    turn.expires_after(milliseconds(0));
    co_await turn.async_wait(into(ec));
}

template <typename State>
bool has_room(State& state, tcp::socket& socket) {
    error_code ec;
    const auto remote = socket.remote_endpoint(ec);
    if (ec) return false;
    if (state.counts.connections >= state.limits.connections) return false;
    const std::string address = remote.address().to_string();
    const auto& exempt = state.limits.proxies;  // many people come from there
    if (is_loopback(address)) return true;
    if (std::find(exempt.begin(), exempt.end(), plain_address(address)) != exempt.end())
        return true;
    const auto it = state.per_address.find(address);
    return it == state.per_address.end() || it->second < state.limits.connections_per_address;
}

template <typename State>
awaitable<void> accept_loop(State& state) {
    static const std::string full =
        "HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain\r\nContent-Length: 21\r\n"
        "Retry-After: 5\r\nConnection: close\r\n\r\ntoo many connections\n";
    for (;;) {
        error_code ec;
        tcp::socket socket = co_await state.acceptor.async_accept(into(ec));
        if (ec == net::error::operation_aborted) co_return;
        if (ec) {  // no descriptors left: wait for some to close
            net::steady_timer pause(state.io);
            pause.expires_after(milliseconds(50));
            co_await pause.async_wait(into(ec));
            continue;
        }
        ++state.counts.accepted;
        if (!has_room(state, socket)) {
            ++state.counts.refused;
            socket.non_blocking(true, ec);
            socket.write_some(net::buffer(full), ec);
            socket.shutdown(tcp::socket::shutdown_send, ec);
            continue;
        }
        socket.set_option(tcp::no_delay(true), ec);
        net::co_spawn(state.io, serve_connection(std::move(socket), state), net::detached);
    }
}

}  // namespace

HttpServer::HttpServer(const std::string& address, std::uint16_t port, HttpLimits limits,
                       Answerer answerer)
    : state_(std::make_unique<State>()) {
    state_->limits = limits;
    state_->answerer = std::move(answerer);
    error_code ec;
    const auto ip = net::ip::make_address(address == "localhost" ? "127.0.0.1" : address, ec);
    if (ec) {
        throw Error(
            fmt::format("cannot listen on '{}': not an address; allowed: an IPv4 or IPv6 "
                        "address, for example 127.0.0.1",
                        address));
    }
    const tcp::endpoint endpoint(ip, port);
    auto& acceptor = state_->acceptor;
    acceptor.open(endpoint.protocol(), ec);
    if (!ec) acceptor.set_option(net::socket_base::reuse_address(true), ec);
    if (!ec) acceptor.bind(endpoint, ec);
    if (!ec) acceptor.listen(1024, ec);
    if (ec) {
        throw Error(
            fmt::format("cannot listen on {}:{}: {}; another server may be running: choose "
                        "--port, or 0 for a free one",
                        address, port, ec.message()));
    }
}

HttpServer::~HttpServer() = default;

std::uint16_t HttpServer::port() const { return state_->acceptor.local_endpoint().port(); }

HttpCounts HttpServer::counts() const { return state_->counts; }

void HttpServer::run(bool handle_signals) {
    if (handle_signals) {
        state_->signals.add(SIGINT);
        state_->signals.add(SIGTERM);
        state_->signals.async_wait([this](error_code ec, int) {
            if (!ec) state_->io.stop();
        });
    }
    net::co_spawn(state_->io, accept_loop(*state_), net::detached);
    state_->io.run();
}

void HttpServer::stop() {
    net::post(state_->io, [this] { state_->io.stop(); });
}

}  // namespace steady::web
