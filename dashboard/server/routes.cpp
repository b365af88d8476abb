// One table: what is served, to whom, by which function, in which words. Matching, permission and
// the API's description are all read from it, so that none can disagree with the others.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "dashboard/server/handlers.h"

namespace steady::web {
namespace {

std::vector<std::string_view> split(std::string_view text, char at) {
    std::vector<std::string_view> parts;
    while (true) {
        const std::size_t end = text.find(at);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + 1);
    }
}

bool has_format(const Route& route, std::string_view format) {
    for (const std::string_view one : split(route.formats, ',')) {
        if (one == format || (one == "page" && format == "html")) return true;
    }
    return false;
}

// Fills params; false when the path has another shape.
bool matches(std::string_view pattern, std::string_view path,
             std::map<std::string, std::string>& params) {
    params.clear();
    const auto wanted = split(pattern, '/'), found = split(path, '/');
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const std::string_view part = wanted[i];
        if (part.ends_with("...}")) {
            if (i >= found.size()) return false;
            const auto offset = static_cast<std::size_t>(found[i].data() - path.data());
            params[std::string(part.substr(1, part.size() - 5))] = std::string(path.substr(offset));
            return true;
        }
        if (i >= found.size()) return false;
        if (part.starts_with('{')) {
            if (found[i].empty()) return false;
            params[std::string(part.substr(1, part.size() - 2))] = std::string(found[i]);
        } else if (part != found[i]) {
            return false;
        }
    }
    return wanted.size() == found.size();
}

nlohmann::json parameters(const Route& route) {
    nlohmann::json list = nlohmann::json::array();
    for (const std::string_view part : split(route.pattern, '/')) {
        if (!part.starts_with('{')) continue;
        std::string_view word = part.substr(1, part.size() - 2);
        if (word.ends_with("...")) word.remove_suffix(3);
        list.push_back(
            {{"name", word}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}});
    }
    for (const QueryDoc& query : route.query) {
        list.push_back({{"name", query.name},
                        {"in", "query"},
                        {"description", query.doc},
                        {"schema", {{"type", "string"}}}});
    }
    return list;
}

std::string media_type(std::string_view format) {
    if (format == "json") return "application/json";
    if (format == "md") return "text/markdown";
    if (format == "svg") return "image/svg+xml";
    if (format == "txt") return "text/plain";
    return "text/html";
}

std::string documented_path(const Route& route, std::string_view format) {
    std::string path = route.pattern;
    const std::size_t dots = path.find("...");
    if (dots != std::string::npos) path.erase(dots, 3);
    if (format == "html" || format == "page" ||
        std::string_view(route.pattern).starts_with("/assets"))
        return path;
    return fmt::format("{}.{}", path == "/" ? "/index" : path, format);
}

}  // namespace

