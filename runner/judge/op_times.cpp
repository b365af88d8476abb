// Within a process the arms alternate, so noise affects both sides of their ratio. Several
// processes average over memory layouts.
#include "runner/judge/op_times.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "runner/statistics/statistics.h"
#include "runner/statistics/statistics_ranks.h"

namespace steady {
namespace {

constexpr double kConfidence = 0.99;

bool above_zero(const std::vector<double>& values) {
    return std::all_of(values.begin(), values.end(), [](double value) { return value > 0; });
}

void compare(OpTime& time) {
    const std::vector<double>&a = time.a.process_ns, &b = time.b.process_ns;
    if (!(time.a.ns_per_token > 0 && time.b.ns_per_token > 0)) return;
    time.change = time.b.ns_per_token / time.a.ns_per_token - 1;
    if (a.empty() || a.size() != b.size() || !above_zero(a) || !above_zero(b)) return;
    std::vector<double> logs;
    for (std::size_t i = 0; i < a.size(); ++i) logs.push_back(std::log(b[i] / a[i]));
    const HodgesLehmann shift = hodges_lehmann(logs, kConfidence);
    time.change = std::expm1(shift.estimate);
    if (!shift.k) return;
    time.interval = {std::expm1(shift.lower), std::expm1(shift.upper)};
}

// One per process, so that place i of both arms is the same process; 0 where the op was not called.
std::vector<double> times_of(const std::vector<protocol::ProfileReply>& processes,
                             const std::string& arm, const std::string& op) {
    std::vector<double> times;
    for (const protocol::ProfileReply& process : processes) {
        double& time = times.emplace_back(0);
        const auto rows = process.arms.find(arm);
        if (rows == process.arms.end()) continue;
        for (const protocol::ProfileRow& row : rows->second) {
            if (row.op == op) time = row.ns_per_token;
        }
    }
    return times;
}

}  // namespace

protocol::ProfileReply joined_profiles(const std::vector<protocol::ProfileReply>& processes) {
    protocol::ProfileReply joined = processes.at(0);
    for (auto& [arm, rows] : joined.arms) {
        for (protocol::ProfileRow& row : rows) {
            row.process_ns = times_of(processes, arm, row.op);
            row.ns_per_token = median(row.process_ns);
        }
    }
    for (auto& [arm, ns] : joined.barrier_ns_per_token) {
        std::vector<double> waited;
        for (const protocol::ProfileReply& process : processes) {
            const auto found = process.barrier_ns_per_token.find(arm);
            if (found != process.barrier_ns_per_token.end()) waited.push_back(found->second);
        }
        ns = median(waited);
    }
    std::vector<double> read;
    for (const protocol::ProfileReply& process : processes) {
        if (process.read_gb_per_s <= 0) continue;
        read.push_back(process.read_gb_per_s);
        joined.read_where = process.read_where;
    }
    joined.read_gb_per_s = read.empty() ? 0 : median(read);
    return joined;
}

std::vector<OpTime> op_times(const protocol::ProfileReply& profile) {
    std::map<std::string, OpTime> ops;
    for (const auto& [arm, rows] : profile.arms) {
        for (const protocol::ProfileRow& row : rows) {
            OpTime& time = ops[row.op];
            time.op = row.op;
            (arm == "A" ? time.a : time.b) = row;
        }
    }
    std::vector<OpTime> out;
    for (auto& [op, time] : ops) {
        compare(time);
        out.push_back(std::move(time));
    }
    const auto most = [](const OpTime& time) {
        return std::max(time.a.ns_per_token, time.b.ns_per_token);
    };
    std::stable_sort(out.begin(), out.end(),
                     [&](const OpTime& x, const OpTime& y) { return most(x) > most(y); });
    return out;
}

std::size_t profile_processes(const protocol::ProfileReply& profile) {
    for (const auto& [arm, rows] : profile.arms) {
        if (!rows.empty()) return rows.front().process_ns.size();
    }
    return 0;
}

}  // namespace steady
