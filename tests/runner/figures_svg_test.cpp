// Figures must parse as XML whatever stands in a record, hold no script and no outside reference,
// and show what the data say. STEADY_FIGURE_DIR=dir writes them there, to be looked at.
#include <gtest/gtest.h>

#include <boost/property_tree/xml_parser.hpp>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>

#include "runner/entry/entry_figures.h"
#include "runner/figures/numbers.h"
#include "runner/figures/plots.h"
#include "tests/support/sample_record.h"

namespace steady {
namespace {

void expect_sound(const std::string& svg, const std::string& name) {
    std::istringstream in(svg);
    boost::property_tree::ptree tree;
    EXPECT_NO_THROW(boost::property_tree::read_xml(in, tree)) << name;
    EXPECT_EQ(tree.count("svg"), 1U) << name;
    for (const char* forbidden : {"<script", "href", "url(", "@import", "<image", "onload",
                                  "foreignObject", "nan", "inf", "\x1b"}) {
        std::string text = svg;
        for (std::size_t at = text.find("inside"); at != std::string::npos;
             at = text.find("inside")) {
            text.erase(at, 6);
        }
        EXPECT_EQ(text.find(forbidden), std::string::npos) << name << " holds " << forbidden;
    }
    EXPECT_NE(svg.find("prefers-color-scheme:dark"), std::string::npos);
    if (const char* folder = std::getenv("STEADY_FIGURE_DIR")) {
        std::ofstream(std::string(folder) + "/" + name + ".svg") << svg;
    }
}

TEST(FiguresSvg, EveryRecordGivesSoundFigures) {
    const std::pair<const char*, Record> kRecords[] = {
        {"accepted", accepted_record()},
        {"rejected", rejected_record()},
        {"wrong-output", wrong_output_record()},
        {"running", running_record()},
    };
    for (const auto& [name, record] : kRecords) {
        expect_sound(entry_figure(record), name);
        expect_sound(intervals_figure(record), std::string(name) + "-intervals");
        expect_sound(pairs_figure(record), std::string(name) + "-pairs");
        expect_sound(profile_figure(record), std::string(name) + "-profile");
        EXPECT_EQ(entry_figure(record), entry_figure(record));
    }
}

TEST(FiguresSvg, HostileTextStaysText) {
    Record record = hostile_record("s3cr3t-canary-value");
    record.analysis->gates[3].id = "<script>alert(1)</script>\x01\xff\xed\xa0\x80";
    record.evidence.profile->arms["B"][0].op = "\"><script>x</script>&";
    const std::string svg = entry_figure(record);
    std::istringstream in(svg);
    boost::property_tree::ptree tree;
    EXPECT_NO_THROW(boost::property_tree::read_xml(in, tree));
    EXPECT_EQ(svg.find("<script"), std::string::npos);
    EXPECT_EQ(svg.find("s3cr3t-canary-value"), std::string::npos);
    EXPECT_EQ(svg.find('\x1b'), std::string::npos);
}

TEST(FiguresSvg, ManyPairsAndWildValuesFit) {
    figures::PairPlot plot;
    plot.metric = "decode_tps";
    plot.worth = 0.01;
    for (int i = 0; i < 1000; ++i) {
        plot.points.push_back({i == 500 ? 5.0 : 0.01 * std::sin(i), i % 2 == 0, i % 97 == 0});
    }
    plot.points[7].value = std::numeric_limits<double>::infinity();
    plot.narrowing.assign(990, {-0.01, 0.01});
    figures::EvidencePlot evidence;
    evidence.log_e = {0, -3, 800, std::numeric_limits<double>::infinity()};
    evidence.threshold = std::log(200);
    expect_sound(figures::document({figures::pair_plot(plot), figures::evidence_plot(evidence)},
                                   "many", "many"),
                 "many-pairs");
}

// Twelve digits at the axis are cut off at its left.
TEST(FiguresSvg, LabelsOfSmallAndLargeEvidenceFitBesideTheAxis) {
    for (const double end : {-60.0, 60.0}) {
        figures::EvidencePlot plot;
        plot.log_e = {0, end / 2, end};
        plot.threshold = std::log(200);
        const std::string body = figures::evidence_plot(plot).body;
        EXPECT_EQ(body.find("00000000"), std::string::npos) << body;
        EXPECT_NE(body.find(end < 0 ? ">1e-" : ">1e"), std::string::npos) << body;
    }
}

TEST(FiguresSvg, OnePairAndNoDataFit) {
    figures::PairPlot one;
    one.points = {{0, true, false}};
    one.narrowing = {{}};
    expect_sound(figures::document(
                     {figures::pair_plot(one), figures::pair_plot({}), figures::evidence_plot({}),
                      figures::profile_plot({}), figures::interval_plot({})},
                     "little", "little"),
                 "little-data");
}

// A single run of each arm may differ by a third from one minute to the next: a number without an
// interval gets no colour, however large.
TEST(FiguresSvg, AProfileIsColouredOnlyByAnInterval) {
    const auto coloured = [](std::optional<double> low, std::optional<double> high) {
        const figures::Panel panel = figures::profile_plot({{{"op", 100, 60, -0.4, low, high}}});
        EXPECT_NE(panel.body.find("−40"), std::string::npos);
        const bool good = panel.body.find("\"s b good\"") != std::string::npos;
        const bool bad = panel.body.find("\"s b bad\"") != std::string::npos;
        return good ? "good" : bad ? "bad" : "no";
    };
    EXPECT_STREQ(coloured({}, {}), "no");
    EXPECT_STREQ(coloured(-0.5, 0.1), "no");
    EXPECT_STREQ(coloured(-0.5, -0.3), "good");
    EXPECT_STREQ(coloured(0.1, 0.3), "bad");
}

TEST(FiguresSvg, AnUnboundedIntervalPointsOutwards) {
    figures::IntervalPlot plot;
    figures::IntervalRow row;
    row.effect = 0.01;
    row.interval.low = 0.001;
    plot.rows = {row};
    const std::string open = figures::interval_plot(plot).body;
    plot.rows[0].interval.high = 0.02;
    const std::string closed = figures::interval_plot(plot).body;
    EXPECT_NE(open.find("<path"), std::string::npos);  // the arrow head
    EXPECT_EQ(closed.find("<path"), std::string::npos);
    EXPECT_NE(open.find("+∞"), std::string::npos);
}

TEST(FiguresNumbers, SignUnitAndDecimals) {
    EXPECT_EQ(figures::percent(0.0312), "+3.1 %");
    EXPECT_EQ(figures::percent(-0.024), "−2.4 %");
    EXPECT_EQ(figures::percent(0.00001), "0.0 %");
    EXPECT_EQ(figures::percent(-0.00001), "0.0 %");
    EXPECT_EQ(figures::effect_text(0.031, 0.02, 0.06), "+3.1 % [+2.0, +6.0]");
    EXPECT_EQ(figures::effect_text(0.031, std::nullopt, 0.06), "+3.1 % [−∞, +6.0]");
    EXPECT_EQ(figures::effect_text(std::nullopt, 0.01, 0.02), "no number");
    EXPECT_EQ(figures::arrow(0.001, 0.01), "▲");
    EXPECT_EQ(figures::arrow(-0.02, -0.01), "▼");
    EXPECT_EQ(figures::arrow(-0.02, 0.01), "~");
    EXPECT_EQ(figures::arrow(std::nullopt, std::nullopt), "~");
    EXPECT_EQ(figures::duration(950), "950 ns");
    EXPECT_EQ(figures::duration(37.4e6), "37.4 ms");
    EXPECT_EQ(figures::duration(999.6), "1.00 µs");
}

TEST(FiguresScale, TicksAreRoundAndInside) {
    EXPECT_EQ(figures::ticks(0, 1, 5),
              (std::vector<double>{0, 0.2, 0.4, 0.6000000000000001, 0.8, 1}));
    EXPECT_TRUE(figures::ticks(1, 1, 5).empty());
    EXPECT_TRUE(figures::ticks(0, std::numeric_limits<double>::infinity(), 5).empty());
    const figures::Scale scale{0, 1, 10, 20};
    EXPECT_EQ(scale.at(0.5), 15);
    EXPECT_EQ(scale.at(7), 20);
    EXPECT_EQ(scale.at(std::nan("")), 10);
}

// What decided is named: a planned exact test, or the evidence that this panel does not draw. The
// page shows the effect against the pair's own speed also where it does not depend on it.
TEST(FiguresSvg, TheEvidenceSaysWhatDecided) {
    Record record = accepted_record();
    EXPECT_EQ(pairs_figure(record).find("signed-rank"), std::string::npos)
        << "the line was crossed";
    EXPECT_NE(pairs_figure(rejected_record()).find("rejected by the evidence against"),
              std::string::npos);
    record.analysis->why = "interim";
    record.analysis->d.assign(12, 0.01);
    record.evidence.prior = Prior{};
    record.evidence.prior->rule = 2;
    EXPECT_NE(
        pairs_figure(record).find("accepted by the exact signed-rank test planned after pair 9"),
        std::string::npos);
    EXPECT_NE(pairs_figure(record).find("own speed"), std::string::npos);
    EXPECT_EQ(entry_figure(record).find("own speed"), std::string::npos);
}

}  // namespace
}  // namespace steady
