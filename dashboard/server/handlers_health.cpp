// How the service stands, for those who watch it: liveness, readiness, Prometheus text. Answered on
// the network thread from what the probe found; none of it waits for anything.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "dashboard/server/handlers.h"
#include "runner/platform/disk.h"
#include "runner/platform/files.h"

namespace steady::web {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kFresh_s = 10;   // older answers say nothing about now
constexpr double kBehind_s = 60;  // of a replica, or of a lease that nobody rescues

double seconds_since(Health::Time then) {
    return std::chrono::duration<double>(Clock::now() - then).count();
}

bool is_stuck(const Health& health, double stuck_s) {
    return health.asked > health.answered && seconds_since(health.waiting_since) > stuck_s;
}

// Why a request would not be answered now; empty: it would.
std::string unready(const Health& health) {
    if (health.answered == Health::Time{}) return "nobody has asked the database yet";
    if (seconds_since(health.answered) > kFresh_s) return "all workers of the page are busy";
    return health.up ? "" : health.trouble;
}

// What an operator should know although requests are answered.
std::vector<std::string> concerns(const Health& health, const AppOptions& options) {
    std::vector<std::string> found;
    if (const std::string trouble = unready(health); !trouble.empty()) found.push_back(trouble);
    if (health.state && health.state->replay_lag_s > kBehind_s) {
        found.push_back(fmt::format("this replica is {:.0f} s behind", health.state->replay_lag_s));
    }
    if (health.state && health.state->lease_overdue_s > kBehind_s) {
        found.push_back(
            fmt::format("a worker has been gone for {:.0f} s and no other takes its job",
                        health.state->lease_overdue_s));
    }
    if (!options.state_dir.empty()) {
        const std::string disk = space_trouble(disk_space(options.state_dir), options.state_dir);
        if (!disk.empty()) found.push_back(disk);
    }
    return found;
}

std::string gauge(const char* name, double value) {
    return fmt::format("# TYPE {} gauge\n{} {:.15g}\n", name, name, value);
}
std::string gauge(const char* name, std::size_t value) {
    return fmt::format("# TYPE {} gauge\n{} {}\n", name, name, value);
}

std::string attempts_lines(const service::State& state) {
    const char* const name = "steady_attempts_ended_last_hour";
    return fmt::format(
        "# TYPE {0} gauge\n{0}{{how=\"lease lost\"}} {1}\n{0}{{how=\"crashed\"}} {2}\n"
        "{0}{{how=\"failed\"}} {3}\n{0}{{how=\"postponed\"}} {4}\n",
        name, state.lost_1h, state.crashed_1h, state.failed_1h, state.postponed_1h);
}

// Queue, leases, failures, disks, database. Absent while nobody has answered: an old number that
// looks like a new one misleads.
std::string service_lines(App& app) {
    const Health health = app.health();
    const bool up = unready(health).empty();
    std::string out = gauge("steady_database_up", up ? 1.0 : 0.0) +
                      gauge("steady_database_answer_seconds", health.took_ms / 1000);
    if (!app.options.state_dir.empty()) {
        const DiskSpace disk = disk_space(app.options.state_dir);
        out += gauge("steady_disk_free_bytes", disk.free_bytes) +
               gauge("steady_disk_bytes", disk.total_bytes);
    }
    if (!up || !health.state) return out;
    const service::State& state = *health.state;
    const auto count = [](std::int64_t n) { return static_cast<double>(n); };
    out += gauge("steady_queue_depth", count(state.queued)) +
           gauge("steady_jobs_running", count(state.running)) +
           gauge("steady_jobs_failed", count(state.failed)) +
           gauge("steady_queue_oldest_seconds", state.oldest_queued_s) +
           gauge("steady_lease_left_seconds", state.lease_left_s) +
           gauge("steady_lease_overdue_seconds", state.lease_overdue_s) + attempts_lines(state) +
           gauge("steady_verdicts_unchecked", count(state.unchecked_verdicts)) +
           gauge("steady_entries_missing", count(state.missing_entries)) +
           gauge("steady_database_bytes", count(state.database_bytes)) +
           gauge("steady_database_replay_lag_seconds", state.replay_lag_s) +
           gauge("steady_database_connections", count(state.connections));
    if (state.host_free_bytes) {
        out += gauge("steady_worker_disk_free_bytes", count(*state.host_free_bytes));
    }
    return out;
}

// Second field of statm, in pages.
std::uint64_t resident_bytes() {
    const std::string statm = read_line_or_empty("/proc/self/statm");
    const std::size_t space = statm.find(' ');
    if (space == std::string::npos) return 0;
    return std::strtoull(statm.c_str() + space, nullptr, 10) *
           static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

Response get_health(const Request&, Context& context) {
    const Health health = context.app.health();
    const bool stuck = is_stuck(health, context.app.options.stuck_s);
    const std::vector<std::string> troubles = concerns(health, context.app.options);
    return json_response({{"status", stuck              ? "failing"
                                     : troubles.empty() ? "ok"
                                                        : "degraded"},
                          {"database", unready(health).empty() ? "up" : "down"},
                          {"troubles", troubles}},
                         stuck ? 503 : 200);
}

Response get_ready(const Request&, Context& context) {
    const std::string trouble = unready(context.app.health());
    Response response = json_response({{"ready", trouble.empty()}, {"trouble", trouble}},
                                      trouble.empty() ? 200 : 503);
    response.headers.emplace_back("Cache-Control", "no-store");
    if (!trouble.empty()) response.headers.emplace_back("Retry-After", "2");
    return response;
}

Response get_metrics(const Request&, Context& context) {
    const Traffic& traffic = context.app.traffic;
    std::string out = "# TYPE steady_http_responses_total counter\n";
    for (std::size_t i = 2; i < traffic.by_class.size(); ++i) {
        out += fmt::format("steady_http_responses_total{{class=\"{}xx\"}} {}\n", i,
                           traffic.by_class[i].load());
    }
    out += "# TYPE steady_http_handler_seconds histogram\n";
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < Traffic::kBounds_ms.size(); ++i) {
        sum += traffic.by_time[i].load();
        out += fmt::format("steady_http_handler_seconds_bucket{{le=\"{}\"}} {}\n",
                           Traffic::kBounds_ms[i] / 1000.0, sum);
    }
    sum += traffic.by_time.back().load();
    out += fmt::format(
        "steady_http_handler_seconds_bucket{{le=\"+Inf\"}} {}\n"
        "steady_http_handler_seconds_sum {}\nsteady_http_handler_seconds_count {}\n",
        sum, static_cast<double>(traffic.time_us.load()) * 1e-6, sum);
    out += fmt::format(
        "# TYPE steady_submitted_total counter\nsteady_submitted_total {}\n"
        "# TYPE steady_cancelled_total counter\nsteady_cancelled_total {}\n"
        "# TYPE steady_refused_writes_total counter\nsteady_refused_writes_total {}\n"
        "# TYPE steady_wrong_tokens_total counter\nsteady_wrong_tokens_total {}\n",
        traffic.submitted.load(), traffic.cancelled.load(), traffic.refused_writes.load(),
        traffic.wrong_tokens.load());
    out += gauge("steady_shared_answers_bytes", context.app.shared_bytes());
    out += fmt::format(
        "# TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes {}\n",
        resident_bytes());
    out += service_lines(context.app);
    if (context.app.transport_metrics) out += context.app.transport_metrics();
    Response response;
    response.type = "text/plain";
    response.body = std::move(out);
    return response;
}

}  // namespace steady::web
