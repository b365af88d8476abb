// One transaction for all missing files. The common case, nothing to do, is one read.
#include "runner/storage/migrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <span>

#include "runner/base/sha256.h"
#include "runner/platform/embedded.h"
#include "runner/platform/files.h"
#include "runner/platform/settings.h"
#include "runner/spec/spec.h"
#include "runner/storage/private_cluster.h"

namespace steady {

std::span<const EmbeddedFile> storage_migrations();  // made by steady_embed()

namespace {

constexpr std::int64_t kMigrationLock = 0x737465616479;  // "steady"

std::map<std::string, std::string> applied_files(pqxx::transaction_base& transaction) {
    std::map<std::string, std::string> applied;
    if (transaction.exec("select to_regclass('steady.migration')")[0][0].is_null()) return applied;
    for (const auto& row : transaction.exec("select name, sha256 from steady.migration")) {
        applied[row[0].as<std::string>()] = row[1].as<std::string>();
    }
    return applied;
}

std::vector<EmbeddedFile> files_in_order() {
    const auto all = storage_migrations();
    std::vector<EmbeddedFile> files(all.begin(), all.end());
    std::sort(files.begin(), files.end(),
              [](const auto& x, const auto& y) { return x.name < y.name; });
    return files;
}

// Files that are not applied yet. Throws when what is applied is not what we carry.
std::vector<EmbeddedFile> missing_files(std::map<std::string, std::string> applied) {
    std::vector<EmbeddedFile> missing;
    for (const auto& file : files_in_order()) {
        const auto found = applied.find(std::string(file.name));
        if (found == applied.end()) {
            missing.push_back(file);
            continue;
        }
        if (found->second != sha256_hex(file.bytes)) {
            throw Error{fmt::format(
                "migration {} was applied to this database with another content; applied files "
                "never change: use the binary that made this database, or add a new file",
                file.name)};
        }
        applied.erase(found);
    }
    if (!applied.empty()) {
        throw Error{
            fmt::format("this database has migration {}, which this binary does not know (its own "
                        "last one is {}): install a newer Steady, or restore the dump that was "
                        "made before that migration",
                        applied.begin()->first, storage_migrations().back().name)};
    }
    return missing;
}

void apply(pqxx::transaction_base& transaction, const EmbeddedFile& file) {
    transaction.exec(std::string(file.bytes));
    transaction.exec_params("insert into steady.migration(name, sha256) values($1, $2)",
                            std::string(file.name), sha256_hex(file.bytes));
}

}  // namespace

std::vector<std::string> migrate(const std::string& url) {
    Connection connection({.url = url,
                           .role = DatabaseRole::owner,
                           .client = "migrate",
                           .statement_timeout_ms = 600000,
                           .patience_s = 5});
    std::vector<std::string> names;
    bool complete = false;
    connection.transact([&](pqxx::transaction_base& transaction) {
        complete = missing_files(applied_files(transaction)).empty();
    });
    if (complete) return names;
    connection.transact([&](pqxx::transaction_base& transaction) {
        names.clear();
        transaction.exec("set local lock_timeout = '60s'");
        transaction.exec_params("select pg_advisory_xact_lock($1)", kMigrationLock);
        transaction.exec(
            "create schema if not exists steady;"
            "create table if not exists steady.migration(name text primary key, "
            "sha256 text not null, applied_at timestamptz not null default clock_timestamp())");
        for (const auto& file : missing_files(applied_files(transaction))) {
            apply(transaction, file);
            names.emplace_back(file.name);
        }
    });
    return names;
}

std::vector<std::string> pending_migrations(const std::string& url) {
    Connection connection({.url = url, .role = DatabaseRole::owner, .client = "migrate"});
    std::vector<std::string> names;
    connection.transact([&](pqxx::transaction_base& transaction) {
        names.clear();
        for (const auto& file : missing_files(applied_files(transaction))) {
            names.emplace_back(file.name);
        }
    });
    return names;
}

std::string schema_version() {
    const std::string name(storage_migrations().back().name);
    return name.substr(0, name.rfind('.'));
}

std::string schema_hash() {
    std::string all;
    for (const auto& file : files_in_order()) {
        all += file.name;
        all += file.bytes;
    }
    return sha256_hex(all);
}

void refuse_newer_schema(Connection& connection) {
    connection.transact(
        [](pqxx::transaction_base& transaction) { missing_files(applied_files(transaction)); });
}

ChosenDatabase choose_database(const std::string& given, bool keep_running) {
    if (!given.empty()) return {given, false};
    if (const std::string set = setting("database_url"); !set.empty()) return {set, false};
    return {private_cluster_url({.base_dir = {}, .idle_stop_s = keep_running ? 0 : 300}), true};
}

namespace {

// What is missing in a database that somebody named; an error tells where the name comes from.
std::vector<std::string> pending_in(const std::string& url, const std::string& given) {
    const std::string origin = given.empty() ? find_setting("database_url")->origin : "--db";
    const std::string named = fmt::format(" (named by {})", origin);
    try {
        return pending_migrations(url);
    } catch (const DatabaseStrained&) {
        throw;
    } catch (const DatabaseGone& gone) {
        throw DatabaseGone{gone.what() + named +
                           "; start it or correct the address; without one, Steady starts a "
                           "private PostgreSQL"};
    } catch (const Error& error) {
        throw Error(error.what() + named, error.exit_code);
    }
}

}  // namespace

std::string database_url(const std::string& given, bool keep_running) {
    const ChosenDatabase chosen = choose_database(given, keep_running);
    if (chosen.is_private) {
        const std::string own = schema_hash();
        if (!private_schema_seen(own)) {
            migrate(chosen.url);
            note_private_schema(own);
        }
        return chosen.url;
    }
    const std::vector<std::string> pending = pending_in(chosen.url, given);
    if (pending.empty()) return chosen.url;
    const bool fresh = pending.size() == storage_migrations().size();
    throw Error{
        fmt::format("the database {} {}; nothing was changed. `steady db migrate` {}, for "
                    "everybody who uses it",
                    without_password(chosen.url),
                    fresh ? "has no Steady schema yet"
                          : fmt::format("lacks {} migration{} of this version ({})", pending.size(),
                                        pending.size() == 1 ? "" : "s", fmt::join(pending, ", ")),
                    fresh ? "makes it" : "dumps the database and then brings it up to date")};
}

}  // namespace steady
