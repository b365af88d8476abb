// The dashboard without its sockets: routes, permission and handlers. A request goes through
// `quick` (network thread: shape, Host, Origin, route, static files) and, when it needs data or a
// token's check, through `work` (worker thread).
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dashboard/server/http.h"
#include "dashboard/server/shipped_import.h"
#include "dashboard/server/source.h"
#include "runner/storage/service.h"

namespace steady::web {

// What a request must be allowed to do. open: nothing (health, assets, the API's description).
enum class Scope { open, read, submit, cancel, admin };
const char* name(Scope scope);

struct AppOptions {
    bool reads_need_token = false;  // --private-reads, or behind a proxy without --public-reads
    bool public_reads = false;
    std::vector<std::string> proxies;  // addresses whose X-Forwarded-For is believed
    std::vector<std::string> hosts;    // names allowed in Host besides localhost and addresses
    int submits_per_minute = 30;       // per token
    std::uint64_t submit_bytes_per_day = std::uint64_t{1} << 30U;  // per token, of the database
    int queue_depth_max = 10000;
    int wrong_tokens_per_minute = 30;  // per client
    std::string state_dir;             // whose disk health looks at; empty: none
    double stuck_s = 30;               // no worker thread answers: only a restart helps
    ShippedRecords shipped;
};

// How the service stands, as somebody asked it a moment ago (see Dashboard's probe).
struct Health {
    using Time = std::chrono::steady_clock::time_point;
    bool up = false;                      // the last question was answered
    std::string trouble;                  // why not
    std::optional<service::State> state;  // the latest answer
    Time asked, waiting_since, answered;  // answered: by a worker thread, up or not
    double took_ms = 0;
};

// Counters for /metrics; written from several threads.
struct Traffic {
    static constexpr std::array<int, 8> kBounds_ms{1, 2, 5, 10, 20, 50, 100, 1000};
    std::array<std::atomic<std::uint64_t>, 6> by_class{};  // 1xx … 5xx
    std::array<std::atomic<std::uint64_t>, 9> by_time{};   // kBounds_ms, then more
    std::atomic<std::uint64_t> time_us{0}, refused_writes{0}, submitted{0}, cancelled{0};
    std::atomic<std::uint64_t> wrong_tokens{0};
    void count(int status, std::chrono::microseconds took);
};

struct App;

struct Context {
    Source* source = nullptr;  // null on quick routes
    App& app;
    std::string token_sha;  // whose right the write uses; empty on open reads
};

using Handler = Response (*)(const Request&, Context&);

struct QueryDoc {
    const char* name;
    const char* doc;
};

struct Route {
    const char* method;
    const char* pattern;  // segments; {name} captures one, {name...} the rest
    // Comma list: page (the HTML shell, filled in the browser), html, json, md, svg, txt.
    const char* formats;
    Scope scope;
    bool quick;  // answered on the network thread: no database, no token
    Handler handler;
    const char* doc;
    std::vector<QueryDoc> query;
};

const std::vector<Route>& routes();

struct Match {
    const Route* route = nullptr;  // null: see status
    int status = 404;              // 404, 405 or 406 when there is no route
    bool shell = false;            // the page's HTML, the same everywhere and free of data
    std::string allow;             // methods, with 405
};

// Finds the route, fills request.params and drops query parameters that the route does not name.
Match find_route(Request& request);

// OpenAPI 3.0 description of routes().
std::string openapi_json();

// Sets who asks: behind a trusted proxy, the last address in X-Forwarded-For that is no proxy. What
// comes from elsewhere although proxies are named is refused.
std::optional<Response> find_client(Request& request, const AppOptions& options);

// The reason why a Host or Origin is refused, with its status; nullopt: fine.
std::optional<Response> check_origin(const Request& request, const AppOptions& options);

struct App {
    AppOptions options;
    Traffic traffic;
    ShippedImport shipped;
    std::function<std::string()> transport_metrics;  // lines of the layer below, network thread

    std::optional<Response> quick(Request& request);
    Response work(const Request& request, Source* source);

    // A piece of several answers (what runs, the machines), made anew after `ms`.
    std::shared_ptr<const nlohmann::json> part(const std::string& name, int ms,
                                               const std::function<nlohmann::json()>& make);

    // False when this token has submitted too often in the last minute.
    bool may_submit(const std::string& token_sha);

    // False when what this token had stored today and these bytes are too much: an experiment stays
    // in the database, whatever becomes of its job.
    bool may_store(const std::string& token_sha, std::uint64_t bytes);

    // A token was wrong. False: this client has guessed too often in the last minute.
    bool may_guess(const std::string& peer);
    bool guesses_too_much(const std::string& peer);

    // Reads without a token, by this request.
    bool reads_are_open(const Request& request) const;

    void note_probe_sent();
    void note_probe(std::optional<service::State> state, const std::string& trouble,
                    double took_ms);
    Health health();

    std::size_t shared_bytes();  // what the shared answers take, keys and all

private:
    struct Part {
        std::shared_ptr<const nlohmann::json> document;
        std::chrono::steady_clock::time_point until;
    };
    struct Shared {
        Response response;
        std::chrono::steady_clock::time_point until;
        std::size_t bytes = 0;
    };
    using Times = std::map<std::string, std::vector<std::chrono::steady_clock::time_point>>;
    bool within_limit(Times& all, const std::string& who, int per_minute, bool count);
    void make_room(std::size_t bytes);
    std::optional<Response> recall(const Request& request);

    // Keeps an answer for others, unless a write came after `writes` of them were counted: then it
    // may be older than that write.
    void remember(const Request& request, const Response& response, std::uint64_t writes);

    // After a write that had its token, refused or not: the next reader asks the database.
    void forget();
    std::uint64_t writes();

    std::mutex mutex_;
    std::map<std::string, Part> parts_;
    std::map<std::string, Shared> shared_;  // by what is asked; open reads only
    std::size_t shared_bytes_ = 0;
    std::uint64_t writes_ = 0;
    Times submits_, guesses_;
    std::map<std::string, std::uint64_t> stored_;  // bytes by token, of one day
    std::chrono::steady_clock::time_point stored_since_;
    Health health_;
};

}  // namespace steady::web
