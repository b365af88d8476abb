// The hash is over the uncompressed content, so that another version of the compressor gives the
// same archive.
#include "runner/storage/archive_form.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <zstd.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "engine/protocol/session_json.h"
#include "runner/base/sha256.h"
#include "runner/record/record_json.h"
#include "runner/record/stacks.h"
#include "runner/statistics/stopping_rule.h"
#include "runner/storage/store.h"

namespace steady::archive {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostBytes = std::size_t{256} << 20U;    // of the file
constexpr std::size_t kMostSamples = std::size_t{512} << 20U;  // uncompressed, per experiment
constexpr int kDeepest = 12;

[[noreturn]] void refuse(const std::string& where, const std::string& why) {
    throw Error{fmt::format("archive: {}: {}. Export it again", where, why)};
}

std::string to_base64(const std::string& bytes) {
    std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');
    const int n = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                  reinterpret_cast<const unsigned char*>(bytes.data()),
                                  static_cast<int>(bytes.size()));
    out.resize(static_cast<std::size_t>(n));
    return out;
}

std::string from_base64(const std::string& text, const std::string& where) {
    std::string out(text.size() / 4 * 3, '\0');
    const int n = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                  reinterpret_cast<const unsigned char*>(text.data()),
                                  static_cast<int>(text.size()));
    if (n < 0 || text.empty()) refuse(where, "the samples are no base64");
    const bool two = text.ends_with("=="), one = text.ends_with("=");
    out.resize(static_cast<std::size_t>(n) - (two ? 2U : one ? 1U : 0U));
    return out;
}

std::string compressed(const std::string& text) {
    std::string out(ZSTD_compressBound(text.size()), '\0');
    const std::size_t n = ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 6);
    if (ZSTD_isError(n) != 0) throw Error{"zstd cannot compress the samples", kExitInternal};
    out.resize(n);
    return out;
}

std::string uncompressed(const std::string& frame, const std::string& where) {
    const unsigned long long size = ZSTD_getFrameContentSize(frame.data(), frame.size());
    if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR || size > kMostSamples) {
        refuse(where, fmt::format("the samples are no zstd frame of a stated size up to {} MB",
                                  kMostSamples >> 20U));
    }
    std::string out(static_cast<std::size_t>(size), '\0');
    const std::size_t n = ZSTD_decompress(out.data(), out.size(), frame.data(), frame.size());
    if (ZSTD_isError(n) != 0 || n != out.size()) refuse(where, "the compressed samples are torn");
    return out;
}

Json parsed(const std::string& text, const std::string& where) {
    bool too_deep = false;
    const Json::parser_callback_t watch = [&](int depth, Json::parse_event_t, Json&) {
        too_deep |= depth > kDeepest;
        return !too_deep;
    };
    Json out = Json::parse(text, watch, false);
    if (too_deep) refuse(where, fmt::format("it is nested deeper than {} levels", kDeepest));
    if (out.is_discarded()) refuse(where, "it is no JSON; is the file whole?");
    return out;
}

std::string sample_lines(const Json& samples) {
    std::string text;
    for (const Json& row : samples) text += row.dump() + "\n";
    return text;
}

Json samples_from(const std::string& text, const std::string& where) {
    Json samples = Json::array();
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        samples.push_back(parsed(text.substr(at, end - at), where));
        at = end + 1;
    }
    return samples;
}

std::string hash_of(const Json& content, const std::string& entry) {
    return sha256_hex(content.dump(-1, ' ', false, Json::error_handler_t::strict) + "\n" + entry);
}

void require_keys(const Json& object, const std::set<std::string>& keys, const std::string& where) {
    if (!object.is_object()) refuse(where, "it is no object");
    for (const std::string& key : keys) {
        if (!object.contains(key)) refuse(where, fmt::format("\"{}\" is missing", key));
    }
    for (const auto& [key, value] : object.items()) {
        if (!keys.contains(key)) refuse(where, fmt::format("\"{}\" is unknown", key));
    }
}

std::string name_of(const Json& head) {
    const int rerun = head.at("rerun_no");
    return fmt::format("{}-{}{}", head.at("spec_id").get<std::string>(),
                       head.at("spec_sha").get<std::string>().substr(0, 8),
                       rerun > 0 ? fmt::format("-{}", rerun + 1) : "");
}

// The spec must be one that this version reads, and be what the hashes and the id say.
void check_head(const Json& head, const std::string& where) {
    const SpecResult result = parse_spec(head.at("spec_text").get<std::string>(), "");
    if (!result.spec)
        refuse(where, "its spec is refused: " + describe(result.errors.at(0), "spec"));
    const Spec& spec = *result.spec;
    const auto is = [&](const char* key, const std::string& wanted) {
        return head.at(key).get<std::string>() == wanted;
    };
    if (!is("spec_text", spec.canonical) || !is("spec_sha", spec.sha256) ||
        !is("spec_id", spec.id) ||
        // With revisions, the question names commits, which the file does not.
        (spec.subject.repo.empty() && !asks(spec, head.at("question_sha").get<std::string>())) ||
        !is("name", name_of(head))) {
        refuse(where, "its spec is not the one that its hashes and its id name");
    }
    for (const Json& id : head.at("earlier")) static_cast<void>(id.get<std::string>());
}

