// Made-up history for the page: commits, values and what somebody made of a change.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <random>

#include "runner/storage/alert_store.h"
#include "runner/storage/connection.h"
#include "runner/storage/track_store.h"
#include "tests/support/seed_records.h"

namespace steady {
namespace {

constexpr std::array<const char*, 6> kSubjects{
    "Experts: gate and up share one pass over the activations",
    "Router: pairwise top-k",
    "RMSNorm reads its row once",
    "Loader checks overlapping tensors",
    "Attention keeps its scores in registers",
    "Documentation of the session protocol"};

struct Step {
    int at;
    double shift;  // log units
};

struct History {
    const char *watch, *claim, *host;
    double ratio, noise;
    int n;
    std::vector<Step> steps;
};

std::string commit_of(std::mt19937_64& random) {
    return fmt::format("{:016x}{:016x}{:08x}", random(), random(), random() & 0xffffffffU);
}

std::vector<track::StoredPoint> points_of(const History& history, std::mt19937_64& random) {
    std::normal_distribution<double> noise(0, history.noise), drift(0, 0.02);
    std::vector<track::StoredPoint> points;
    double level = std::log(history.ratio);
    for (int i = 0; i < history.n; ++i) {
        for (const Step& step : history.steps) level += step.at == i ? step.shift : 0;
        track::StoredPoint stored;
        stored.position = i;
        stored.point.commit = commit_of(random);
        stored.point.subject = kSubjects[random() % kSubjects.size()];
        const int day = i / 2;
        stored.point.date = fmt::format("2026-{:02d}-{:02d}T{:02d}:20:00Z", 4 + day / 28,
                                        1 + day % 28, 9 + i % 2 * 6);
        if (i % 41 == 17) {
            stored.failed = "build of " + stored.point.commit.substr(0, 12) +
                            " failed (crash): error: 'Range' was not declared in this scope";
            points.push_back(stored);
            continue;
        }
        const double value = level + noise(random), machine = drift(random);
        stored.point.ratio = std::exp(value);
        stored.point.interval = {std::exp(value - 2.5 * history.noise),
                                 std::exp(value + 2.5 * history.noise)};
        stored.point.pairs = 10;
        stored.point.reference_ns = 4.1e6 * std::exp(machine);
        stored.point.champion_ns = stored.point.reference_ns / stored.point.ratio;
        stored.point.machine = history.host;
        points.push_back(stored);
    }
    return points;
}

}  // namespace

void seed_series(const std::string& url, std::uint64_t seed) {
    const std::vector<History> all{
        {"watch-decode-tiny",
         "The champions keep their lead over plain loops on the tiny model",
         "bench-3f9a21c4",
         6.1,
         0.006,
         240,
         {{150, -0.043}, {205, 0.045}}},
        {"watch-decode-tiny",
         "The champions keep their lead over plain loops on the tiny model",
         "bench-b81e07d2",
         7.4,
         0.004,
         240,
         {{60, 0.12}, {222, -0.021}}},
        {"watch-decode-small",
         "The champions keep their lead over plain loops on the small model",
         "bench-b81e07d2",
         8.2,
         0.009,
         120,
         {}}};
    Connection connection({.url = url, .role = DatabaseRole::owner, .client = "seed"});
    std::mt19937_64 random(seed + 2);
    for (const History& history : all) {
        const std::vector<track::StoredPoint> made = points_of(history, random);
        connection.transact([&](pqxx::transaction_base& transaction) {
            const std::string watch = history.watch;
            const track::Series series =
                track::open_series(transaction, {.id = 0,
                                                 .name = watch.substr(6) + "-on-" + history.host,
                                                 .watch = watch,
                                                 .metric = "decode_tps",
                                                 .model = "synth-tiny-glm-4.7-flash-s1.gguf",
                                                 .claim = history.claim,
                                                 .host = history.host,
                                                 .forge = "https://forge.example/team/steady"});
            for (const auto& point : made) track::add_point(transaction, series.id, point);
            std::vector<track::StoredPoint> measured;
            std::vector<TrackPoint> values;
            for (auto& stored : track::points(transaction, series.id, 5000)) {
                if (!stored.failed.empty()) continue;
                values.push_back(stored.point);
                measured.push_back(std::move(stored));
            }
            track::keep_judgement(transaction, series.id, measured, judge_track(values));
            const auto changes = track::changes(transaction, series.id);
            if (changes.size() > 1) {
                track::triage(transaction, series.name, changes.back().id, "fixed", "kim",
                              "the scales were loaded once per row; mended three weeks later");
            }
        });
    }
    connection.transact([](Transaction& transaction) { alerts::gather(transaction, {}); });
}

}  // namespace steady
