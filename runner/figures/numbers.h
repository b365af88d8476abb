// How effects are written wherever people read them: always with sign, unit and a number of
// decimals that fits the interval's width.
#pragma once

#include <optional>
#include <string>

namespace steady::figures {

// 0.0312 → "+3.1 %"; a true minus sign; zero has no sign.
std::string percent(double fraction, int decimals = 1);

// Decimals that show an interval of this width (a fraction) with about two digits.
int decimals_for(double width);

// Decimals of an axis whose ticks lie this far apart (a fraction).
int tick_decimals(double step);

// "+3.1 % [+2.6, +3.6]"; "−∞" and "+∞" for what is unbounded; "no number" without an effect.
std::string effect_text(const std::optional<double>& effect, const std::optional<double>& low,
                        const std::optional<double>& high);

// "[+2.6, +3.6]", in percent.
std::string interval_text(const std::optional<double>& low, const std::optional<double>& high,
                          int decimals);

// 12345678 ns → "12.3 ms"; 950 → "950 ns".
std::string duration(double ns);

// "2.31 GB", "64.2 MB", "512 B".
std::string bytes(double n);

// "▲" better, "▼" worse, "~" when the interval holds zero or is open.
std::string arrow(const std::optional<double>& low, const std::optional<double>& high);

}  // namespace steady::figures
