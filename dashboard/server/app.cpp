// The way of a request through the dashboard: what the network thread may answer at once, and what
// a worker answers after asking the database. Errors become responses here and nowhere else.
#include "dashboard/server/app.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>

#include "dashboard/server/handlers.h"
#include "engine/protocol/error.h"
#include "runner/pipeline/spec.h"

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
    if (route.scope == Scope::read && !options.reads_need_token) return std::nullopt;
    const std::string& authorization = header(request, "authorization");
    if (!authorization.starts_with(kBearer)) {
        return unauthorized(
            fmt::format("a token with scope {} is needed; make one with: steady "
                        "token create --scope {}",
                        name(route.scope), name(route.scope)));
    }
    // Looked up by hash: a guess's hash says nothing about how close the guess was.
    const std::string sha = sha256_hex(authorization.substr(std::string_view(kBearer).size()));
    const std::vector<std::string> scopes = context.source->token_scopes(sha);
    if (scopes.empty()) return unauthorized("this token is unknown, revoked or expired");
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

// Control characters escaped: a name must not write into somebody's terminal through our log.
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
    if (options.reads_need_token || request.method == "POST") return std::nullopt;
    const std::lock_guard lock(mutex_);
    const auto found = shared_.find(what_is_asked(request));
    if (found == shared_.end()) return std::nullopt;
    if (found->second.until < std::chrono::steady_clock::now()) return std::nullopt;
    return found->second.response;
}

void App::remember(const Request& request, const Response& response) {
    constexpr std::size_t kMostBytes = 16 * 1024 * 1024;
    if (options.reads_need_token || response.status != 200 || response.follow) return;
    const std::lock_guard lock(mutex_);
    if (shared_bytes_ + response.body.size() > kMostBytes) {
        shared_.clear();
        shared_bytes_ = 0;
    }
    Shared& place = shared_[what_is_asked(request)];
    shared_bytes_ += response.body.size() - place.response.body.size();
    place = {response,
             std::chrono::steady_clock::now() + std::chrono::milliseconds(response.share_ms)};
}

std::shared_ptr<const nlohmann::json> App::part(const std::string& name, int ms,
                                                const std::function<nlohmann::json()>& make) {
    {
        const std::lock_guard lock(mutex_);
        const Part& known = parts_[name];
        if (known.document && known.until > std::chrono::steady_clock::now()) return known.document;
    }
    auto made = std::make_shared<const nlohmann::json>(make());
    const std::lock_guard lock(mutex_);
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
        if (refused && request.method == "POST") ++traffic.refused_writes;
        // While this request waited, another may have brought its answer.
        auto known = refused ? std::nullopt : recall(copy);
        response = refused ? std::move(*refused)
                   : known ? std::move(*known)
                           : call(*match.route, copy, context);
        if (!known && response.share_ms > 0) remember(copy, response);
    }
    traffic.count(response.status, std::chrono::duration_cast<std::chrono::microseconds>(
                                       std::chrono::steady_clock::now() - begin));
    return response;
}

}  // namespace steady::web
