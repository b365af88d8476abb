// Puts transport, workers and handlers together and decides whether a bind is allowed.
#include "dashboard/server/serve.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

#include "dashboard/server/source_store.h"
#include "dashboard/server/worker_pool.h"
#include "kernels/base/error.h"

namespace steady {
namespace web {

struct Dashboard::Parts {
    App app;
    std::unique_ptr<HttpServer> http;  // outlives the pool, whose answers it receives
    std::unique_ptr<WorkerPool> pool;
    std::jthread probe;  // ends first
};

namespace {

constexpr auto kBetweenProbes = std::chrono::seconds(2);

double milliseconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
        .count();
}

// Where the database runs on the same machine, more connections than CPUs answer no more requests:
// they only take turns, and some wait longer.
int workers_of(const ServeOptions& options) {
    if (options.workers > 0) return options.workers;
    return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 2, 8);
}

std::string transport_lines(const HttpCounts& counts, std::size_t waiting) {
    return fmt::format(
        "# TYPE steady_http_connections gauge\nsteady_http_connections {}\n"
        "# TYPE steady_http_event_streams gauge\nsteady_http_event_streams {}\n"
        "# TYPE steady_http_waiting gauge\nsteady_http_waiting {}\n"
        "# TYPE steady_http_accepted_total counter\nsteady_http_accepted_total {}\n"
        "# TYPE steady_http_refused_total counter\nsteady_http_refused_total {}\n"
        "# TYPE steady_http_requests_total counter\nsteady_http_requests_total {}\n"
        "# TYPE steady_http_malformed_total counter\nsteady_http_malformed_total {}\n"
        "# TYPE steady_http_timeouts_total counter\nsteady_http_timeouts_total {}\n",
        counts.connections, counts.event_streams, waiting, counts.accepted, counts.refused,
        counts.requests, counts.malformed, counts.timeouts);
}

}  // namespace

Dashboard::Dashboard(const ServeOptions& options, MakeSource make_source, HttpLimits limits)
    : parts_(std::make_unique<Parts>()) {
    Parts& parts = *parts_;
    parts.app.options.hosts = options.hosts;
    parts.app.options.shipped = options.shipped;
    parts.app.options.public_reads = options.public_reads;
    parts.app.options.reads_need_token =
        options.private_reads ||
        (!options.public_reads && (!is_loopback(options.address) || !options.proxies.empty()));
    for (const std::string& proxy : options.proxies) {
        parts.app.options.proxies.push_back(plain_address(proxy));
    }
    limits.proxies = parts.app.options.proxies;
    parts.app.options.state_dir = options.state_dir;
    Answerer answerer;
    answerer.quick = [&parts](Request& request) { return parts.app.quick(request); };
    answerer.submit = [&parts](Request request, std::function<void(Response)> done) {
        return parts.pool->submit([&parts, request = std::move(request), done = std::move(done)](
                                      Source* source) { done(parts.app.work(request, source)); });
    };
    parts.http =
        std::make_unique<HttpServer>(options.address, options.port, limits, std::move(answerer));
    parts.pool = std::make_unique<WorkerPool>(workers_of(options), 1000, std::move(make_source));
    parts.app.transport_metrics = [&parts] {
        return transport_lines(parts.http->counts(), parts.pool->waiting());
    };
    parts.probe = std::jthread([this](const std::stop_token& stop) {
        std::mutex mutex;
        std::condition_variable_any wake;
        std::unique_lock lock(mutex);
        while (!stop.stop_requested()) {
            probe();
            wake.wait_for(lock, stop, kBetweenProbes, [] { return false; });
        }
    });
}

// Goes the way of every request, so that it sees what they would: full queues, stuck threads, a
// database that is away.
void Dashboard::probe() {
    App& app = parts_->app;
    app.note_probe_sent();
    parts_->pool->submit([&app](Source* source) {
        if (source == nullptr) return app.note_probe({}, "the database does not answer", 0);
        const auto begin = std::chrono::steady_clock::now();
        try {
            std::optional<service::State> state;
            if (source->service) state = source->service();
            app.note_probe(state, "", milliseconds_since(begin));
        } catch (const SourceUnavailable&) {
            throw;  // a new connection, and once more
        } catch (const std::exception& error) {
            app.note_probe({}, error.what(), milliseconds_since(begin));
        }
    });
}

Dashboard::~Dashboard() {
    if (!parts_) return;
    parts_->probe.request_stop();
    if (parts_->probe.joinable()) parts_->probe.join();
    parts_->app.shipped.end();
    parts_->pool.reset();
}

std::uint16_t Dashboard::port() const { return parts_->http->port(); }
App& Dashboard::app() { return parts_->app; }
void Dashboard::run(bool handle_signals) { parts_->http->run(handle_signals); }
void Dashboard::stop() { parts_->http->stop(); }

}  // namespace web

namespace {

void check_modes(const ServeOptions& options) {
    if (options.private_reads && options.public_reads) {
        throw Error("--private-reads and --public-reads: choose one");
    }
    for (const std::string& proxy : options.proxies) {
        if (web::plain_address(proxy).empty()) {
            throw Error(
                fmt::format("--behind-proxy: found \"{}\", allowed IPv4 or IPv6 addresses, "
                            "for example 127.0.0.1",
                            proxy));
        }
    }
    if (!web::is_loopback(options.address) && options.proxies.empty()) {
        throw Error(fmt::format(
            "refusing to listen on {}: this server speaks no TLS, so tokens and records would "
            "cross "
            "the network in clear. Put a proxy that ends TLS in front of it and name its address: "
            "--behind-proxy ADDRESS (dashboard/DEPLOY.md has a configuration)",
            options.address));
    }
}

}  // namespace

int serve(const ServeOptions& options) {
    check_modes(options);
    const web::MakeSource make_source = web::store_source(options.database_url);
    make_source();  // reports a wrong URL at once
    const bool shared = !web::is_loopback(options.address) || !options.proxies.empty();
    if ((shared || options.private_reads) && !web::has_token(options.database_url)) {
        throw Error(
            "no token exists, so nobody could submit, and nobody read where reads need one; "
            "make one first: steady token create NAME --scopes read");
    }
    web::Dashboard dashboard(options, make_source);
    const bool v6 = options.address.find(':') != std::string::npos;
    fmt::print("http://{}{}{}:{}/\n", v6 ? "[" : "", options.address, v6 ? "]" : "",
               dashboard.port());
    std::fflush(stdout);
    dashboard.run(true);
    return 0;
}

}  // namespace steady
