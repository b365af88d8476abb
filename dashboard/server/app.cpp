// Handles a request: what the network thread may answer at once, and what a worker answers after
// querying the database. Errors become responses here and nowhere else.
#include "dashboard/server/app.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>

#include "dashboard/server/handlers.h"
#include "kernels/base/error.h"
#include "runner/base/sha256.h"
#include "runner/spec/spec.h"

namespace steady::web {
namespace {

constexpr const char* kBearer = "Bearer ";

Response unauthorized(std::string_view message) {
    Response response = error_response(401, message);
    response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"steady\"");
    return response;
}

// Nullopt: allowed, and context.token_sha says by whom.
std::optional<Response> check_scope(const Request& request, const Route& route,
                                    const AppOptions& options, Context& context) {
    if (route.scope == Scope::open) return std::nullopt;
    if (route.scope == Scope::read && context.app.reads_are_open(request)) return std::nullopt;
    const std::string& authorization = header(request, "authorization");
    if (!authorization.starts_with(kBearer)) {
        const char* const why =
            request.forwarded && !options.reads_need_token
                ? " (it came through a proxy that the server was not told of: steady serve "
                  "--behind-proxy ADDRESS)"
                : "";
        return unauthorized(
            fmt::format("a token with scope {} is needed{}; make one with: steady "
                        "token create NAME --scopes {}",
                        name(route.scope), why, name(route.scope)));
    }
    if (request.in_clear) {
        return error_response(403,
                              "this token crossed the network without TLS: revoke it, and use "
                              "https");
    }
    if (context.app.guesses_too_much(request.peer)) {
        Response response = error_response(429, "too many wrong tokens from this address");
        response.headers.emplace_back("Retry-After", "60");
        return response;
    }
    // Looked up by hash: a guess's hash says nothing about how close the guess was.
    const std::string sha = sha256_hex(authorization.substr(std::string_view(kBearer).size()));
    const std::vector<std::string> scopes = context.source->token_scopes(sha);
    if (scopes.empty()) {
        ++context.app.traffic.wrong_tokens;
        context.app.may_guess(request.peer);
        return unauthorized("this token is unknown, revoked or expired");
    }
    for (const std::string& scope : scopes) {
        if (scope == name(route.scope) || scope == "admin") {
            context.token_sha = sha;
            return std::nullopt;
        }
    }
    return error_response(403, fmt::format("this token lacks the scope {}", name(route.scope)));
}

std::optional<Response> check_write(const Request& request) {
    if (request.method != "POST") return std::nullopt;
    const std::string& type = header(request, "content-type");
    if (type != "application/json" && !type.starts_with("application/json;")) {
        return error_response(415, "Content-Type must be application/json");
    }
    return std::nullopt;
}

Response no_database() {
    Response response = error_response(
        503,
        "the database cannot be reached; the server tries again by itself. See: steady db "
        "status");
    response.headers.emplace_back("Retry-After", "2");
    return response;
}

// Control characters are escaped: a name must not control a terminal that shows the log.
std::string printable(std::string_view text) {
    std::string out;
    for (const char c : text.substr(0, 300)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7F) {
            out += fmt::format("\\x{:02x}", byte);
        } else {
            out.push_back(c);
        }
    }
    return out;
}

// The same for every spelling of one question.
std::string what_is_asked(const Request& request) {
    std::string key = request.path + "." + request.format;
    for (const auto& [name, value] : request.query) key += "\n" + name + "=" + value;
    return key;
}

Response call(const Route& route, const Request& request, Context& context) {
    try {
        return route.handler(request, context);
    } catch (const SourceUnavailable&) {
        throw;
    } catch (const SourceStrained& strained) {
        Response response = error_response(503, strained.what());
        response.headers.emplace_back("Retry-After", "5");
        return response;
    } catch (const Error& error) {
        return error_response(error.exit_code == kExitUsage ? 400 : 500, error.what());
    } catch (const std::exception& error) {
        spdlog::error("{} {}: {}", request.method, printable(request.path),
                      printable(error.what()));
        return error_response(500, "internal error; the server's log says more");
    }
}

}  // namespace

void Traffic::count(int status, std::chrono::microseconds took) {
    const auto index = static_cast<std::size_t>(status / 100);
    if (index < by_class.size()) ++by_class[index];
    std::size_t slot = 0;
    while (slot < kBounds_ms.size() && took.count() > std::int64_t{kBounds_ms[slot]} * 1000) ++slot;
    ++by_time[slot];
    time_us += static_cast<std::uint64_t>(took.count());
}

std::optional<Response> App::quick(Request& request) {
    const auto begin = std::chrono::steady_clock::now();
    const auto done = [&](Response response) {
        traffic.count(response.status, std::chrono::duration_cast<std::chrono::microseconds>(
                                           std::chrono::steady_clock::now() - begin));
        return std::optional(std::move(response));
    };
    if (!parse_target(request)) return done(error_response(400, "malformed URL"));
    if (auto refused = find_client(request, options)) return done(std::move(*refused));
    if (auto refused = check_origin(request, options)) return done(std::move(*refused));
    const Match match = find_route(request);
    if (match.route == nullptr) {
        // Who follows a wrong link in a browser gets the page that says so, with its navigation.
        const bool reader = header(request, "accept").find("text/html") != std::string::npos;
        if (match.status == 404 && request.method == "GET" && reader) {
            Response page = shell_page();
            page.status = 404;
            return done(std::move(page));
        }
        Response response = error_response(
            match.status, match.status == 405   ? "this method is not allowed here"
                          : match.status == 406 ? "this page has no such form"
                                                : "there is nothing at this address");
        if (!match.allow.empty()) response.headers.emplace_back("Allow", match.allow);
        return done(std::move(response));
    }
    if (auto refused = check_write(request)) return done(std::move(*refused));
    if (match.shell) return done(shell_page());
    if (!match.route->quick) {
        auto known = recall(request);
        return known ? done(std::move(*known)) : std::nullopt;
    }
    Context context{nullptr, *this, {}};
    return done(call(*match.route, request, context));
}

