// Puts transport, workers and handlers together and decides whether a bind is allowed.
#include "dashboard/server/serve.h"

#include <fmt/format.h>

#include <cstdio>

#include "dashboard/server/source_store.h"
#include "dashboard/server/worker_pool.h"
#include "engine/protocol/error.h"

namespace steady {
namespace web {

struct Dashboard::Parts {
    App app;
    std::unique_ptr<HttpServer> http;  // outlives the pool, whose answers it receives
    std::unique_ptr<WorkerPool> pool;
};

namespace {

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
    parts.app.options.reads_need_token = !is_loopback(options.address) && !options.public_reads;
    Answerer answerer;
    answerer.quick = [&parts](Request& request) { return parts.app.quick(request); };
    answerer.submit = [&parts](Request request, std::function<void(Response)> done) {
        return parts.pool->submit([&parts, request = std::move(request), done = std::move(done)](
                                      Source* source) { done(parts.app.work(request, source)); });
    };
    parts.http =
        std::make_unique<HttpServer>(options.address, options.port, limits, std::move(answerer));
    parts.pool = std::make_unique<WorkerPool>(options.workers, 1000, std::move(make_source));
    parts.app.database_up = [&parts] { return parts.pool->database_up(); };
    parts.app.transport_metrics = [&parts] {
        return transport_lines(parts.http->counts(), parts.pool->waiting());
    };
}

Dashboard::~Dashboard() {
    if (parts_) parts_->pool.reset();
}

std::uint16_t Dashboard::port() const { return parts_->http->port(); }
App& Dashboard::app() { return parts_->app; }
void Dashboard::run(bool handle_signals) { parts_->http->run(handle_signals); }
void Dashboard::stop() { parts_->http->stop(); }

}  // namespace web

int serve(const ServeOptions& options) {
    const web::MakeSource make_source = web::store_source(options.database_url);
    make_source();  // a wrong URL is said at once
    if (!web::is_loopback(options.address) && !web::has_token(options.database_url)) {
        throw Error(fmt::format(
            "refusing to listen on {}: no token exists, so nobody could submit and reads would be "
            "shut or open to the whole network; make one first: steady token create --scope read",
            options.address));
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
