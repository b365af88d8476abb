// libpqxx 6.4 offers to reactivate connections by itself and would lose session state silently;
// here a fault destroys the object. Errors are sorted by SQLSTATE into the few kinds that callers
// act upon.
#include "runner/storage/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "runner/base/pattern.h"
#include "runner/storage/prepared.h"

namespace steady {
namespace {

using std::chrono::steady_clock;

const char* role_name(DatabaseRole role) {
    switch (role) {
        case DatabaseRole::owner:
            return "owner";
        case DatabaseRole::worker:
            return "worker";
        case DatabaseRole::web:
            return "web";
    }
    return "worker";
}

std::string escape_url(const std::string& text) {
    std::string out;
    for (const char c : text) {
        if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.') {
            out += c;
        } else {
            out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
        }
    }
    return out;
}

bool is_url(const std::string& text) {
    return text.rfind("postgresql://", 0) == 0 || text.rfind("postgres://", 0) == 0;
}

std::string start_options(const ConnectionOptions& options) {
    std::string text = fmt::format(
        "-c statement_timeout={} -c lock_timeout=2000 "
        "-c idle_in_transaction_session_timeout=10000 -c synchronous_commit={} -c TimeZone=GMT",
        options.statement_timeout_ms, options.synchronous_commit ? "on" : "off");
    if (options.role != DatabaseRole::owner) {
        text += fmt::format(" -c role=steady_{}", role_name(options.role));
    }
    if (options.role == DatabaseRole::web) {
        // Lists are short reads of rows that lie in memory, joined in the order in which they are
        // written: to look for another order, or to compile them, takes as long as the read itself.
        text += " -c join_collapse_limit=1 -c random_page_cost=1.1 -c jit=off";
    }
    return text;
}

// libpq indents what it says on a second line, and ends with a new one.
std::string in_one_line(std::string text) {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0)
        text.pop_back();
    static const Pattern breaks("\\s*\n\\s*");
    return breaks.replaced(text, "; ");
}

bool mentions(const std::string& text, std::initializer_list<const char*> words) {
    return std::any_of(words.begin(), words.end(),
                       [&](const char* word) { return text.find(word) != std::string::npos; });
}

// SQLSTATEs after which the connection is useless but the work may be repeated.
bool is_outage(const std::string& state) {
    return state.rfind("08", 0) == 0 || state.rfind("57P", 0) == 0 || state == "25006" ||
           state == "53300" || state == "40001" || state == "40P01" || state == "55P03";
}

// A pooler tells its clients a number of its own instead of the server process's.
bool is_direct(pqxx::connection& connection) {
    pqxx::nontransaction statement(connection);
    return statement.exec1("select pg_backend_pid()")[0].as<int>() == connection.backendpid();
}

bool is_strained(const std::string& state) {
    return state == "57014" || state.rfind("58", 0) == 0 || state.rfind("53", 0) == 0;
}

std::string strained_text(const std::string& state, const std::string& text) {
    const char* const advice =
        state == "53100"   ? "its disk is full: make room there, the work goes on by itself"
        : state == "57014" ? "a statement took longer than it may: the server is overloaded"
                           : "see its server log";
    return fmt::format("the database cannot do it now: {} (SQLSTATE {}); {}", text, state, advice);
}

[[noreturn]] void rethrow(const pqxx::sql_error& error, bool still_open) {
    std::string text = error.what();
    while (!text.empty() && text.back() == '\n') text.pop_back();
    const std::string& state = error.sqlstate();
    if (state == "ST001") throw LeaseLost{text};
    if (state == "ST004") throw JobCancelled{text};
    if (state == "ST002" || state == "ST003" || state == "ST005") throw RecordConflict{text};
    if (!still_open || state.empty() || is_outage(state)) throw DatabaseGone{text};
    if (is_strained(state)) throw DatabaseStrained{strained_text(state, text)};
    throw Error{fmt::format("database: {} (SQLSTATE {})", text, state), kExitInternal};
}

}  // namespace

std::string with_parameter(const std::string& url, const std::string& key,
                           const std::string& value) {
    if (is_url(url)) {
        const char joint = url.find('?') == std::string::npos ? '?' : '&';
        return fmt::format("{}{}{}={}", url, joint, key, escape_url(value));
    }
    std::string quoted;
    for (const char c : value) {
        if (c == '\'' || c == '\\') quoted += '\\';
        quoted += c;
    }
    return fmt::format("{} {}='{}'", url, key, quoted);
}

