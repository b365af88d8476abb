// One transfer per call: an alert is rare, and nothing is kept between two of them.
#include "runner/platform/webhook.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "kernels/base/error.h"

namespace steady {
namespace {

using Url = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;
using Transfer = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;
using Headers = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

// A part of the address; empty when it has none.
std::string part_of(const Url& url, CURLUPart part) {
    char* text = nullptr;
    if (curl_url_get(url.get(), part, &text, 0) != CURLUE_OK) return "";
    const std::unique_ptr<char, decltype(&curl_free)> owner(text, curl_free);
    return text;
}

std::size_t ignore_body(char* /*data*/, std::size_t size, std::size_t count, void* /*unused*/) {
    return size * count;
}

}  // namespace

WebhookAddress parse_webhook(const std::string& text) {
    const Url url(curl_url(), curl_url_cleanup);
    const bool parsed = curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) == CURLUE_OK;
    const std::string scheme = parsed ? part_of(url, CURLUPART_SCHEME) : "";
    if ((scheme != "http" && scheme != "https") || !part_of(url, CURLUPART_USER).empty() ||
        !part_of(url, CURLUPART_FRAGMENT).empty()) {
        throw Error(
            "the webhook's address must be http://HOST[:PORT]/… or https://…, without a user, a "
            "fragment or spaces");
    }
    return {text, part_of(url, CURLUPART_HOST)};
}

WebhookAddress matrix_message(WebhookAddress address, const std::string& transaction) {
    const std::size_t end = std::min(address.url.find('?'), address.url.size());
    if (!std::string_view(address.url).substr(0, end).ends_with("/send/m.room.message")) {
        return address;  // of a bridge, which takes a POST
    }
    address.url.insert(end, "/" + transaction);
    address.put = true;
    return address;
}

void send_webhook(const WebhookAddress& address, const std::string& json, double timeout_s) {
    const Transfer transfer(curl_easy_init(), curl_easy_cleanup);
    Headers headers(curl_slist_append(nullptr, "Content-Type: application/json"),
                    curl_slist_free_all);
    if (headers && !address.token.empty()) {
        const std::string bearer = "Authorization: Bearer " + address.token;
        if (curl_slist_append(headers.get(), bearer.c_str()) == nullptr) headers.reset();
    }
    if (!transfer || !headers) throw Error("libcurl gave no transfer: is memory short?");
    CURL* const handle = transfer.get();
    curl_easy_setopt(handle, CURLOPT_URL, address.url.c_str());
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers.get());
    if (address.put) curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, "PUT");
    curl_easy_setopt(handle, CURLOPT_POSTFIELDS, json.c_str());
    curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(json.size()));
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(timeout_s * 1e3));
    curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, ignore_body);
    const CURLcode result = curl_easy_perform(handle);
    const std::string where = "webhook at " + address.host + ": ";
    if (result == CURLE_OPERATION_TIMEDOUT) {
        throw Error(where + fmt::format("no answer within {} s", timeout_s), kExitInternal);
    }
    if (result != CURLE_OK) throw Error(where + curl_easy_strerror(result), kExitInternal);
    long status = 0;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    if (status < 200 || status > 299) {
        throw Error(where + fmt::format("status {}, not 2xx", status), kExitInternal);
    }
}

}  // namespace steady
