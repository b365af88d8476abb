// Words to a text query, rows of experiments and of shipped records as one list.
#include "runner/storage/search.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>

#include "runner/base/sha256.h"
#include "runner/base/text.h"
#include "runner/record/cpu_class.h"
#include "runner/storage/dashboard_statements.h"
#include "runner/storage/rows.h"
#include "runner/storage/runs_of.h"

namespace steady::search {
namespace {

using nlohmann::json;

constexpr std::size_t kMostWords = 16, kLongestWord = 100, kMostNear = 3;
constexpr int kMostNearest = 10;

std::vector<std::string> cut(const std::string& words) {
    std::vector<std::string> out(1);
    for (const char c : words) {
        const bool letter = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
        if (letter && out.back().size() < kLongestWord) {
            out.back().push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
        } else if (!letter && !out.back().empty()) {
            out.emplace_back();
        }
    }
    if (out.back().empty()) out.pop_back();
    if (out.size() > kMostWords) out.resize(kMostWords);
    return out;
}

std::string joined(const std::vector<std::string>& words, const char* by) {
    std::string out;
    for (const std::string& word : words)
        out += (out.empty() ? "'" : std::string(by) + "'") + word + "':*";
    return out;
}

page::ListRow row_of(const pqxx::row& row) {
    const auto number = [](const pqxx::field& field) {
        return field.is_null() ? std::nullopt : std::optional(field.as<double>());
    };
    page::ListRow out;
    out.id = rows::text(row["name"]);
    out.claim = rows::text(row["claim"]);
    out.model = rows::text(row["model"]);
    out.metric = rows::text(row["metric"]);
    out.state = rows::text(row["state"]);
    out.verdict = rows::text(row["outcome"]);
    out.reason = rows::text(row["reason"]);
    out.host = rows::text(row["host"]);
    out.owner = rows::text(row["owner"]);
    out.effect = number(row["effect"]);
    out.interval = {number(row["low"]), number(row["high"])};
    out.pairs = row["pairs"].as<int>(0);
    out.submitted_at = rows::text(row["submitted"]);
    out.decided_at = rows::text(row["decided"]);
    out.note = rows::text(row["note"]);
    out.journal_path = rows::text(row["path"]);
    out.file = rows::text(row["file"]);
    out.question_sha = rows::text(row["question"]);
    return out;
}

// The words nearest to one that nothing has.
std::vector<std::string> near_words(Transaction& transaction, const std::string& word) {
    std::vector<std::pair<std::size_t, std::string>> all;
    for (const auto& row : transaction.exec(sql::kSearchVocabulary)) {
        std::string known = rows::text(row[0]);
        const std::size_t far = edit_distance(word, known);
        if (far <= 1 + word.size() / 5) all.emplace_back(far, std::move(known));
    }
    std::sort(all.begin(), all.end());
    std::vector<std::string> out;
    for (std::size_t i = 0; i < std::min(all.size(), kMostNear); ++i) out.push_back(all[i].second);
    return out;
}

// The database refuses all records together, so none may hold what it cannot read.
std::string instant(const std::string& text) {
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    const std::string shape = "dddd-dd-ddTdd:dd:dd";
    bool fits = text.size() >= shape.size() && text.size() < 40;
    for (std::size_t i = 0; fits && i < shape.size(); ++i) {
        fits = shape[i] == 'd' ? digit(text[i]) : text[i] == shape[i];
    }
    if (!fits) throw json::other_error::create(501, "no instant", nullptr);
    return text;
}

// What learn() keeps of one record. Only fields that every version of the archive has.
json summary_of(const json& content) {
    const json& experiment = content.at("experiment");
    const json spec = json::parse(experiment.at("spec_text").get<std::string>());
    json out{{"name", experiment.at("name")},
             {"outcome", ""},
             {"reason", ""},
             {"effect", nullptr},
             {"low", nullptr},
             {"high", nullptr},
             {"pairs", 0},
             {"metric", ""},
             {"host", ""},
             {"decided", ""},
             {"spec_sha", experiment.at("spec_sha")},
             {"rerun_no", experiment.at("rerun_no")},
             {"seed", experiment.at("seed")},
             {"question_sha", experiment.at("question_sha")},
             {"state", experiment.at("state")},
             {"submitted_at", instant(experiment.at("submitted_at"))},
             {"device", ""},
             {"fingerprint", nullptr}};
    out["claim"] = spec.value(json::json_pointer("/hypothesis/claim"), "");
    out["model"] = spec.value(json::json_pointer("/subject/model"), "");
    for (const json& arm : spec.at("arms")) {
        const std::string device = arm.value(json::json_pointer("/engine_flags/device"), "");
        if (!device.empty()) out["device"] = device;
    }
    std::string words = experiment.at("name").get<std::string>() + " " +
                        experiment.at("spec_text").get<std::string>();
    for (const json& verdict : content.at("verdict")) {
        const json analysis = json::parse(verdict.at("analysis").get<std::string>());
        out["outcome"] = verdict.at("outcome");
        out["reason"] = verdict.at("reason").is_null() ? json("") : verdict.at("reason");
        out["decided"] = verdict.at("at").get<std::string>().substr(0, 19) + "Z";
        out["effect"] = analysis.value("effect", json());
        out["pairs"] = analysis.value("pairs", 0);
        out["metric"] = analysis.value("metric", "");
        const json interval = analysis.value("interval", json());
        if (interval.is_object()) {
            out["low"] = interval.value("low", json());
            out["high"] = interval.value("high", json());
        }
        words += " " + out["outcome"].get<std::string>() + " " + out["reason"].get<std::string>();
    }
    for (const json& attempt : content.at("attempts")) {
        if (attempt.at("host").is_string()) out["host"] = attempt.at("host");
        words += " " + out["host"].get<std::string>();
        if (!attempt.at("fingerprint").is_string()) continue;
        const json print = json::parse(attempt.at("fingerprint").get<std::string>());
        out["fingerprint"] = print;
        words += " " + print.value("cpu_model", "") + " " + cpu_class(print.get<Fingerprint>());
    }
    out["words"] = words;
    return out;
}

}  // namespace

std::string query_of(const std::string& words) { return joined(cut(words), " & "); }

Findings find(Transaction& transaction, const std::string& words, int limit, bool decided_only) {
    Findings out;
    const std::vector<std::string> cut_words = cut(words);
    if (cut_words.empty()) return out;
    const auto ask = [&](const std::string& query, int most) {
        out.rows.clear();
        for (const auto& row : transaction.exec_params(
                 sql::kSearch, query, rows::array_of(cut_words), most, decided_only)) {
            out.rows.push_back(row_of(row));
        }
    };
    const auto with_runs = [&] {
        std::vector<std::string> questions;
        for (const page::ListRow& row : out.rows) questions.push_back(row.question_sha);
        auto runs = page::runs_of(transaction, questions);
        for (page::ListRow& row : out.rows) row.runs = std::move(runs[row.question_sha]);
    };
    ask(joined(cut_words, " & "), limit);
    if (!out.rows.empty()) {
        with_runs();
        return out;
    }
    out.nearest = true;
    for (const std::string& word : cut_words) {
        const std::string one = joined({word}, "");
        if (!transaction.exec_params1(sql::kSearchKnows, one)[0].as<bool>()) {
            out.unknown.push_back({word, near_words(transaction, word)});
        }
    }
    if (out.unknown.size() < cut_words.size())
        ask(joined(cut_words, " | "), std::min(limit, kMostNearest));
    with_runs();
    return out;
}

void learn(Transaction& transaction, const std::vector<Shipped>& files) {
    std::map<std::string, std::string> known;
    for (const auto& row : transaction.exec(sql::kShippedKnown)) {
        known[rows::text(row[0])] = rows::text(row[1]);
    }
    json now = json::array();
    std::vector<std::string> here;
    for (const Shipped& file : files) {
        here.push_back(file.file);
        const std::string sha = sha256_hex(file.text);
        if (const auto found = known.find(file.file);
            found != known.end() && found->second == sha) {
            continue;
        }
        try {
            const json archive = json::parse(file.text);
            for (const json& experiment : archive.at("experiments")) {
                json one = summary_of(experiment.at("content"));
                one["file"] = file.file;
                one["sha"] = sha;
                one["record_sha"] = experiment.at("sha256");
                now.push_back(std::move(one));
            }
        } catch (const json::exception&) {
            continue;  // `steady import` says what is wrong with a damaged record
        }
    }
    if (now.empty() && here.size() == known.size()) return;
    transaction.exec_params(sql::kShippedForget, rows::array_of(here));
    transaction.exec_params(sql::kShippedLearn, now.dump());
}

}  // namespace steady::search
