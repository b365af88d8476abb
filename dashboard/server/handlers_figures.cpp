// Figures as SVG, the same functions as in journal entries.
#include <nlohmann/json.hpp>

#include "dashboard/server/handlers.h"
#include "dashboard/server/view_json.h"

namespace steady::web {

Response get_figure(const Request& request, Context& context) {
    const auto record = find_record(request, context);
    if (!record) return no_such_experiment(request);
    return error_response(404, "no such figure");
}

Response get_experiment(const Request& request, Context& context) {
    const auto record = find_record(request, context);
    if (!record) return no_such_experiment(request);
    return json_response(experiment_json(*record));
}

Response get_record(const Request& request, Context& context) {
    const auto record = find_record(request, context);
    if (!record) return no_such_experiment(request);
    return json_response(experiment_json(*record));
}

}  // namespace steady::web
