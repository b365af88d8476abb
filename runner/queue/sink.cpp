// The random bits of a repeated pair are drawn when the pair before it is discarded, from the same
// seed, and stored in the same transaction, so that a resuming worker finds them.
#include "runner/queue/sink.h"

#include <nlohmann/json.hpp>

#include "engine/protocol/session_json.h"
#include "runner/plan/schedule.h"
#include "runner/platform/failpoint.h"
#include "runner/record/record_json.h"

namespace steady {

void LeasedSink::be_patient() { store_.connection().set_patience(keeper_.seconds_left()); }

void LeasedSink::put_pair(const Pair& pair) {
    std::string next_coins;
    if (!pair.discarded.empty() && pair.attempt < 2) {
        next_coins = draw_pair(record_.spec, static_cast<int>(pair.coins.size()), record_.seed,
                               pair.gate, pair.kind, pair.number, pair.attempt + 1)
                         .coins;
    }
    failpoint("measured");
    const int number = spool_.add(pair, next_coins);
    be_patient();
    failpoint("before_put_pair");
    store_.put_pair(lease_, pair, next_coins);
    failpoint("pair_stored");
    spool_.mark_stored(number);
    failpoint("marked");
}

void LeasedSink::put(const std::string& kind, const std::string& json) {
    be_patient();
    failpoint("before_evidence");
    store_.put_evidence(lease_, kind, json);
    failpoint("evidence_stored");
}

void LeasedSink::put_prior(const Prior& prior) { put("prior", nlohmann::json(prior).dump()); }

void LeasedSink::put_applied(const ProgramReport& report) {
    put("applied", nlohmann::json(report).dump());
}

void LeasedSink::put_correctness(const OutputsReport& report) {
    put("correctness", nlohmann::json(report).dump());
}

void LeasedSink::put_correctness_failure(const std::string& how) {
    put("correctness_failure", nlohmann::json{{"text", how}}.dump(
                                   -1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void LeasedSink::put_profile(const protocol::ProfileReply& reply) {
    put("profile", nlohmann::json(reply).dump());
}

void LeasedSink::put_stacks(const StackProfile& stacks) { put("stacks", stacks_text(stacks)); }

}  // namespace steady
