// A migrated database of its own for each test, and the few steps that every test of the store
// takes.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "runner/platform/files.h"
#include "runner/storage/store.h"
#include "tests/support/throwaway_database.h"

namespace steady {

class StoreTest : public ::testing::Test {
protected:
    Store make(DatabaseRole role = DatabaseRole::owner) {
        return Store({.url = database_.url(), .role = role, .client = "test"});
    }
    Submitted submit(int n_pairs = 3, const std::string& id = "example-spec", bool fresh = false) {
        const Spec spec = example_spec(id);
        return store_.submit({.spec = &spec,
                              .plan = example_plan(n_pairs),
                              .seed = 42,
                              .fresh_rerun = fresh,
                              .need_tags = {}});
    }
    Lease claim(double ttl_s = 30) {
        const auto lease = store_.claim(worker_, host_, ttl_s);
        if (!lease) throw Error{"nothing to claim"};
        return *lease;
    }
    void sql(const std::string& text) {
        pqxx::connection connection(database_.url());
        pqxx::work work(connection);
        work.exec(text);
        work.commit();
    }
    void finish(const Lease& lease) {
        store_.finish(lease, "accept", "", R"({"effect":0.02,"metric":"decode_tps"})", "Yes.");
    }

    ThrowawayDatabase database_;
    Store store_ = make();
    std::string worker_ = random_uuid();
    std::int64_t host_ = store_.register_host("0123456789ab", {"avx512"});
};

}  // namespace steady
