// A page's reads are prepared on a connection of its own, and never through a pooler, which may
// hand out another server process each time.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "runner/platform/process.h"
#include "runner/storage/prepared.h"
#include "tests/runner/storage_fixture.h"

namespace steady {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPgbouncer = "/usr/sbin/pgbouncer";

class Prepared : public StoreTest {
protected:
    static ConnectionOptions web(const std::string& url) {
        return {.url = url, .role = DatabaseRole::web, .client = "page"};
    }
    // Columns of the answer to a question that nobody asked; how many statements are prepared then.
    static std::pair<int, int> ask(Connection& connection) {
        std::pair<int, int> out;
        connection.look([&](Transaction& transaction) {
            const auto found = sql::ask(transaction, sql::kRuns, "{}", 10);
            EXPECT_TRUE(found.empty());
            const auto known = transaction.exec1("select count(*) from pg_prepared_statements");
            out = {static_cast<int>(found.columns()), known[0].as<int>()};
        });
        return out;
    }
};

TEST_F(Prepared, OnAConnectionOfThePage) {
    Connection page(web(database_.url()));
    EXPECT_GE(ask(page).second, 1);
    page.drop();
    EXPECT_GE(ask(page).second, 1);
    Connection worker({.url = database_.url(), .role = DatabaseRole::worker, .client = "worker"});
    EXPECT_EQ(ask(worker).second, 0);
}

TEST_F(Prepared, AnotherSchemaCostsOneAnswer) {
    Connection page(web(database_.url()));
    EXPECT_GT(ask(page).first, 1);
    sql("drop function steady.runs_of(text[], int); create function steady.runs_of(text[], int) "
        "returns table (question text) language sql as $$ select 'a' where false $$; "
        "grant execute on function steady.runs_of to steady_web");
    EXPECT_THROW(ask(page), DatabaseGone);
    EXPECT_EQ(ask(page).first, 1);
}

TEST_F(Prepared, NothingIsThroughAPooler) {
    if (::access(kPgbouncer, X_OK) != 0) GTEST_SKIP() << "SKIPPED: no " << kPgbouncer;
    const std::string folder = fmt::format("/tmp/steady-pooler-{}", ::getpid());
    fs::create_directories(folder);
    fs::permissions(folder, fs::perms::all);
    const std::string& url = database_.url();
    const std::string name = url.substr(url.find("///") + 3, url.find('?') - url.find("///") - 3);
    const std::string from = url.substr(url.find("host=") + 5);
    std::ofstream(folder + "/users") << "\"steady\" \"\"\n";
    std::ofstream(folder + "/pooler.ini") << fmt::format(
        "[databases]\n* = host={0}\n[pgbouncer]\nlisten_addr =\nlisten_port = 6432\n"
        "unix_socket_dir = {1}\nauth_type = trust\nauth_file = {1}/users\n"
        "pool_mode = transaction\n{2}",
        from.substr(0, from.find('&')), folder, ::geteuid() == 0 ? "user = postgres\n" : "");
    ChildOptions options;
    options.argv = {kPgbouncer, folder + "/pooler.ini"};
    options.term_grace_s = 0.3;
    auto pooler = std::make_unique<Child>(options);
    Connection page(
        web(fmt::format("postgresql:///{}?host={}&port=6432&user=steady", name, folder)));
    page.set_patience(10);  // until it listens
    EXPECT_GT(ask(page).first, 1);
    EXPECT_EQ(ask(page).second, 0);
    pooler.reset();
    fs::remove_all(folder);
}

}  // namespace
}  // namespace steady
