// Figures as SVG, by the same functions as in journal entries, from the numbers of the stored
// analysis: the page and the entry cannot show different pictures.
#include "dashboard/server/handlers.h"
#include "runner/entry/entry_figures.h"

namespace steady::web {
namespace {

Response svg_response(std::string svg) {
    Response response;
    response.type = "image/svg+xml";
    response.headers.emplace_back("Cache-Control", "private, max-age=30");
    response.body = std::move(svg);
    response.share_ms = kShareDecided_ms;
    return response;
}

}  // namespace

Response get_figure(const Request& request, Context& context) {
    const auto record = find_record(request, context);
    if (!record) return no_such_experiment(request);
    const std::string& which = request.params.at("name");
    const bool decided = record->analysis.has_value();
    if (which == "intervals" && decided) return svg_response(intervals_figure(*record));
    if (which == "pairs" && decided) return svg_response(pairs_figure(*record));
    if (which == "distribution" && decided) return svg_response(distribution_figure(*record));
    if (which == "profile" && record->evidence.profile) {
        return svg_response(profile_figure(*record));
    }
    return error_response(
        404, "no figure '" + which +
                 "' here; allowed: intervals, pairs and distribution after the verdict, profile "
                 "where one was measured");
}

}  // namespace steady::web
