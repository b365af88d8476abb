// Matches an address against the table of routes (routes_table.cpp) and describes the API from the
// same table, so the two always agree.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "dashboard/server/handlers.h"
#include "runner/platform/embedded.h"

namespace steady {
std::span<const EmbeddedFile> api_schemas();  // runner/schema/api.v1.json, made by CMake
}

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

// What the table does not name no handler may see: answers are shared by what was asked, and a
// parameter made up by the asker must not make every answer a new one.
void drop_undocumented(Request& request, const Route& route) {
    std::erase_if(request.query, [&](const auto& one) {
        return std::none_of(route.query.begin(), route.query.end(),
                            [&](const QueryDoc& known) { return one.first == known.name; });
    });
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

// The schema of a JSON answer, by name; null where the answer has none of its own.
nlohmann::json response_schema(const nlohmann::json& api, const std::string& method,
                               const Route& route) {
    const auto found = api.at("responses").find(fmt::format("{} {}", method, route.pattern));
    if (found == api.at("responses").end()) return nullptr;
    return {{"$ref", "#/components/schemas/" + found->get<std::string>()}};
}

// "get_x_id_pairs": what a generated client calls it.
std::string operation_id(const std::string& method, const std::string& path) {
    std::string out = method;
    bool gap = true;
    for (const char c : path) {
        if (std::isalnum(static_cast<unsigned char>(c)) == 0) {
            gap = true;
            continue;
        }
        if (gap) out += '_';
        gap = false;
        out += c;
    }
    return out;
}

}  // namespace

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
        drop_undocumented(request, route);
        match.shell = request.format == "html" && has_format(route, "page");
        match.route = &route;
        match.status = 200;
        return match;
    }
    return match;
}

std::string openapi_json() {
    const nlohmann::json api = nlohmann::json::parse(api_schemas()[0].bytes);
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
            operation["operationId"] = operation_id(method, path);
            const std::string type = media_type(post ? "json" : format);
            nlohmann::json content = nlohmann::json::object();
            if (type == "application/json") {
                const nlohmann::json schema = response_schema(api, route.method, route);
                if (!schema.is_null()) content["schema"] = schema;
            }
            const bool made = std::string_view(route.pattern) == "/api/experiments";
            operation["responses"]["200"] = {{"description", "OK"}, {"content", {{type, content}}}};
            if (made) operation["responses"]["201"] = operation["responses"]["200"];
            operation["responses"]["default"] = {
                {"description", "{\"error\": {\"status\", \"message\"}}"},
                {"content",
                 {{"application/json", {{"schema", {{"$ref", "#/components/schemas/error"}}}}}}}};
            if (route.scope != Scope::open && route.scope != Scope::read) {
                operation["security"] = {{{"token", nlohmann::json::array()}}};
            }
            if (post)
                operation["requestBody"] = {
                    {"content", {{"application/json", {{"schema", {{"type", "object"}}}}}}}};
        }
    }
    const nlohmann::json document = {
        {"openapi", "3.1.0"},
        {"info",
         {{"title", "Steady"},
          {"version", "1"},
          {"description", "Reads are open on loopback; writes need a bearer token."}}},
        {"components",
         {{"schemas", api.at("schemas")},
          {"securitySchemes", {{"token", {{"type", "http"}, {"scheme", "bearer"}}}}}}},
        {"paths", paths}};
    return document.dump(1);
}

}  // namespace steady::web
