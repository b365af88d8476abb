// Database to text and back. An experiment is one JSON object: `content` is what the tables hold
// (samples as lines of JSON, one per row), `entry` the journal's file, `sha256` the hash over both;
// in the file the samples are a zstd frame in base64. Form and hashes: archive_form.cpp.
#include "runner/storage/archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runner/storage/archive_form.h"
#include "runner/storage/archive_statements.h"

namespace steady {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kRowsPerStatement = 2000;

struct Section {
    const char *name, *read, *write;
};

// In the order in which they can be written.
constexpr Section kSections[] = {
    {"attempts", sql::kArchiveAttempts, sql::kImportAttempts},
    {"pairs", sql::kArchivePairs, sql::kImportPairs},
    {"evidence", sql::kArchiveEvidence, sql::kImportEvidence},
    {"noise", sql::kArchiveNoise, sql::kImportNoise},
    {"verdict", sql::kArchiveVerdict, sql::kImportVerdict},
    {"journal", sql::kArchiveJournal, sql::kImportJournal},
};

// Null when there is no such experiment.
Json read_content(Transaction& transaction, const std::string& id) {
    const auto head = transaction.exec_params(sql::kArchiveHead, id);
    if (head.empty()) return nullptr;
    const auto job = head[0][0].as<std::int64_t>();
    Json content{{"experiment", Json::parse(head[0][2].c_str())}};
    for (const Section& section : kSections) {
        content[section.name] = Json::parse(transaction.exec_params1(section.read, job)[0].c_str());
    }
    Json samples = Json::array();
    for (const auto& row : transaction.exec_params(sql::kArchiveSamples, job)) {
        samples.push_back(Json::parse(row[0].c_str()));
    }
    content["samples"] = std::move(samples);
    return content;
}

Json hosts_of(const Json& content) {
    Json hosts = Json::array();
    const auto add = [&](const Json& row, const char* when) {
        if (!row.contains("host") || row.at("host").is_null()) return;
        hosts.push_back({{"name", row.at("host")}, {"began", row.value(when, Json())}});
    };
    add(content.at("experiment"), "submitted_at");
    for (const auto& row : content.at("attempts")) add(row, "began");
    for (const auto& row : content.at("pairs")) add(row, "done_at");
    for (const auto& row : content.at("noise")) add(row, "at");
    return hosts;
}

void write_content(Transaction& transaction, const archive::Experiment& one,
                   const std::string& name) {
    const Json& content = one.content;
    transaction.exec_params(sql::kImportHosts, hosts_of(content).dump());
    const std::string head = content.at("experiment").dump();
    const auto experiment =
        transaction.exec_params1(sql::kImportExperiment, head, name)[0].as<std::int64_t>();
    const auto job =
        transaction.exec_params1(sql::kImportJob, experiment, head)[0].as<std::int64_t>();
    transaction.exec_params(sql::kImportOrigin, job, head, one.sha256);
    for (const Section& section : kSections) {
        transaction.exec_params(section.write, job, content.at(section.name).dump());
    }
    const Json& samples = content.at("samples");
    for (std::size_t i = 0; i < samples.size(); i += kRowsPerStatement) {
        const std::size_t end = std::min(samples.size(), i + kRowsPerStatement);
        Json some = Json::array();
        for (std::size_t k = i; k < end; ++k) some.push_back(samples[k]);
        transaction.exec_params(sql::kImportSamples, job, some.dump());
    }
}

// Which section is not what the archive says; for the message.
std::string first_difference(const Json& x, const Json& y) {
    for (const auto& [key, value] : x.items()) {
        if (!y.contains(key) || y.at(key) != value) return key;
    }
    return "shape";
}

[[noreturn]] void refuse(const std::string& id, const std::string& why) {
    throw Error{fmt::format("{}: {}; nothing was imported", id, why)};
}

// Where the entry lies is a matter of each database.
Json without_entry(Json content) {
    content.erase("journal");
    return content;
}

Imported import_one(Transaction& transaction, const archive::Experiment& experiment) {
    Imported out;
    try {
        const auto run =
            transaction.exec_params1(sql::kImportRun, experiment.content.at("experiment").dump());
        out = {run[2].c_str(), run[0].c_str(), true};
        if (const std::string name = run[1].c_str(); !name.empty()) {
            const Json here = without_entry(read_content(transaction, name));
            const Json there = without_entry(experiment.content);
            if (here == there) return {name, out.run, false};
            refuse(experiment.id,
                   fmt::format("this database has this very run ({}, here {}) with another content "
                               "({}); import into another one (--db URL)",
                               out.run, name, first_difference(there, here)));
        }
        write_content(transaction, experiment, out.id);
    } catch (const pqxx::sql_error& error) {
        const std::string& state = error.sqlstate();
        const bool of_content = state.starts_with("22") || state.starts_with("23") ||
                                state.starts_with("21") || state == "54000" || state == "54001";
        if (!of_content) throw;
        std::string text = error.what();
        text.resize(std::min(text.find('\n'), text.size()));
        refuse(experiment.id, "the database refuses its content: " + text);
    }
    const Json stored = read_content(transaction, out.id);
    if (stored != experiment.content) {
        refuse(experiment.id, fmt::format("its {} would not be stored as written",
                                          first_difference(experiment.content, stored)));
    }
    return out;
}

}  // namespace

std::string export_archive(Connection& connection, const std::vector<Archived>& experiments) {
    std::vector<archive::Experiment> all;
    connection.transact([&](Transaction& transaction) {
        all.clear();
        for (const Archived& one : experiments) {
            Json content = read_content(transaction, one.id);
            if (content.is_null()) throw Error{fmt::format("no experiment {}", one.id)};
            const std::string state = content.at("experiment").at("state");
            if (state == "queued" || state == "running") {
                throw Error{fmt::format(
                    "{} is {}: two databases would work on it. Export it when it is done, or "
                    "`steady cancel {}` first",
                    one.id, state, one.id)};
            }
            all.push_back({one.id, std::move(content), one.entry});
        }
    });
    return archive::to_text(all);
}

std::vector<Archived> list_archive(const std::string& text) {
    std::vector<Archived> out;
    for (const auto& experiment : archive::from_text(text)) {
        out.push_back({experiment.id, experiment.entry});
    }
    return out;
}

std::vector<Imported> import_archive(Connection& connection, const std::string& text) {
    const auto experiments = archive::from_text(text);
    std::vector<Imported> out;
    connection.transact([&](Transaction& transaction) {
        out.clear();
        for (const auto& experiment : experiments) {
            out.push_back(import_one(transaction, experiment));
        }
    });
    return out;
}

}  // namespace steady
