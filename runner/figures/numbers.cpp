// Rounding happens here and nowhere else, so that figure, entry and terminal show the same digits.
#include "runner/figures/numbers.h"

#include <fmt/format.h>

#include <cmath>

namespace steady::figures {
namespace {

std::string signed_number(double value, int decimals) {
    std::string out = fmt::format("{:.{}f}", std::fabs(value), decimals);
    if (out.find_first_not_of("0.") == std::string::npos) {
        return out;  // rounds to zero: no sign
    }
    return (value < 0 ? "−" : "+") + out;
}

}  // namespace

std::string percent(double fraction, int decimals) {
    return signed_number(100 * fraction, decimals) + " %";
}

int decimals_for(double width) { return width < 0.03 ? 2 : width < 0.5 ? 1 : 0; }

int tick_decimals(double step) { return step > 0.0099 ? 0 : step > 0.00099 ? 1 : 2; }

std::string interval_text(const std::optional<double>& low, const std::optional<double>& high,
                          int decimals) {
    return fmt::format("[{}, {}]", low ? signed_number(100 * *low, decimals) : "−∞",
                       high ? signed_number(100 * *high, decimals) : "+∞");
}

std::string effect_text(const std::optional<double>& effect, const std::optional<double>& low,
                        const std::optional<double>& high) {
    if (!effect) {
        return "no number";
    }
    const int decimals = low && high ? decimals_for(*high - *low) : 1;
    const std::string number = percent(*effect, decimals);
    return low || high ? number + " " + interval_text(low, high, decimals) : number;
}

std::string duration(double ns) {
    const char* const kUnits[] = {"ns", "µs", "ms", "s"};
    int unit = 0;
    while (unit < 3 && std::fabs(ns) >= 999.5) {
        ns /= 1000;
        ++unit;
    }
    const double size = std::fabs(ns);
    const int decimals = unit == 0 || size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
    return fmt::format("{:.{}f} {}", ns, decimals, kUnits[unit]);
}

std::string bytes(double n) {
    const char* const kUnits[] = {"B", "kB", "MB", "GB"};
    int unit = 0;
    while (unit < 3 && std::fabs(n) >= 999.5) {
        n /= 1000;
        ++unit;
    }
    return fmt::format("{:.3g} {}", n, kUnits[unit]);
}

std::string arrow(const std::optional<double>& low, const std::optional<double>& high) {
    if (low && *low > 0) {
        return "▲";
    }
    return high && *high < 0 ? "▼" : "~";
}

}  // namespace steady::figures
