// Parses untrusted input: URLs, escapes, UTF-8. Escapes text for output.
#include "dashboard/server/http.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

namespace steady::web {
namespace {

int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

// Length of the sequence that `lead` opens, 0 if it opens none; `low` and `high` bound byte two.
int sequence_length(unsigned char lead, unsigned char& low, unsigned char& high) {
    low = 0x80;
    high = 0xBF;
    if (lead < 0x80) return 1;
    if (lead >= 0xC2 && lead <= 0xDF) return 2;
    if (lead >= 0xE0 && lead <= 0xEF) {
        if (lead == 0xE0) low = 0xA0;
        if (lead == 0xED) high = 0x9F;
        return 3;
    }
    if (lead >= 0xF0 && lead <= 0xF4) {
        if (lead == 0xF0) low = 0x90;
        if (lead == 0xF4) high = 0x8F;
        return 4;
    }
    return 0;
}

std::string plus_to_space(std::string_view text) {
    std::string out(text);
    for (char& c : out) {
        if (c == '+') c = ' ';
    }
    return out;
}

bool parse_query(std::string_view text, std::map<std::string, std::string>& out) {
    while (!text.empty()) {
        const std::size_t end = text.find('&');
        const std::string_view item = text.substr(0, end);
        const std::size_t equals = item.find('=');
        const auto key = percent_decode(plus_to_space(item.substr(0, equals)));
        const auto value = percent_decode(plus_to_space(
            equals == std::string_view::npos ? std::string_view{} : item.substr(equals + 1)));
        if (!key || !value || out.size() > 64) return false;
        if (!key->empty()) out[*key] = *value;
        if (end == std::string_view::npos) break;
        text.remove_prefix(end + 1);
    }
    return true;
}

}  // namespace

std::string_view status_text(int status) {
    struct Name {
        int status;
        std::string_view text;
    };
    static constexpr std::array names{Name{200, "OK"},
                                      Name{201, "Created"},
                                      Name{202, "Accepted"},
                                      Name{304, "Not Modified"},
                                      Name{400, "Bad Request"},
                                      Name{401, "Unauthorized"},
                                      Name{403, "Forbidden"},
                                      Name{404, "Not Found"},
                                      Name{405, "Method Not Allowed"},
                                      Name{406, "Not Acceptable"},
                                      Name{408, "Request Timeout"},
                                      Name{409, "Conflict"},
                                      Name{413, "Content Too Large"},
                                      Name{414, "URI Too Long"},
                                      Name{415, "Unsupported Media Type"},
                                      Name{421, "Misdirected Request"},
                                      Name{422, "Unprocessable Content"},
                                      Name{429, "Too Many Requests"},
                                      Name{431, "Request Header Fields Too Large"},
                                      Name{500, "Internal Server Error"},
                                      Name{501, "Not Implemented"},
                                      Name{503, "Service Unavailable"}};
    for (const Name& name : names) {
        if (name.status == status) return name.text;
    }
    return "Status";
}

Response error_response(int status, std::string_view message) {
    Response response;
    response.status = status;
    const nlohmann::json body = {{"error", {{"status", status}, {"message", message}}}};
    response.body = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    response.headers.emplace_back("Cache-Control", "no-store");
    return response;
}

std::vector<std::pair<const char*, const char*>> security_headers(const Response& response) {
    const bool svg = response.type == "image/svg+xml";
    return {{"Content-Security-Policy",
             svg ? "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"
                 : "default-src 'self'; img-src 'self' blob:; base-uri 'none'; form-action 'self'; "
                   "frame-ancestors 'none'; object-src 'none'"},
            {"X-Content-Type-Options", "nosniff"},
            {"X-Frame-Options", "DENY"},
            {"Referrer-Policy", "no-referrer"},
            {"Cross-Origin-Resource-Policy", "same-origin"},
            {"Cross-Origin-Opener-Policy", "same-origin"}};
}

bool valid_utf8(std::string_view text) {
    for (std::size_t i = 0; i < text.size();) {
        unsigned char low = 0, high = 0;
        const int n = sequence_length(static_cast<unsigned char>(text[i]), low, high);
        if (n == 0 || i + static_cast<std::size_t>(n) > text.size()) return false;
        for (int k = 1; k < n; ++k) {
            const auto c = static_cast<unsigned char>(text[i + static_cast<std::size_t>(k)]);
            if (c < low || c > high) return false;
            low = 0x80;
            high = 0xBF;
        }
        i += static_cast<std::size_t>(n);
    }
    return true;
}

std::optional<std::string> percent_decode(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        char c = text[i];
        if (c == '%') {
            if (i + 2 >= text.size()) return std::nullopt;
            const int high = hex_value(text[i + 1]), low = hex_value(text[i + 2]);
            if (high < 0 || low < 0) return std::nullopt;
            c = static_cast<char>(high * 16 + low);
            i += 2;
        }
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7F) return std::nullopt;
        out.push_back(c);
    }
    if (!valid_utf8(out)) return std::nullopt;
    return out;
}

bool parse_target(Request& request) {
    const std::string_view target = request.target;
    if (target.empty() || target[0] != '/') return false;
    const std::size_t mark = target.find('?');
    const auto path = percent_decode(target.substr(0, mark));
    if (!path || path->find('\\') != std::string::npos) return false;
    if (mark != std::string_view::npos && !parse_query(target.substr(mark + 1), request.query)) {
        return false;
    }
    request.path = *path;
    request.format = "html";
    static constexpr std::array<std::string_view, 4> formats{"json", "md", "svg", "txt"};
    for (const std::string_view format : formats) {
        const std::string suffix = fmt::format(".{}", format);
        if (request.path.ends_with(suffix) && !request.path.starts_with("/assets/")) {
            request.path.resize(request.path.size() - suffix.size());
            request.format = format;
            break;
        }
    }
    return true;
}

namespace {
const std::string& find(const std::map<std::string, std::string>& map, const std::string& name) {
    static const std::string empty;
    const auto it = map.find(name);
    return it == map.end() ? empty : it->second;
}
}  // namespace

const std::string& header(const Request& request, const std::string& name) {
    return find(request.headers, name);
}

const std::string& query(const Request& request, const std::string& name) {
    return find(request.query, name);
}

std::string escape_html(std::string_view text) {
    std::string out;
    out.reserve(text.size() + 16);
    for (const char c : text) {
        switch (c) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '"':
                out += "&quot;";
                break;
            case '\'':
                out += "&#39;";
                break;
            default:
                out.push_back(c);
        }
    }
    return out;
}

}  // namespace steady::web
