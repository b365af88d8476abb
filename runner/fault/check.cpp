// After a fault run: every claim is read back from the database and from the files that its
// processes wrote.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runner/fault/parts.h"
#include "runner/storage/rows.h"

namespace steady::drill {
namespace {

struct Span {
    long long begin = 0, end = -1;  // -1: the child was killed
};

std::vector<Span> spans_of(const std::string& path) {
    std::ifstream file(path);
    std::map<long long, Span> open;
    std::vector<Span> spans;
    char what = 0;
    long long pid = 0, at = 0;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        if (!(words >> what >> pid >> at)) continue;
        if (what == 'B') {
            if (const auto before = open.find(pid); before != open.end()) {
                spans.push_back(before->second);  // a reused pid; its child was killed
            }
            open[pid] = {at, -1};
        } else if (const auto found = open.find(pid); found != open.end()) {
            spans.push_back({found->second.begin, at});
            open.erase(found);
        }
    }
    for (const auto& [killed, span] : open) spans.push_back(span);
    std::sort(spans.begin(), spans.end(),
              [](const Span& x, const Span& y) { return x.begin < y.begin; });
    return spans;
}

void check_children(const Place& place, int hosts, FaultReport& report) {
    for (int host = 0; host < hosts; ++host) {
        long long busy_until = -1;
        for (const Span& span : spans_of(place.stamps(host))) {
            ++report.child_runs;
            if (span.begin < busy_until) ++report.child_overlaps;
            busy_until = std::max(busy_until, span.end);
        }
    }
}

// Each acknowledged pair must be in the table, under the epoch that wrote it, bit for bit.
void check_acknowledged(const Place& place, int hosts, pqxx::transaction_base& work,
                        FaultReport& report) {
    std::map<std::string, std::vector<double>> stored;
    for (const auto& row :
         work.exec("select job_id, gate, kind::text, pair_no, try, epoch, arm, vals "
                   "from steady.sample")) {
        const auto key =
            fmt::format("{} {} {} {} {} {} {}", row[0].c_str(), row[1].c_str(),
                        static_cast<int>(rows::kind_from(row[2].c_str())), row[3].c_str(),
                        row[4].c_str(), row[5].c_str(), row[6].c_str());
        std::string_view values(row[7].c_str(), row[7].size());
        stored[key] = rows::take_numbers(values);
    }
    for (int host = 0; host < hosts; ++host) {
        std::ifstream file(place.acks(host));
        for (std::string line; std::getline(file, line);) {
            std::istringstream words(line);
            std::int64_t job = 0, epoch = 0;
            int kind = 0;
            Pair pair;
            words >> job >> pair.gate >> kind >> pair.number >> pair.attempt >> epoch;
            pair.kind = static_cast<PairKind>(kind);
            pair = filled(pair, job);
            for (const auto& [arm, values] : {std::pair{"A", &pair.a}, std::pair{"B", &pair.b}}) {
                report.samples_acknowledged += kValuesPerArm;
                const auto found = stored.find(line + " " + arm);
                if (found == stored.end())
                    report.samples_lost += kValuesPerArm;
                else if (found->second != values->at("token_ns"))
                    ++report.samples_wrong;
            }
        }
    }
}

std::int64_t number(pqxx::transaction_base& work, const std::string& query) {
    return work.exec1(query)[0].as<std::int64_t>();
}

void check_database(pqxx::transaction_base& work, FaultReport& report) {
    const auto count = [&](const std::string& query) {
        return static_cast<int>(number(work, query));
    };
    report.jobs = count("select count(*) from steady.job");
    report.jobs_done = count("select count(*) from steady.job where state = 'done'");
    report.jobs_resumed = count("select count(*) from steady.job where epoch > 1");
    report.verdicts = count("select count(*) from steady.verdict");
    report.duplicate_verdicts = count(
        "select count(*) from (select job_id from steady.attempt where how = 'done' "
        "group by job_id having count(*) > 1) twice");
    report.journal_rows = count("select count(*) from steady.journal where kind = 'verdict'");
    report.attempt_overlaps = count(
        "select count(*) from steady.attempt a join steady.attempt b on a.host_id = b.host_id "
        "and (a.job_id, a.epoch) < (b.job_id, b.epoch) "
        "and tstzrange(a.began, coalesce(a.ended, clock_timestamp())) "
        "&& tstzrange(b.began, coalesce(b.ended, clock_timestamp()))");
    report.samples_official = number(work, "select count(*) from steady.official_value");
    report.samples_expected = number(
        work,
        fmt::format("select count(*) * {} from steady.pair where try = 0", 2 * kValuesPerArm));
    report.samples_of_dead_epochs =
        number(work, "select coalesce(sum(cardinality(vals)), 0) from steady.sample") -
        report.samples_official;
}

}  // namespace

void check(const Place& place, const FaultOptions& options, FaultReport& report) {
    check_children(place, options.hosts, report);
    pqxx::connection connection(place.url);
    pqxx::work work(connection);
    check_acknowledged(place, options.hosts, work, report);
    check_database(work, report);
    std::ifstream fenced(place.fenced());
    for (std::string line; std::getline(fenced, line);) ++report.stale_writes_fenced;
}

}  // namespace steady::drill

namespace steady {

bool FaultReport::sound() const {
    return jobs > 0 && jobs_done == jobs && verdicts == jobs && journal_rows == jobs &&
           duplicate_verdicts == 0 && samples_acknowledged > 0 && samples_lost == 0 &&
           samples_wrong == 0 && samples_official == samples_expected && child_overlaps == 0 &&
           attempt_overlaps == 0;
}

std::string FaultReport::text() const {
    return fmt::format(
        "faults      {} workers and {} children killed, {} frozen beyond the lease, {} servers "
        "killed\n"
        "jobs        {} of {} done, {} of them in more than one epoch\n"
        "samples     {} acknowledged, {} lost, {} altered; {} of {} official; {} of dead epochs\n"
        "verdicts    {}, {} given twice, {} journal rows\n"
        "exclusive   {} children, {} overlapping; {} attempts overlapping\n"
        "fence       {} stale writes refused\n"
        "time        {:.1f} s\n"
        "{}\n",
        worker_kills, child_kills, freezes, server_kills, jobs_done, jobs, jobs_resumed,
        samples_acknowledged, samples_lost, samples_wrong, samples_official, samples_expected,
        samples_of_dead_epochs, verdicts, duplicate_verdicts, journal_rows, child_runs,
        child_overlaps, attempt_overlaps, stale_writes_fenced, seconds,
        sound() ? "sound: nothing lost, nothing twice, nothing at the same time" : "NOT SOUND");
}

std::string FaultReport::json() const {
    return nlohmann::json{{"sound", sound()},
                          {"worker_kills", worker_kills},
                          {"child_kills", child_kills},
                          {"freezes", freezes},
                          {"server_kills", server_kills},
                          {"jobs", jobs},
                          {"jobs_done", jobs_done},
                          {"jobs_resumed", jobs_resumed},
                          {"samples_acknowledged", samples_acknowledged},
                          {"samples_lost", samples_lost},
                          {"samples_altered", samples_wrong},
                          {"samples_official", samples_official},
                          {"samples_expected", samples_expected},
                          {"samples_of_dead_epochs", samples_of_dead_epochs},
                          {"verdicts", verdicts},
                          {"duplicate_verdicts", duplicate_verdicts},
                          {"children", child_runs},
                          {"child_overlaps", child_overlaps},
                          {"attempt_overlaps", attempt_overlaps},
                          {"stale_writes_fenced", stale_writes_fenced},
                          {"seconds", seconds}}
        .dump();
}

}  // namespace steady
