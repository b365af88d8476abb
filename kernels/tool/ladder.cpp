// The ladder of the ops that read weights: every rung's time and share of the read bandwidth on the
// op's largest shape of the models, as a section of a page and one figure per level of CPU. Both
// are made by this command and never edited.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "kernels/base/error.h"
#include "kernels/base/page_section.h"
#include "kernels/tool/measure.h"
#include "kernels/tool/verbs.h"

namespace steady::tool {
namespace {

using Json = nlohmann::ordered_json;

// One op's rungs, slowest first.
struct Ladder {
    std::string op, shape;
    std::vector<Json> rungs;  // rows of bench
};

std::size_t n_on_cpu(const OpInfo& op) {
    const auto all = variants_of(op.name);
    return static_cast<std::size_t>(std::count_if(
        all.begin(), all.end(), [](const VariantBase* variant) { return !variant->on_gpu(); }));
}

// Ops with weights and more rungs than the reference, unless one is named.
bool is_shown(const Options& options, const OpInfo& op) {
    if (!options.op.empty()) return true;
    return op.cost(largest_shape(op)).weight_bytes > 0 && n_on_cpu(op) > 2;
}

Ladder climb(const Options& options, const OpInfo& op, Team& team, const Bandwidth& read) {
    Ladder ladder{std::string(op.name), options.shape, {}};
    if (ladder.shape.empty()) ladder.shape = largest_shape(op);
    require_shape(op, ladder.shape);
    std::vector<Row> rows = checked_rows(options, op, {ladder.shape});
    time_rows(rows, options, team);
    for (const Row& row : rows) {
        if (row.refused.empty()) ladder.rungs.push_back(to_json(rows, row, read));
    }
    std::stable_sort(ladder.rungs.begin(), ladder.rungs.end(), [](const Json& a, const Json& b) {
        return a["latency_ns_median"].get<double>() > b["latency_ns_median"].get<double>();
    });
    return ladder;
}

double share(const Json& rung) { return rung["share_of_read_bandwidth"].get<double>(); }

std::string conditions(const Options& options, const Bandwidth& read) {
    return fmt::format("{}, {} thread(s), weights {}, read limit {:.1f} GB/s (loop {})",
                       cpu::model_name(), read.threads, options.warm ? "warm" : "cold",
                       read.gb_per_s, read.loop());
}

std::string figure_name() { return fmt::format("ladder-{}.svg", cpu::level()); }

std::string markdown(const std::vector<Ladder>& ladders, const std::string& measured_on) {
    std::string text = fmt::format(
        "### Ladder of a CPU with {}\n\nMeasured on: {}. GB/s count the bytes of the file's "
        "layout; "
        "each time is the median of its repetitions, ± half their range.\n\n"
        "![Share of read bandwidth per rung]({})\n",
        cpu::level(), measured_on, figure_name());
    for (const Ladder& ladder : ladders) {
        text += fmt::format(
            "\n#### {}, {}\n\n| rung | µs | ± | GB/s | of read bandwidth | × reference |\n"
            "| --- | ---: | ---: | ---: | ---: | ---: |\n",
            ladder.op, ladder.shape);
        for (const Json& rung : ladder.rungs) {
            const auto name = rung["variant"].get<std::string>();
            const double middle = rung["latency_ns_median"];
            const double range =
                rung["latency_ns_max"].get<double>() - rung["latency_ns_min"].get<double>();
            text += fmt::format(
                "| [{}]({}/{}.cpp) | {:.1f} | {:.1f} % | {:.2f} | {:.0f} % | {:.1f} |\n", name,
                ladder.op, name, middle / 1000, 50 * range / middle, rung["gb_per_s"].get<double>(),
                100 * share(rung), rung["times_reference"].get<double>());
        }
    }
    return text;
}

// Horizontal bars, one group per op, 100 % being the read bandwidth.
std::string svg(const std::vector<Ladder>& ladders, const std::string& measured_on) {
    constexpr int kLabel = 270;  // pixels
    constexpr int kFull = 480;   // of 100 %
    constexpr int kStep = 20;
    std::string body;
    int y = 44;
    for (const Ladder& ladder : ladders) {
        body += fmt::format("<text x=\"8\" y=\"{}\" class=\"op\">{} · {}</text>\n", y, ladder.op,
                            ladder.shape);
        y += 10;
        for (const Json& rung : ladder.rungs) {
            const double width = std::min(share(rung), 1.1) * kFull;
            body += fmt::format(
                "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>"
                "<rect x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"14\"/>"
                "<text x=\"{:.1f}\" y=\"{}\">{:.0f} %</text>\n",
                kLabel - 8, y + 12, rung["variant"].get<std::string>(), kLabel, y, width,
                kLabel + width + 6, y + 12, 100 * share(rung));
            y += kStep;
        }
        y += 26;
    }
    const int right = kLabel + kFull;
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" role=\"img\" "
        "aria-label=\"Share of read bandwidth of each kernel variant\">\n"
        "<style>text{{font:12px system-ui,sans-serif;fill:#444}}.op{{font-weight:600}}"
        "rect{{fill:#2f6fb0}}line{{stroke:#999;stroke-dasharray:3 3}}</style>\n"
        "<rect width=\"100%\" height=\"100%\" style=\"fill:#fff\"/>\n"
        "<text x=\"8\" y=\"18\">{}</text>\n"
        "<line x1=\"{}\" y1=\"28\" x2=\"{}\" y2=\"{}\"/>\n{}</svg>\n",
        right + 110, y, measured_on, right, right, y - 20, body);
}

}  // namespace

int run_ladder(const Options& options) {
    const std::filesystem::path folder = options.out;
    if (!options.out.empty() && !std::filesystem::is_directory(folder)) {
        throw Error{fmt::format("--out '{}' is not a folder", options.out)};
    }
    Team team(options.threads);
    const Bandwidth read = measure_read_bandwidth(team);
    std::vector<Ladder> ladders;
    for (const OpInfo* op : selected_ops(options)) {
        if (!is_shown(options, *op)) continue;
        fmt::print(stderr, "{} …\n", op->name);
        ladders.push_back(climb(options, *op, team, read));
    }
    const std::string measured_on = conditions(options, read);
    if (options.json) {
        Json all = Json::array();
        for (const Ladder& ladder : ladders) {
            all.push_back({{"op", ladder.op}, {"shape", ladder.shape}, {"rungs", ladder.rungs}});
        }
        const Json document = {{"measured_on", measured_on},
                               {"read_gb_per_s", read.gb_per_s},
                               {"threads", read.threads},
                               {"ladders", all}};
        fmt::print("{}\n", document.dump(1));
    } else if (options.out.empty()) {
        fmt::print("{}", markdown(ladders, measured_on));
    }
    if (!options.out.empty()) {
        const std::string text = markdown(ladders, measured_on) + "\n";
        write_section(folder / "LADDER.md", {cpu::level(), "steady-kernels ladder --out", text});
        write_page(folder / figure_name(), svg(ladders, measured_on));
    }
    return kExitOk;
}

}  // namespace steady::tool
