// The cluster is made when the first test asks for it and removed when the program ends. Databases
// are copies of the migrated one, which is much faster than migrating each.
#include "tests/support/throwaway_database.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <atomic>
#include <csignal>
#include <filesystem>

#include "kernels/base/error.h"
#include "runner/platform/files.h"
#include "runner/storage/pqxx.h"
#include "runner/storage/private_cluster.h"
#include "tests/support/ready_cluster.h"

#ifdef __SANITIZE_ADDRESS__
// libpqxx 6.4 loses a result when the server dies during a statement, as these tests let it.
extern "C" const char* __lsan_default_suppressions() {
    return "leak:pqxx::connection_base::exec_params\n";
}
#endif

namespace steady {
namespace {

struct TestCluster {
    std::string base = scratch_dir() + "/steady-test-" + random_hex(6);
    std::string url;

    TestCluster() {
        give_ready_cluster(base, Fsync::on);
        start();
    }
    ~TestCluster() {
        end_cluster(base);
        std::error_code error;
        std::filesystem::remove_all(base, error);
    }
    void start() { url = private_cluster_url({.base_dir = base, .idle_stop_s = 120}); }
};

TestCluster& test_cluster() {
    static TestCluster cluster;
    return cluster;
}

}  // namespace

ThrowawayDatabase::ThrowawayDatabase() {
    static std::atomic<int> number{0};
    const std::string name = fmt::format("test_{}", ++number);
    std::string admin = test_cluster().url;
    pqxx::connection connection(admin.replace(admin.find("/steady?"), 8, "/template1?"));
    pqxx::nontransaction work(connection);
    work.exec(fmt::format("create database {} template steady", name));
    url_ = test_cluster().url;
    url_.replace(url_.find("/steady?"), 8, "/" + name + "?");
}

void ThrowawayDatabase::kill_server() {
    const auto status = private_cluster_status(test_cluster().base);
    if (!status.running) return;
    ::kill(status.pid, SIGKILL);
    ::waitpid(status.pid, nullptr, 0);
}

void ThrowawayDatabase::restart_server() { test_cluster().start(); }
void ThrowawayDatabase::stop_server() { stop_private_cluster(test_cluster().base); }
std::string ThrowawayDatabase::base_dir() { return test_cluster().base; }

Spec example_spec(const std::string& id, const std::string& claim) {
    const std::string text = fmt::format(
        R"({{
  "id": "{}", "owner": "test",
  "hypothesis": {{
    "claim": "{}", "because": "the test says that it must be so",
    "predict": {{ "metric": "decode_tps", "change": ["+1%", "+5%"] }} }},
  "subject": {{ "program": "steady-engine", "model": "tiny-glm.gguf",
    "workload": "prose-512", "threads": 1 }},
  "arms": {{ "A": {{ "kernels": {{ "q4_0_matvec": "reference" }} }},
            "B": {{ "kernels": {{ "q4_0_matvec": "avx2" }} }} }},
  "expect_diff": ["kernels.q4_0_matvec"],
  "gates": [
    {{ "id": "tokens", "level": "correctness", "role": "guard",
      "need": {{ "top1_agree": ">=0.999" }} }},
    {{ "id": "decode", "level": "model", "role": "decides", "metric": "decode_tps",
      "goal": "gain", "worth": "1%" }} ],
  "schedule": {{ "mode": "duet", "pairs": {{ "max": 10 }}, "aa_pairs": 2 }}
}})",
        id, claim.empty() ? "The vectorised kernel is faster" : claim);
    auto result = parse_spec(text, id);
    if (!result.spec) throw Error{describe(result.errors.at(0), id)};
    return std::move(*result.spec);
}

std::vector<Pair> example_plan(int n_pairs, int n_aa) {
    std::vector<Pair> plan;
    for (int i = 0; i < n_aa + n_pairs; ++i) {
        Pair pair;
        pair.gate = 1;
        pair.kind = i < n_aa ? PairKind::aa : PairKind::measure;
        pair.number = i < n_aa ? i : i - n_aa;
        pair.coins = i % 2 == 0 ? "0110" : "1001";
        plan.push_back(pair);
    }
    return plan;
}

Pair measured(Pair pair, int n_values) {
    for (int i = 0; i < n_values; ++i) {
        pair.a["token_ns"].push_back(1e6 + 1000.0 * pair.number + i / 3.0);
        pair.b["token_ns"].push_back(0.9e6 + 1000.0 * pair.number + i / 7.0);
    }
    pair.a["rss_bytes"] = {1.5e9};
    pair.b["rss_bytes"] = {1.5e9};
    return pair;
}

}  // namespace steady
