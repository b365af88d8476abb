// Paired ratios with intervals for peers.mjs, by Steady's own statistics. Reads lines of
// "name ours/its ours/its …" from standard input, one pair per round, and prints a line of JSON for
// each: medians, lowest and highest of its rates, and ours ÷ it (Hodges–Lehmann, 95 %; the interval
// is null below six rounds, where none of 95 % exists).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <sstream>
#include <vector>

#include "runner/statistics/statistics.h"
#include "runner/statistics/statistics_ranks.h"

namespace {

std::string number(double log_ratio) {
    return std::isfinite(log_ratio) ? fmt::format("{:.6g}", std::exp(log_ratio)) : "null";
}

int refuse(const std::string& line) {
    std::cerr << "peer_ratios: '" << line
              << "': a name without spaces, then pairs of positive rates such as 11.9/8.2 are "
                 "needed\n";
    return 2;
}

}  // namespace

int main() {
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        std::string name;
        words >> name;
        std::vector<double> ours, its, logs;
        for (std::string word; words >> word;) {
            std::istringstream pair(word);
            double mine = 0, other = 0;
            char slash = 0;
            if (!(pair >> mine >> slash >> other) || slash != '/' || pair.peek() != EOF ||
                !(mine > 0 && other > 0)) {
                return refuse(line);
            }
            ours.push_back(mine);
            its.push_back(other);
            logs.push_back(std::log(mine / other));
        }
        if (logs.empty()) return refuse(line);
        const steady::HodgesLehmann ratio = steady::hodges_lehmann(logs);
        const auto [low, high] = std::minmax_element(its.begin(), its.end());
        fmt::print(
            "{{\"name\": \"{}\", \"rounds\": {}, \"ours\": {:.6g}, \"median\": {:.6g}, \"low\": "
            "{:.6g}, \"high\": {:.6g}, \"ratio\": {}, \"lower\": {}, \"upper\": {}}}\n",
            name, logs.size(), steady::median(ours), steady::median(its), *low, *high,
            number(ratio.estimate), number(ratio.lower), number(ratio.upper));
    }
    return 0;
}
