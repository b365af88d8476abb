// Notes and marks on a series: written by token, shown with its name, removable.
#include <charconv>
#include <nlohmann/json.hpp>

#include "dashboard/server/handlers.h"
#include "kernels/base/error.h"

namespace steady::web {
namespace {

using nlohmann::json;

constexpr std::size_t kLongest = 2000;  // bytes

std::string member(const json& body, const char* key) {
    const auto found = body.find(key);
    if (found == body.end() || !found->is_string()) {
        throw Error(std::string("/") + key + ": allowed: a text");
    }
    return found->get<std::string>();
}

track::Note note_of(const Request& request) {
    const json body = json::parse(request.body, nullptr, false);
    if (!body.is_object()) {
        throw Error(R"(the body must be an object {"commit", "kind", "text"})");
    }
    for (const auto& [key, value] : body.items()) {
        if (key != "commit" && key != "kind" && key != "text") {
            throw Error("/" + key + ": unknown; allowed: commit, kind, text");
        }
    }
    track::Note note;
    note.commit = member(body, "commit");
    const bool hex = note.commit.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (!hex || note.commit.size() < 7 || note.commit.size() > 40) {
        throw Error("/commit: allowed: 7 to 40 hex digits of a commit of this series");
    }
    note.kind = member(body, "kind");
    if (note.kind != "note" && note.kind != "mark") {
        throw Error("/kind: allowed: note, or mark where a level changes");
    }
    note.text = member(body, "text");
    const bool blank = note.text.find_first_not_of(" \t\r\n") == std::string::npos;
    if (blank || note.text.size() > kLongest || note.text.find('\0') != std::string::npos) {
        throw Error("/text: allowed: 1 to 2000 bytes that are not all blank, without NUL");
    }
    return note;
}

std::int64_t number_in(const std::string& text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) {
        throw Error("a note is named by its number");
    }
    return value;
}

}  // namespace

Response post_note(const Request& request, Context& context) {
    const std::string& name = request.params.at("name");
    const auto kept = context.source->add_note(name, note_of(request));
    if (!kept) return error_response(404, "no series '" + name + "'; /s lists them");
    return json_response({{"id", kept->id},
                          {"commit", kept->commit},
                          {"kind", kept->kind},
                          {"author", kept->author}},
                         201);
}

Response post_note_removal(const Request& request, Context& context) {
    const std::string& name = request.params.at("name");
    const std::int64_t note = number_in(request.params.at("note"));
    if (!context.source->remove_note(name, note)) {
        return error_response(404, "series '" + name + "' has no note " + std::to_string(note) +
                                       ": it was removed, or is another series'");
    }
    return json_response({{"id", note}, {"state", "removed"}});
}

}  // namespace steady::web
