// Retention: removes samples that no verdict needs. The policy is in migrations/0061_unpin.sql;
// everything is listed before anything is removed, one experiment per transaction.
#include "runner/storage/rows.h"
#include "runner/storage/statements.h"
#include "runner/storage/store.h"

namespace steady {

int Store::unpin(const std::string& id) {
    const std::string name = resolve(id);
    int n = 0;
    connection_.transact([&](Transaction& transaction) {
        n = transaction.exec_params1(sql::kUnpin, name)[0].as<int>();
    });
    return n;
}

std::vector<Expendable> Store::expendable_samples(int older_than_days) {
    std::vector<Expendable> out;
    connection_.transact([&](Transaction& transaction) {
        out.clear();
        for (const auto& row : transaction.exec_params(sql::kExpendable, older_than_days)) {
            out.push_back({rows::text(row[0]), rows::text(row[1]), row[2].as<std::int64_t>(),
                           row[3].as<std::int64_t>(), row[4].as<std::int64_t>()});
        }
    });
    return out;
}

std::int64_t Store::drop_samples(const std::string& id, const std::string& why) {
    std::int64_t n = 0;
    connection_.transact([&](Transaction& transaction) {
        n = transaction.exec_params1(sql::kDropSamples, id, why)[0].as<std::int64_t>();
    });
    return n;
}

}  // namespace steady
