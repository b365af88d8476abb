// What is answered on the network thread: the shell, its assets, health, metrics, the description
// of the API. None of it waits for anything.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <span>

#include "dashboard/server/assets.h"
#include "dashboard/server/handlers.h"
#include "runner/edges/embedded.h"
#include "runner/edges/files.h"
#include "runner/pipeline/spec.h"

namespace steady {
std::span<const EmbeddedFile> web_assets();     // made by steady_embed()
std::span<const EmbeddedFile> schema_assets();  // likewise
}  // namespace steady

namespace steady::web {
namespace {

std::string asset_type(std::string_view name) {
    if (name.ends_with(".html")) return "text/html";
    if (name.ends_with(".js")) return "text/javascript";
    if (name.ends_with(".css")) return "text/css";
    if (name.ends_with(".svg")) return "image/svg+xml";
    if (name.ends_with(".json")) return "application/json";
    return "application/octet-stream";
}

std::map<std::string_view, Asset> load_assets() {
    std::map<std::string_view, Asset> assets;
    for (const auto& files : {web_assets(), schema_assets()}) {
        for (const EmbeddedFile& file : files) {
            assets[file.name] = Asset{file.name, file.bytes, asset_type(file.name),
                                      fmt::format("\"{}\"", sha256_hex(file.bytes).substr(0, 20))};
        }
    }
    return assets;
}

// Always revalidated: an upgrade must not leave an old script with a new page.
Response asset_response(const Asset& asset, const std::string& known) {
    Response response;
    response.type = asset.type;
    response.headers.emplace_back("Cache-Control", "no-cache");
    response.headers.emplace_back("ETag", asset.etag);
    if (!known.empty() && known.find(asset.etag) != std::string::npos) {
        response.status = 304;
    } else {
        response.body = std::string(asset.bytes);
    }
    return response;
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

const Asset* find_asset(std::string_view name) {
    static const std::map<std::string_view, Asset> assets = load_assets();
    const auto it = assets.find(name);
    return it == assets.end() ? nullptr : &it->second;
}

Response shell_page() {
    const Asset* shell = find_asset("index.html");
    if (shell == nullptr) return error_response(500, "this build holds no page");
    return asset_response(*shell, "");
}

Response get_asset(const Request& request, Context&) {
    const Asset* asset = find_asset(request.params.at("file"));
    if (asset == nullptr) return error_response(404, "there is no such asset");
    return asset_response(*asset, header(request, "if-none-match"));
}

Response get_health(const Request&, Context& context) {
    const bool up = context.app.database_up && context.app.database_up();
    return json_response({{"status", "ok"}, {"database", up ? "up" : "down"}});
}

Response get_openapi(const Request&, Context&) {
    Response response;
    response.body = openapi_json();
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
        "# TYPE steady_database_up gauge\nsteady_database_up {}\n",
        traffic.submitted.load(), traffic.cancelled.load(), traffic.refused_writes.load(),
        context.app.database_up && context.app.database_up() ? 1 : 0);
    out += fmt::format(
        "# TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes {}\n",
        resident_bytes());
    if (context.app.transport_metrics) out += context.app.transport_metrics();
    Response response;
    response.type = "text/plain";
    response.body = std::move(out);
    return response;
}

}  // namespace steady::web