// Many readers of one page cost the database one question. Never for reads that need a token.
std::optional<Response> App::recall(const Request& request) {
    if (!reads_are_open(request) || request.method == "POST") return std::nullopt;
    const std::lock_guard lock(mutex_);
    const auto found = shared_.find(what_is_asked(request));
    if (found == shared_.end()) return std::nullopt;
    if (found->second.until < std::chrono::steady_clock::now()) return std::nullopt;
    return found->second.response;
}

void App::remember(const Request& request, const Response& response, std::uint64_t writes) {
    constexpr std::size_t kOverhead = 512;  // of the map's node, the response and its headers
    if (!reads_are_open(request) || response.status != 200 || response.follow) return;
    const std::string key = what_is_asked(request);
    const std::size_t bytes = 2 * key.size() + response.body.size() + kOverhead;
    const std::lock_guard lock(mutex_);
    if (writes != writes_) return;
    const auto known = shared_.find(key);
    if (known != shared_.end()) {
        shared_bytes_ -= known->second.bytes;
        shared_.erase(known);
    }
    make_room(bytes);
    shared_bytes_ += bytes;
    shared_[key] = {response,
                    std::chrono::steady_clock::now() + std::chrono::milliseconds(response.share_ms),
                    bytes};
}

// First what nobody may use any more, then everything.
void App::make_room(std::size_t bytes) {
    constexpr std::size_t kMostBytes = 16 * 1024 * 1024;
    if (shared_bytes_ + bytes <= kMostBytes) return;
    const auto now = std::chrono::steady_clock::now();
    std::erase_if(shared_, [&](const auto& one) {
        if (one.second.until >= now) return false;
        shared_bytes_ -= one.second.bytes;
        return true;
    });
    if (shared_bytes_ + bytes <= kMostBytes) return;
    shared_.clear();
    shared_bytes_ = 0;
}

void App::forget() {
    const std::lock_guard lock(mutex_);
    ++writes_;
    parts_.clear();
    shared_.clear();
    shared_bytes_ = 0;
}

std::uint64_t App::writes() {
    const std::lock_guard lock(mutex_);
    return writes_;
}

std::size_t App::shared_bytes() {
    const std::lock_guard lock(mutex_);
    return shared_bytes_;
}

bool App::reads_are_open(const Request& request) const {
    return !options.reads_need_token && (options.public_reads || !request.forwarded);
}

void App::note_probe_sent() {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (health_.answered >= health_.asked) health_.waiting_since = now;
    health_.asked = now;
}

void App::note_probe(std::optional<service::State> state, const std::string& trouble,
                     double took_ms) {
    const std::lock_guard lock(mutex_);
    health_.up = trouble.empty();
    health_.trouble = trouble;
    health_.took_ms = took_ms;
    health_.answered = std::chrono::steady_clock::now();
    if (state) health_.state = state;
}

Health App::health() {
    const std::lock_guard lock(mutex_);
    return health_;
}

std::shared_ptr<const nlohmann::json> App::part(const std::string& name, int ms,
                                                const std::function<nlohmann::json()>& make) {
    std::uint64_t writes = 0;
    {
        const std::lock_guard lock(mutex_);
        const Part& known = parts_[name];
        if (known.document && known.until > std::chrono::steady_clock::now()) return known.document;
        writes = writes_;
    }
    auto made = std::make_shared<const nlohmann::json>(make());
    const std::lock_guard lock(mutex_);
    if (writes != writes_) return made;
    parts_[name] = {made, std::chrono::steady_clock::now() + std::chrono::milliseconds(ms)};
    return made;
}

Response App::work(const Request& request, Source* source) {
    const auto begin = std::chrono::steady_clock::now();
    Response response;
    if (source == nullptr) {
        response = no_database();
    } else {
        Request copy = request;
        const Match match = find_route(copy);
        Context context{source, *this, {}};
        auto refused = check_scope(copy, *match.route, options, context);
        const bool acts = !refused && !context.token_sha.empty() && request.method == "POST";
        if (acts && source->act_as) source->act_as(context.token_sha);
        if (refused && request.method == "POST") ++traffic.refused_writes;
        const std::uint64_t before = writes();
        // While this request waited, another may have brought its answer.
        auto known = refused ? std::nullopt : recall(copy);
        response = refused ? std::move(*refused)
                   : known ? std::move(*known)
                           : call(*match.route, copy, context);
        if (acts && source->act_as) source->act_as("");
        if (acts) forget();
        if (!known && response.share_ms > 0) remember(copy, response, before);
    }
    traffic.count(response.status, std::chrono::duration_cast<std::chrono::microseconds>(
                                       std::chrono::steady_clock::now() - begin));
    return response;
}

}  // namespace steady::web
