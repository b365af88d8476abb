// Requests and responses as plain structs, so that handlers are functions from one to the other and
// do not depend on sockets or on the HTTP library. URLs are parsed here too: they are the first
// untrusted input.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace steady::web {

struct Request {
    std::string method;                          // upper case
    std::string target;                          // as sent, at most 8 KB
    std::string path;                            // decoded, starts with '/', extension removed
    std::string format;                          // "html", or the extension: json, md, svg, txt
    std::map<std::string, std::string> query;    // decoded; the last of equal keys wins
    std::map<std::string, std::string> headers;  // names in lower case
    std::map<std::string, std::string> params;   // captured by the route's pattern
    std::string body;
    std::string peer;  // address without port; behind a trusted proxy the client's own
    bool loopback = false;
    bool forwarded = false;  // a proxy brought it that nobody named: its client is unknown
    bool in_clear = false;   // a trusted proxy got it without TLS
};

struct Response {
    int status = 200;
    std::string type = "application/json";
    std::string body;
    std::vector<std::pair<std::string, std::string>> headers;
    bool close = false;  // the connection ends after this response
    int share_ms = 0;    // for so long others may get this very answer, without asking again
    // Set on an event stream: body is what to send now, and this request is asked again after a
    // while for what comes next. Absent in an answer to it: the stream ends.
    std::shared_ptr<Request> follow;
};

// "Not Found" for 404; "Status" for a code that this server never sends.
std::string_view status_text(int status);

// {"error": {"status": 404, "message": …}} as JSON.
Response error_response(int status, std::string_view message);

// What every answer carries against script, framing and leaks; SVG gets a policy of its own.
std::vector<std::pair<const char*, const char*>> security_headers(const Response& response);

// Decodes %XX; nullopt for a broken escape, a control character or bytes that are not UTF-8.
std::optional<std::string> percent_decode(std::string_view text);

// Fills path, format and query from target. False: the target is malformed (answer 400).
bool parse_target(Request& request);

// "" when absent.
const std::string& header(const Request& request, const std::string& name);
const std::string& query(const Request& request, const std::string& name);

// The one escape of the server: text that becomes safe between tags and inside quoted attributes.
std::string escape_html(std::string_view text);

// True for well-formed UTF-8 (no surrogates, no overlong forms).
bool valid_utf8(std::string_view text);

}  // namespace steady::web
