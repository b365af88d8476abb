// Searches for the commit that changed a metric, asked for by token: what `steady bisect` runs, run
// by a worker. What no worker could run is refused here, with the reason.
#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "dashboard/server/handlers.h"
#include "kernels/base/error.h"
#include "runner/queue/submit.h"
#include "runner/spec/spec_runnable.h"
#include "runner/track/revision_question.h"

namespace steady::web {
namespace {

using nlohmann::json;

// Names of commits, branches and tags; nothing that git could take for an option or a range.
std::string revision_in(const json& body, const char* key) {
    const auto found = body.find(key);
    const std::string text =
        found != body.end() && found->is_string() ? found->get<std::string>() : std::string();
    const auto fits = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '.' || c == '_' || c == '-' || c == '/';
    };
    const bool good = !text.empty() && text.size() <= 100 && text != "." && text.front() != '-' &&
                      text.find("..") == std::string::npos &&
                      std::all_of(text.begin(), text.end(), fits);
    if (good) return text;
    throw Error(std::string("/") + key +
                ": allowed: a commit, branch or tag of letters, digits, '.', '_', '-' and '/'");
}

bisect::Asked asked_in(const Request& request, const Record& record) {
    const json body = json::parse(request.body, nullptr, false);
    if (!body.is_object()) throw Error(R"(the body must be an object {"good", "bad"})");
    for (const auto& [key, value] : body.items()) {
        if (key != "good" && key != "bad") {
            throw Error("/" + key + ": unknown; allowed: good, bad");
        }
    }
    bisect::Asked asked;
    asked.experiment = record.id;
    asked.good = revision_in(body, "good");
    asked.bad = revision_in(body, "bad");
    if (asked.good == asked.bad)
        throw Error("/bad: found the commit of /good, allowed: a later one");
    asked.commands = query(request, "commands") == "1";
    return asked;
}

// Empty: some machine advertises that it would take it.
std::string nobody_runs(const Spec& spec, bool commands, Context& context) {
    const std::string tag =
        commands ? std::string(kCommandsTag) : std::string(kProgramTag) + spec.subject.name;
    for (const page::HostDetail& host : context.source->hosts()) {
        if (std::find(host.tags.begin(), host.tags.end(), tag) != host.tags.end()) return "";
    }
    const std::string command = "; on the machine itself: steady bisect GOOD BAD FILE";
    if (commands) return "no worker takes commands of others (steady worker --commands)" + command;
    return "no worker has registered the program '" + spec.subject.name +
           "' (steady program add FILE there), and the search asks for no worker that takes any "
           "command" +
           command;
}

}  // namespace

json search_json(const bisect::Asked& one) {
    return {{"id", one.id},
            {"experiment", one.experiment},
            {"good", one.good},
            {"bad", one.bad},
            {"asked_by", one.asked_by},
            {"at", one.at},
            {"state", one.state},
            {"host", one.host},
            {"outcome", one.outcome},
            {"note", one.note},
            {"culprit", one.culprit},
            {"ended_at", one.ended_at}};
}

Response post_bisect(const Request& request, Context& context) {
    const auto record = find_record(request, context);
    if (!record) return no_such_experiment(request);
    const bisect::Asked asked = asked_in(request, *record);
    check_revision_question(record->spec);
    const std::string why = why_not_runnable(record->spec, RunPlace::queue);
    if (!why.empty()) return error_response(409, why);
    if (asked.commands && !may_send_commands(context)) {
        return error_response(403,
                              "this token lacks the scope commands: the program must be one "
                              "that a worker registered");
    }
    const std::string nobody = nobody_runs(record->spec, asked.commands, context);
    if (!nobody.empty()) return error_response(409, nobody);
    if (auto full = no_room(context)) return *full;
    const bisect::AskedNow now = context.source->ask_search(asked);
    return json_response({{"id", now.id}, {"created", now.created}, {"state", "queued"}},
                         now.created ? 201 : 200);
}

Response post_search_cancel(const Request& request, Context& context) {
    const std::string& text = request.params.at("search");
    std::int64_t id = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
    if (error != std::errc{} || end != text.data() + text.size()) {
        throw Error("a search is named by its number");
    }
    const std::string state = context.source->cancel_search(id);
    if (state.empty()) return error_response(404, "no such search; /q lists them");
    return json_response({{"id", id}, {"state", state}});
}

}  // namespace steady::web
