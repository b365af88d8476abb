// What the network thread answers without waiting: the shell, its assets, the description of the
// API.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <span>

#include "dashboard/server/assets.h"
#include "dashboard/server/handlers.h"
#include "runner/base/sha256.h"
#include "runner/platform/embedded.h"
#include "runner/spec/spec.h"

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

Response get_openapi(const Request&, Context&) {
    Response response;
    response.body = openapi_json();
    return response;
}

}  // namespace steady::web
