// One transaction for all missing files. The common case, nothing to do, is one read.
#include "runner/storage/migrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <span>

#include "runner/edges/embedded.h"
#include "runner/edges/files.h"
#include "runner/pipeline/spec.h"
#include "runner/storage/connection.h"
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
            fmt::format("this database has migration {}, which this binary does not know; "
                        "install a newer Steady",
                        applied.begin()->first)};
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

std::string database_url(const std::string& given, bool keep_running) {
    std::string url = given;
    if (url.empty()) {
        if (const char* set = std::getenv("STEADY_DATABASE_URL"); set != nullptr) url = set;
    }
    if (url.empty())
        url = private_cluster_url({.base_dir = {}, .idle_stop_s = keep_running ? 0 : 300});
    migrate(url);
    return url;
}

}  // namespace steady