// clang-format off
const std::vector<Route>& routes() {
    static const std::vector<Route> table{
        {"GET", "/", "page", Scope::open, true, nullptr, "The page: questions, newest verdict first", {}},
        {"GET", "/index", "json", Scope::read, false, get_overview, "Newest verdicts, running jobs with their interval so far, queue, hosts", {}},
        {"GET", "/experiments", "page,json", Scope::read, false, get_experiments, "Experiments, newest first, one page",
            {{"verdict", "accept, reject, inconclusive or invalid"}, {"state", "queued, running, done, failed or cancelled"}, {"owner", "exact name"},
             {"metric", "of the deciding gate"}, {"host", "machine"}, {"q", "words in id or claim"}, {"before", "go on from this job number"}, {"limit", "1 to 200, default 50"}}},
        {"GET", "/x/{id}", "page,json,md", Scope::read, false, get_experiment, "One experiment: verdict, hypothesis, gates, checks, environment, attempts; .md is its entry", {}},
        {"GET", "/x/{id}/pairs", "page,json", Scope::read, false, get_pairs, "Every pair: order, values, d, discarded and why", {}},
        {"GET", "/x/{id}/record", "json", Scope::read, false, get_record, "The complete record with all samples", {}},
        {"GET", "/x/{id}/figure/{name}", "svg", Scope::read, false, get_figure, "A figure: intervals, pairs or profile; readable on light and dark", {}},
        {"GET", "/x/{id}/events", "html,json", Scope::read, false, get_events, "What happened since pair N: JSON, or a stream when text/event-stream is accepted", {{"since", "number of pairs already known"}}},
        {"GET", "/compare/{pair}", "page,json", Scope::read, false, get_compare, "Two experiments A...B side by side, with the difference of their environments", {}},
        {"GET", "/j", "page,json", Scope::read, false, get_journal, "Journal entries, newest first", {{"q", "words; rejected ideas are searched too"}, {"limit", "1 to 500, default 100"}}},
        {"GET", "/j/{slug}", "html,json,md,svg", Scope::read, false, get_entry, "One journal entry; .svg is its figure", {}},
        {"GET", "/tried", "page,json", Scope::read, false, get_tried, "Earlier attempts by flag, op or text", {{"q", "words"}}},
        {"GET", "/kernels", "page,json", Scope::read, false, get_kernels, "Op × variant: latest measured time, bandwidth, champion", {}},
        {"GET", "/hosts", "page,json", Scope::read, false, get_hosts, "Machines: fingerprint, own noise, detectable effect", {}},
        {"GET", "/q", "page,json", Scope::read, false, get_queue, "The queue: what runs, what waits", {}},
        {"GET", "/owners", "page,json", Scope::read, false, get_owners, "How often predictions held, by owner", {}},
        {"GET", "/submit", "page,json", Scope::read, false, get_submit, "Submit page; .json is the experiment file's JSON Schema", {}},
        {"POST", "/api/validate", "html,json", Scope::read, false, post_validate, "Checks an experiment file: all errors at once, and a preview of the plan", {}},
        {"POST", "/api/experiments", "html,json", Scope::submit, false, post_submit, "Puts an experiment in the queue; the same file twice is the same experiment (200, not 201)", {{"priority", "-100 to 100, default 0"}}},
        {"POST", "/api/experiments/{id}/cancel", "html,json", Scope::cancel, false, post_cancel, "Cancels a queued experiment, asks a running one to stop", {}},
        {"GET", "/healthz", "html,json,txt", Scope::open, true, get_health, "200 while the server answers; says whether the database does", {}},
        {"GET", "/metrics", "html,txt", Scope::open, true, get_metrics, "Prometheus text", {}},
        {"GET", "/openapi", "json", Scope::open, true, get_openapi, "This description", {}},
        {"GET", "/assets/{file...}", "html", Scope::open, true, get_asset, "The page's own scripts and style, compiled in", {}},
    };
    return table;
}
// clang-format on

Match find_route(Request& request) {
    Match match;
    const std::string method = request.method == "HEAD" ? "GET" : request.method;
    std::map<std::string, std::string> params;
    for (const Route& route : routes()) {
        if (!matches(route.pattern, request.path, params)) continue;
        if (!has_format(route, request.format)) {
            if (match.status == 404) match.status = 406;
            continue;
        }
        if (method != route.method) {
            match.status = 405;
            match.allow = route.method;
            if (match.allow == "GET") match.allow = "GET, HEAD";
            continue;
        }
        request.params = params;
        match.shell = request.format == "html" && has_format(route, "page");
        match.route = &route;
        match.status = 200;
        return match;
    }
    return match;
}

std::string openapi_json() {
    nlohmann::json paths = nlohmann::json::object();
    for (const Route& route : routes()) {
        std::string method = route.method;
        for (char& c : method) c = static_cast<char>(c + 32);
        for (const std::string_view format : split(route.formats, ',')) {
            if (format == "html" && method == "post") continue;
            const bool post = method == "post";
            const std::string path = post ? route.pattern : documented_path(route, format);
            nlohmann::json& operation = paths[path][method];
            operation["summary"] = route.doc;
            operation["parameters"] = parameters(route);
            operation["x-scope"] = name(route.scope);
            operation["responses"]["200"] = {
                {"description", "OK"},
                {"content", {{media_type(format), nlohmann::json::object()}}}};
            operation["responses"]["default"] = {
                {"description", "{\"error\": {\"status\", \"message\"}}"},
                {"content", {{"application/json", nlohmann::json::object()}}}};
            if (route.scope != Scope::open && route.scope != Scope::read) {
                operation["security"] = {{{"token", nlohmann::json::array()}}};
            }
            if (post)
                operation["requestBody"] = {
                    {"content", {{"application/json", {{"schema", {{"type", "object"}}}}}}}};
        }
    }
    const nlohmann::json document = {
        {"openapi", "3.0.3"},
        {"info",
         {{"title", "Steady"},
          {"version", "1"},
          {"description", "Reads are open on loopback; writes need a bearer token."}}},
        {"components",
         {{"securitySchemes", {{"token", {{"type", "http"}, {"scheme", "bearer"}}}}}}},
        {"paths", paths}};
    return document.dump(1);
}

}  // namespace steady::web