std::string without_password(const std::string& url) {
    static const Pattern in_authority("(://[^:/@?]*):[^@/]*@");
    static const Pattern in_parameter("(password=)[^& ]*");
    return in_parameter.replaced(in_authority.replaced(url, "$1:***@"), "$1***");
}

Connection::Connection(ConnectionOptions options) : options_(std::move(options)) {}

void Connection::drop() {
    connection_.reset();
    prepared_ = false;
}

pqxx::connection& Connection::open() {
    if (connection_) return *connection_;
    std::string url = with_parameter(
        options_.url, "application_name",
        fmt::format("steady/{}/{}", role_name(options_.role), options_.client.substr(0, 36)));
    for (const auto& [key, value] : {std::pair{"connect_timeout", "5"},
                                     {"keepalives_idle", "10"},
                                     {"keepalives_interval", "3"},
                                     {"keepalives_count", "3"},
                                     {"tcp_user_timeout", "15000"}}) {
        if (url.find(key) == std::string::npos) url = with_parameter(url, key, value);
    }
    try {
        connection_ = std::make_unique<pqxx::connection>(
            with_parameter(url, "options", start_options(options_)));
    } catch (const pqxx::failure& failure) {
        const std::string text = failure.what();
        if (text.find("startup parameter") == std::string::npos) throw;
        connection_ = std::make_unique<pqxx::connection>(url);  // a pooler that knows no options
    }
    prepared_ = options_.role == DatabaseRole::web && is_direct(*connection_);
    if (prepared_) {
        for (const sql::Statement& one : sql::kPrepared) connection_->prepare(one.name, one.text);
    }
    return *connection_;
}

void Connection::run(const Body& body, How how) {
    if (how == How::statements) {
        pqxx::connection& connection = open();
        pqxx::nontransaction statements(connection, prepared_ ? sql::kWithPrepared : "reads");
        return body(statements);
    }
    pqxx::work transaction(open());
    if (!options_.actor.empty()) {
        transaction.exec_params("select set_config('steady.actor', $1, true)", options_.actor);
    }
    body(transaction);
    transaction.commit();
}

void Connection::attempt(const Body& body, How how) {
    try {
        run(body, how);
    } catch (const pqxx::broken_connection& failure) {
        drop();
        const std::string text = without_password(in_one_line(failure.what()));
        const std::string url = without_password(options_.url);
        if (mentions(text, {"connection info string", "connection option", " URI"})) {
            throw Error{
                fmt::format("{} is no address of a PostgreSQL: {}; allowed: "
                            "postgresql://USER@HOST:PORT/NAME, or key=value words of libpq",
                            url, text)};
        }
        if (mentions(text, {"does not exist", "authentication failed", "permission denied"})) {
            throw Error{fmt::format("cannot use the database {}: {}", url, text)};
        }
        throw DatabaseGone{fmt::format("the database {} does not answer: {}", url, text)};
    } catch (const pqxx::in_doubt_error& failure) {
        drop();
        throw DatabaseGone{failure.what()};
    } catch (const pqxx::sql_error& error) {
        const bool still_open = connection_ && connection_->is_open();
        const bool stale = prepared_ && error.sqlstate() == "0A000";  // the schema changed since
        if (!still_open || stale || is_outage(error.sqlstate())) drop();
        rethrow(error, still_open && !stale);
    } catch (const pqxx::failure& failure) {
        drop();
        throw DatabaseGone{failure.what()};
    } catch (const pqxx::usage_error& error) {
        // 6.4 reports some operations on a connection that just died as misuse
        if (connection_ && connection_->is_open()) throw;
        drop();
        throw DatabaseGone{error.what()};
    }
}

void Connection::transact(const Body& body) { until_it_works(body, How::whole); }
void Connection::look(const Body& body) { until_it_works(body, How::statements); }

void Connection::until_it_works(const Body& body, How how) {
    const auto give_up = steady_clock::now() + std::chrono::duration<double>(options_.patience_s);
    auto pause = std::chrono::milliseconds(50);
    for (;;) {
        try {
            return attempt(body, how);
        } catch (const DatabaseGone&) {
            if (steady_clock::now() + pause > give_up) throw;
        }
        std::this_thread::sleep_for(pause);
        pause = std::min(pause * 2, std::chrono::milliseconds(2000));
    }
}

}  // namespace steady
