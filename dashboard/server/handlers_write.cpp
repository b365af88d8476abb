// Submits and cancels jobs, and checks a file without storing it. The decoder is that of the
// command line, so both report the same errors.
#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "dashboard/server/assets.h"
#include "dashboard/server/handlers.h"
#include "kernels/base/error.h"
#include "runner/plan/plan.h"
#include "runner/spec/spec.h"
#include "runner/spec/spec_runnable.h"

namespace steady::web {
namespace {

using nlohmann::json;

constexpr std::size_t kSpecBytes = 256 * 1024;

json errors_json(const std::vector<SpecError>& errors) {
    json list = json::array();
    for (const SpecError& error : errors) {
        list.push_back({{"pointer", error.pointer},
                        {"line", error.line},
                        {"column", error.column},
                        {"found", error.found},
                        {"allowed", error.allowed},
                        {"hint", error.hint},
                        {"text", describe(error, "")}});
    }
    return list;
}

// What would run, as far as the file alone says it.
json preview_json(const Spec& spec) {
    json gates = json::array();
    for (const Gate& gate : spec.gates) {
        gates.push_back({{"id", gate.id},
                         {"level", name(gate.level)},
                         {"role", name(gate.role)},
                         {"metric", gate.metric},
                         {"op", gate.op}});
    }
    const Gate* decides = deciding_gate(spec);
    const Plan plan = make_plan(spec, {});
    std::string tried;  // what to look for in the journal: the last part of the first changed path
    if (!plan.difference.empty()) {
        tried = plan.difference[0].substr(plan.difference[0].rfind('.') + 1);
    }
    return {{"id", spec.id},
            {"sha256", spec.sha256},
            {"owner", spec.owner},
            {"claim", spec.hypothesis.claim},
            {"program", spec.subject.program},
            {"model", spec.subject.model},
            {"threads", spec.subject.threads},
            {"expect_diff", spec.expect_diff},
            {"undeclared", plan.undeclared},
            {"missing", plan.missing},
            {"tried", tried},
            {"mode", name(spec.schedule.mode)},
            {"pairs_max", spec.schedule.pairs_max},
            {"aa_pairs", spec.schedule.aa_pairs},
            {"tokens_per_pair", spec.schedule.warmup_tokens + spec.schedule.tokens},
            {"decides", decides == nullptr ? json() : json(decides->id)},
            {"gates", std::move(gates)}};
}

SpecResult decode(const Request& request) {
    if (request.body.size() > kSpecBytes) {
        throw Error("an experiment file has at most 256 KB");
    }
    SpecResult result = parse_question(request.body, "");
    if (result.spec) {
        result.errors = not_runnable(*result.spec, RunPlace::queue);
        if (!result.errors.empty()) result.spec.reset();
    }
    return result;
}

int priority_in(const Request& request) {
    const std::string& text = query(request, "priority");
    if (text.empty()) return 0;
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < -100 || value > 100) {
        throw Error("query parameter priority: allowed: a whole number from -100 to 100");
    }
    return value;
}

// What an experiment takes in the database before anything is measured: its text twice, as bytes
// and as a document, and a row for each planned pair.
std::uint64_t stored_bytes(const Spec& spec) {
    constexpr std::uint64_t kRowBytes = 200;
    std::uint64_t rows = 0;
    for (const Measurement& one : plan_measurements(spec)) {
        rows += static_cast<std::uint64_t>(one.pairs_max + one.aa_pairs + one.control_pairs);
    }
    return 2 * spec.canonical.size() + kRowBytes * rows;
}

Response submitted_response(const Submitted& submitted, Context& context) {
    if (submitted.created) ++context.app.traffic.submitted;
    Response response = json_response({{"id", submitted.id},
                                       {"state", submitted.state},
                                       {"created", submitted.created},
                                       {"url", "/x/" + submitted.id}},
                                      submitted.created ? 201 : 200);
    response.headers.emplace_back("Location", "/x/" + submitted.id);
    return response;
}

}  // namespace

