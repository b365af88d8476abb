// The records that come with Steady: how many there are, and their import by one request.
#include <nlohmann/json.hpp>

#include "dashboard/server/handlers.h"

namespace steady::web {
namespace {

nlohmann::json shipped_json(App& app) {
    const ShippedImport::State state = app.shipped.state();
    return {{"records", app.options.shipped.records},
            {"state", state.word},
            {"read", state.read},
            {"refused", state.refused},
            {"trouble", state.trouble}};
}

}  // namespace

Response get_shipped(const Request&, Context& context) {
    return json_response(shipped_json(context.app));
}

Response post_shipped(const Request&, Context& context) {
    const ShippedRecords& records = context.app.options.shipped;
    if (records.records == 0 || !records.import) {
        return error_response(409,
                              "this server has no shipped records: start it in a checkout or from "
                              "an installation, or use steady import FILE");
    }
    context.app.shipped.begin(records);  // one that runs already goes on
    return json_response(shipped_json(context.app), 202);
}

}  // namespace steady::web
