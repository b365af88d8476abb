// The columns of both tables; how they are written is the business of table.h.
#include "runner/record/record_tables.h"

namespace steady {
namespace {

struct SampleColumns {
    TextCells experiment, gate, kind, discarded, arm, metric;
    IntegerCells pair, attempt, repetition;
    NumberCells value;

    void add(const Record& record, const Pair& one, const char* side,
             const std::map<std::string, std::vector<double>>& samples) {
        const auto place = static_cast<std::size_t>(one.gate);
        const bool known = place < record.spec.gates.size();
        for (const auto& [name_of_metric, values] : samples) {
            for (std::size_t i = 0; i < values.size(); ++i) {
                experiment.emplace_back(record.id);
                gate.emplace_back(known ? record.spec.gates[place].id : "");
                kind.emplace_back(name(one.kind));
                pair.emplace_back(one.number + 1);
                attempt.emplace_back(one.attempt + 1);
                discarded.emplace_back(one.discarded);
                arm.emplace_back(side);
                metric.emplace_back(name_of_metric);
                repetition.emplace_back(static_cast<std::int64_t>(i + 1));
                value.emplace_back(values[i]);
            }
        }
    }
};

}  // namespace

Table samples_table(const std::vector<Record>& records) {
    SampleColumns all;
    for (const Record& record : records) {
        for (const Pair& pair : record.pairs) {
            all.add(record, pair, "A", pair.a);
            all.add(record, pair, "B", pair.b);
        }
    }
    return {{{"experiment", std::move(all.experiment)},
             {"gate", std::move(all.gate)},
             {"kind", std::move(all.kind)},
             {"pair", std::move(all.pair)},
             {"try", std::move(all.attempt)},
             {"discarded", std::move(all.discarded)},
             {"arm", std::move(all.arm)},
             {"metric", std::move(all.metric)},
             {"repetition", std::move(all.repetition)},
             {"value", std::move(all.value)}}};
}

Table verdicts_table(const std::vector<Record>& records) {
    TextCells experiment, question, owner, claim, metric, verdict, reason, host, cpu, decided_at;
    NumberCells effect, low, high, seconds;
    IntegerCells pairs, discarded;
    for (const Record& record : records) {
        const Analysis none;
        const Analysis& analysis = record.analysis ? *record.analysis : none;
        experiment.emplace_back(record.id);
        question.emplace_back(record.spec.id);
        owner.emplace_back(record.spec.owner);
        claim.emplace_back(record.spec.hypothesis.claim);
        metric.emplace_back(analysis.metric);
        verdict.emplace_back(record.analysis ? name(analysis.verdict) : "");
        reason.emplace_back(analysis.reason);
        effect.push_back(analysis.effect);
        low.push_back(analysis.interval.low);
        high.push_back(analysis.interval.high);
        pairs.emplace_back(analysis.pairs);
        discarded.emplace_back(analysis.discarded);
        seconds.emplace_back(record.seconds);
        host.emplace_back(record.attempts.empty() ? "" : record.attempts.back().host);
        cpu.emplace_back("");
        if (!record.attempts.empty()) {
            const Fingerprint& facts = record.attempts.back().fingerprint;
            const auto found = facts.find("cpu_model");
            if (found != facts.end()) cpu.back() = found->second;
        }
        decided_at.emplace_back(record.decided_at);
    }
    return {{{"experiment", std::move(experiment)},
             {"question", std::move(question)},
             {"owner", std::move(owner)},
             {"claim", std::move(claim)},
             {"metric", std::move(metric)},
             {"verdict", std::move(verdict)},
             {"reason", std::move(reason)},
             {"effect", std::move(effect)},
             {"low", std::move(low)},
             {"high", std::move(high)},
             {"pairs", std::move(pairs)},
             {"discarded", std::move(discarded)},
             {"seconds", std::move(seconds)},
             {"host", std::move(host)},
             {"cpu", std::move(cpu)},
             {"decided_at", std::move(decided_at)}}};
}

}  // namespace steady
