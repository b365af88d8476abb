// Paired ratios with intervals for peers.mjs, by Steady's own statistics: reads lines of
// "name rate rate …" from standard input, the first of them ours, one rate per round, and prints a
// row of a Markdown table for each: median, lowest, highest, ours ÷ it (Hodges–Lehmann, 95 %).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <sstream>
#include <vector>

#include "runner/statistics/statistics.h"
#include "runner/statistics/statistics_ranks.h"

int main() {
    std::vector<double> ours;
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        std::string name;
        words >> name;
        std::vector<double> rates;
        for (double rate = 0; words >> rate;) rates.push_back(rate);
        if (ours.empty()) ours = rates;
        if (rates.empty() || rates.size() != ours.size() || !words.eof()) {
            std::cerr << "peer_ratios: '" << line
                      << "': as many rates as the first line are needed\n";
            return 2;
        }
        std::vector<double> logs;
        for (std::size_t i = 0; i < rates.size(); ++i) logs.push_back(std::log(ours[i] / rates[i]));
        const steady::HodgesLehmann ratio = steady::hodges_lehmann(logs);
        const auto [low, high] = std::minmax_element(rates.begin(), rates.end());
        fmt::print("| {} | {:.2f} | {:.2f} to {:.2f} | {:.3f} | {:.3f} to {:.3f} |\n", name,
                   steady::median(rates), *low, *high, std::exp(ratio.estimate),
                   std::exp(ratio.lower), std::exp(ratio.upper));
    }
    return ours.empty() ? 2 : 0;
}