// What the tables take as free JSON must be what every reader of a record expects.
void check_documents(const Json& content, const std::string& where) {
    for (const Json& attempt : content.at("attempts")) {
        if (attempt.at("fingerprint").is_null()) continue;
        parsed(attempt.at("fingerprint").get<std::string>(), where).get<Fingerprint>();
    }
    for (const Json& evidence : content.at("evidence")) {
        const std::string kind = evidence.at("kind");
        const Json body = parsed(evidence.at("body").get<std::string>(), where);
        if (kind == "applied") static_cast<void>(body.get<ProgramReport>());
        if (kind == "correctness") static_cast<void>(body.get<OutputsReport>());
        if (kind == "profile") static_cast<void>(body.get<protocol::ProfileReply>());
        if (kind == "correctness_failure") static_cast<void>(body.at("text").get<std::string>());
        if (kind == "prior") static_cast<void>(budget_of(body.get<Prior>().rule.value_or(1), 50));
        if (kind == "sweep") static_cast<void>(body.get<SweepReport>());
        if (kind == "stacks") static_cast<void>(flame_graph(stacks_from_text(body.dump())));
        if (kind == "retention") static_cast<void>(body.at("why").get<std::string>());
    }
    const bool done = content.at("experiment").at("state") == "done";
    if (content.at("verdict").size() != (done ? 1U : 0U)) {
        refuse(where, "a finished experiment has one verdict, any other has none");
    }
    for (const Json& verdict : content.at("verdict")) {
        const auto analysis =
            parsed(verdict.at("analysis").get<std::string>(), where).get<Analysis>();
        if (name(analysis.verdict) != verdict.at("outcome").get<std::string>()) {
            refuse(where, "verdict and analysis disagree");
        }
    }
}

Experiment experiment_from(const Json& object, std::size_t index) {
    std::string where = fmt::format("experiment {}", index + 1);
    require_keys(object, {"content", "entry", "samples", "sha256"}, where);
    Experiment experiment{{}, object.at("content"), object.at("entry"), object.at("sha256")};
    Json& content = experiment.content;
    require_keys(content,
                 {"experiment", "attempts", "pairs", "evidence", "noise", "verdict", "journal"},
                 where + " content");
    for (const auto& [key, section] : content.items()) {
        if (key == "experiment") continue;
        const bool rows =
            section.is_array() && std::all_of(section.begin(), section.end(),
                                              [](const Json& row) { return row.is_object(); });
        if (!rows) refuse(where, fmt::format("\"{}\" is no list of objects", key));
    }
    experiment.id = content.at("experiment").at("name");
    where = experiment.id.substr(0, 100);
    content["samples"] = samples_from(
        uncompressed(from_base64(object.at("samples").get<std::string>(), where), where), where);
    if (hash_of(content, experiment.entry) != experiment.sha256) {
        refuse(where, "its content is not what its hash says");
    }
    const std::string state = content.at("experiment").at("state");
    if (state != "done" && state != "failed" && state != "cancelled") {
        refuse(where, fmt::format("state \"{}\", allowed done, failed, cancelled", state));
    }
    check_head(content.at("experiment"), where);
    check_documents(content, where);
    return experiment;
}

}  // namespace

std::string to_text(const std::vector<Experiment>& experiments) {
    Json out{{"format", kFormat}, {"experiments", Json::array()}};
    for (const Experiment& experiment : experiments) {
        Json content = experiment.content;
        const std::string samples = sample_lines(content.at("samples"));
        if (samples.size() > kMostSamples) {
            throw Error{fmt::format("{} has more than {} MB of samples; move it with pg_dump",
                                    experiment.id, kMostSamples >> 20U)};
        }
        content.erase("samples");
        out["experiments"].push_back({{"content", content},
                                      {"entry", experiment.entry},
                                      {"samples", to_base64(compressed(samples))},
                                      {"sha256", hash_of(experiment.content, experiment.entry)}});
    }
    std::string text = out.dump(1) + "\n";
    if (text.size() > kMostBytes) {
        throw Error{fmt::format("the archive would be {} MB, allowed {}; export fewer at a time",
                                text.size() >> 20U, kMostBytes >> 20U)};
    }
    return text;
}

std::vector<Experiment> from_text(const std::string& text) {
    if (text.size() > kMostBytes) {
        refuse("the file", fmt::format("{} MB, allowed {}", text.size() >> 20U, kMostBytes >> 20U));
    }
    const Json in = parsed(text, "the file");
    if (!in.is_object() || !in.contains("format") || in.at("format") != kFormat) {
        refuse("the file", fmt::format("no \"format\": \"{}\"", kFormat));
    }
    require_keys(in, {"format", "experiments"}, "the file");
    if (!in.at("experiments").is_array()) refuse("the file", "experiments is no list");
    std::vector<Experiment> out;
    std::set<std::string> ids;
    for (std::size_t i = 0; i < in.at("experiments").size(); ++i) {
        try {
            out.push_back(experiment_from(in.at("experiments")[i], i));
        } catch (const Json::exception& error) {
            refuse(fmt::format("experiment {}", i + 1), error.what());
        } catch (const Error& error) {  // of those who read a record's documents
            if (std::string_view(error.what()).starts_with("archive: ")) throw;
            refuse(fmt::format("experiment {}", i + 1), error.what());
        }
        if (!ids.insert(out.back().id).second) refuse(out.back().id, "it is there twice");
    }
    if (out.empty()) refuse("the file", "it holds no experiment");
    return out;
}

}  // namespace steady::archive