// Not by the scope admin: whoever runs the service need not want foreign code on its workers.
bool may_send_commands(Context& context) {
    const std::vector<std::string> scopes = context.source->token_scopes(context.token_sha);
    return std::find(scopes.begin(), scopes.end(), "commands") != scopes.end();
}

std::optional<Response> no_room(Context& context) {
    App& app = context.app;
    if (!app.may_submit(context.token_sha)) {
        Response response = error_response(429, "more than 30 submissions in a minute");
        response.headers.emplace_back("Retry-After", "60");
        return response;
    }
    if (context.source->queue_depth() < app.options.queue_depth_max) return std::nullopt;
    Response response = error_response(429, "the queue is full");
    response.headers.emplace_back("Retry-After", "300");
    return response;
}

Response post_validate(const Request& request, Context&) {
    const SpecResult result = decode(request);
    json out = {{"valid", result.spec.has_value()},
                {"errors", errors_json(result.errors)},
                {"warnings", result.warnings},
                {"plan", result.spec ? preview_json(*result.spec) : json()}};
    return json_response(out);
}

Response post_submit(const Request& request, Context& context) {
    const SpecResult result = decode(request);
    if (!result.spec) {
        return json_response({{"error", {{"status", 422}, {"message", "the file has errors"}}},
                              {"errors", errors_json(result.errors)}},
                             422);
    }
    const int priority = priority_in(request);
    const bool commands = query(request, "commands") == "1";
    if (commands && !may_send_commands(context)) {
        return error_response(403,
                              "this token lacks the scope commands: the program must be one "
                              "that a worker registered");
    }
    if (auto full = no_room(context)) return *full;
    if (!context.app.may_store(context.token_sha, stored_bytes(*result.spec))) {
        Response response = error_response(
            429, "this token has submitted too much for one day; allowed: " +
                     std::to_string(context.app.options.submit_bytes_per_day >> 20U) +
                     " MB of the database");
        response.headers.emplace_back("Retry-After", "86400");
        return response;
    }
    return submitted_response(context.source->submit(*result.spec, priority, commands), context);
}

Response post_requeue(const Request& request, Context& context) {
    const std::string& id = request.params.at("id");
    const auto record = context.source->outline(id);
    if (!record) return no_such_experiment(request);
    if (record->state != "failed" && record->state != "cancelled") {
        return error_response(
            409, id + " is " + record->state + ": only a failed or cancelled job is queued again");
    }
    if (auto full = no_room(context)) return *full;
    return json_response({{"id", id}, {"state", context.source->requeue(id)}});
}

Response post_priority(const Request& request, Context& context) {
    const std::string& id = request.params.at("id");
    if (query(request, "priority").empty()) {
        throw Error("query parameter priority: allowed: a whole number from -100 to 100");
    }
    const int priority = priority_in(request);
    const auto record = context.source->outline(id);
    if (!record) return no_such_experiment(request);
    if (record->state != "queued") {
        return error_response(
            409, id + " is " + record->state + ": only a waiting job comes earlier or later");
    }
    context.source->set_priority(id, priority);
    return json_response({{"id", id}, {"state", "queued"}, {"priority", priority}});
}

Response post_rerun(const Request& request, Context& context) {
    const std::string& id = request.params.at("id");
    const auto record = context.source->outline(id);
    if (!record) return no_such_experiment(request);
    const bool commands = query(request, "commands") == "1";
    if (commands && !may_send_commands(context)) {
        return error_response(403, "this token lacks the scope commands");
    }
    if (auto full = no_room(context)) return *full;
    return submitted_response(context.source->rerun(id, commands), context);
}

Response post_cancel(const Request& request, Context& context) {
    const std::string& id = request.params.at("id");
    const std::string state = context.source->cancel(id);
    if (state.empty()) return no_such_experiment(request);
    ++context.app.traffic.cancelled;
    return json_response({{"id", id}, {"state", state}});
}

Response get_submit(const Request&, Context&) {
    const Asset* schema = find_asset("experiment.v1.schema.json");
    if (schema == nullptr) return error_response(404, "this build holds no schema");
    Response response;
    response.body = std::string(schema->bytes);
    return response;
}

}  // namespace steady::web
