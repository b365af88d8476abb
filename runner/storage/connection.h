// One connection to PostgreSQL. A broken connection is discarded and never reused, a lost answer to
// a commit is reported as such, every session has short time limits and sets its role. Statements
// are sent with parameters; prepared are only a page's reads (prepared.h), and not through a
// pooler.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "kernels/base/error.h"
#include "runner/storage/pqxx.h"

namespace steady {

using Transaction = pqxx::transaction_base;

enum class DatabaseRole { owner, worker, web };

struct ConnectionOptions {
    std::string url;
    DatabaseRole role = DatabaseRole::worker;
    std::string client;  // who we are, for pg_stat_activity; a UUID for workers
    int statement_timeout_ms = 10000;
    bool synchronous_commit = true;  // off loses acknowledged rows: `steady fault-test` shows it
    double patience_s = 0;           // how long transact() retries while the database is away
    std::string actor;               // who acts, for the audit log; empty: the login
};

// The database is away, or went away during a commit whose answer we never saw. Repeating the call
// is safe for every function of Store.
struct DatabaseGone : Error {
    explicit DatabaseGone(const std::string& what) : Error(what, kExitInternal) {}
};

// The database answers but cannot do it now: its disk is full, it ran out of memory, its files
// fail, or a statement was cut short (SQLSTATE 53…, 58…, 57014). An operator mends it, or time; it
// says nothing about the job.
struct DatabaseStrained : DatabaseGone {
    explicit DatabaseStrained(const std::string& what) : DatabaseGone(what) {}
};

// The database refused a write because the job is no longer ours (SQLSTATE ST001).
struct LeaseLost : Error {
    explicit LeaseLost(const std::string& what) : Error(what, kExitInternal) {}
};

// The job was cancelled by somebody (SQLSTATE ST004).
struct JobCancelled : Error {
    explicit JobCancelled(const std::string& what) : Error(what, kExitInterrupted) {}
};

// A value with another content is stored under the same key, or the numbers do not add up
// (ST002, ST003, ST005): a fault of the program, never of the network.
struct RecordConflict : Error {
    explicit RecordConflict(const std::string& what) : Error(what, kExitInternal) {}
};

// No experiment, or several, match the given name.
struct UnknownExperiment : Error {
    explicit UnknownExperiment(const std::string& what) : Error(what) {}
};

class Connection {
public:
    explicit Connection(ConnectionOptions options);

    // Runs body in one transaction and commits. While the database is away it is repeated with
    // back-off (50 ms to 2 s) for patience_s; then DatabaseGone. body must be safe to repeat.
    void transact(const std::function<void(Transaction&)>& body);

    // The same for reads whose statements need not see one moment: each is sent by itself, which
    // saves the round trips of a transaction's beginning and end.
    void look(const std::function<void(Transaction&)>& body);

    // Forgets the connection, as after a fault; the next transact() opens a new one.
    void drop();

    const ConnectionOptions& options() const { return options_; }
    void set_patience(double seconds) { options_.patience_s = seconds; }
    void set_actor(const std::string& actor) { options_.actor = actor; }
    const std::string& actor() const { return options_.actor; }

private:
    using Body = std::function<void(Transaction&)>;
    enum class How { whole, statements };
    void until_it_works(const Body& body, How how);
    void attempt(const Body& body, How how);
    void run(const Body& body, How how);
    pqxx::connection& open();

    ConnectionOptions options_;
    std::unique_ptr<pqxx::connection> connection_;
    bool prepared_ = false;  // its server knows the statements of prepared.h
};

// The URL or key=value string with one more parameter; tells both forms apart.
std::string with_parameter(const std::string& url, const std::string& key,
                           const std::string& value);

// For messages: the URL without a password.
std::string without_password(const std::string& url);

}  // namespace steady
