// Journal entries, as Markdown or as a page rendered here. The page carries no script.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "dashboard/server/handlers.h"
#include "dashboard/server/markdown.h"
#include "runner/entry/entry_figures.h"

namespace steady::web {
namespace {

constexpr const char* kPage = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title} · Steady</title><link rel="stylesheet" href="/assets/style.css">
<link rel="icon" href="/assets/icon.svg">
</head><body>
<a class="skip" href="#main">Skip to content</a>
<header class="top"><a class="brand" href="/">Steady</a><nav aria-label="Pages">
<a href="/">Verdicts</a><a href="/q">Queue</a><a href="/j" aria-current="page">Journal</a>
<a href="/s">Trends</a><a href="/kernels">Kernels</a><a href="/hosts">Machines</a><a href="/submit">Submit</a></nav></header>
<main id="main" class="entry"><p class="crumbs"><a href="/j">Journal</a>
<span aria-hidden="true">/</span> {slug} · <a href="/j/{slug}.md">Markdown</a>{experiment}</p>
<article>{body}</article></main></body></html>
)";

// The first heading, or the slug: what a tab shows.
std::string title_of(const std::string& text, const std::string& slug) {
    std::size_t at = text.starts_with("# ") ? 0 : text.find("\n# ");
    if (at == std::string::npos) return slug;
    at = text.find("# ", at) + 2;
    return text.substr(at, text.find('\n', at) - at);
}

// "2026-11-21-<id>" → "<id>"; empty for what is no slug.
std::string id_of(const std::string& slug) { return slug.size() > 11 ? slug.substr(11) : ""; }

Response figure_of(const std::string& id, Context& context) {
    const auto record = context.source->record(id);
    if (!record || !record->analysis) return error_response(404, "no figure before a verdict");
    Response response;
    response.type = "image/svg+xml";
    response.headers.emplace_back("Cache-Control", "private, max-age=30");
    response.body = entry_figure(*record);
    response.share_ms = kShareDecided_ms;
    return response;
}

}  // namespace

Response get_entry(const Request& request, Context& context) {
    const std::string& slug = request.params.at("slug");
    const std::string id = id_of(slug);
    if (request.format == "svg") return figure_of(id, context);
    const std::optional<std::string> text = context.source->entry(slug);
    if (!text) return error_response(404, "no journal entry '" + slug + "'");
    if (request.format == "json") {
        return shared_json({{"slug", slug}, {"id", id}, {"markdown", *text}}, kShareDecided_ms);
    }
    Response response;
    response.share_ms = kShareDecided_ms;
    response.headers.emplace_back("Cache-Control", "no-store");
    if (request.format == "md") {
        response.type = "text/markdown";
        response.body = *text;
        return response;
    }
    const std::string link = fmt::format(" · <a href=\"/x/{}\">Experiment</a>", escape_html(id));
    response.type = "text/html";
    response.body = fmt::format(kPage, fmt::arg("title", escape_html(title_of(*text, slug))),
                                fmt::arg("slug", escape_html(slug)), fmt::arg("experiment", link),
                                fmt::arg("body", render_markdown(*text)));
    return response;
}

}  // namespace steady::web
