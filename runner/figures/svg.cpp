// Numbers are written with one decimal: a file does not change in its last digits from machine to
// machine. Green and red are the colour-blind safe pair of Okabe and Ito, never the only sign.
#include "runner/figures/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace steady::figures {
namespace {

constexpr std::string_view kStyle = R"css(<style>
text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:#1c1e21;font-variant-numeric:tabular-nums}
.h{font-weight:600;font-size:13px}.m{fill:#62676e}.s{font-size:11px}.b{font-weight:600}
.bg{fill:#ffffff}.band{fill:#e3e6ea}.grid{stroke:#e7e9ec}.zero{stroke:#62676e}.dash{stroke-dasharray:5 4}
.good{stroke:#007a5a;fill:#007a5a}.bad{stroke:#c44600;fill:#c44600}.open{stroke:#62676e;fill:#62676e}
text.good,text.bad,text.open{stroke:none}
.ci{stroke-width:3;stroke-linecap:round}.rim{stroke:#ffffff;stroke-width:1.5}
.a{fill:#0072b2;stroke:#0072b2}.bb{fill:#e69f00;stroke:#b87f00}.hollow{fill:#ffffff;stroke-width:1.8}
.dot{stroke-width:1.2}.area{fill:#007aff;fill-opacity:.13;stroke:none}.step{fill:none;stroke:#0072b2;stroke-width:2}
.mark{fill:none;stroke:#62676e;stroke-width:1.3}.x{stroke:#8a9099;stroke-width:1.6}
@media (prefers-color-scheme:dark){
text{fill:#e6e8eb}.m{fill:#9aa1aa}.bg{fill:#15181c}.band{fill:#2b3037}.grid{stroke:#262b31}.zero{stroke:#9aa1aa}
.good{stroke:#35c79a;fill:#35c79a}.bad{stroke:#ff8a4c;fill:#ff8a4c}.open{stroke:#9aa1aa;fill:#9aa1aa}
.rim{stroke:#15181c}.a{fill:#56b4e9;stroke:#56b4e9}.bb{fill:#e69f00;stroke:#ffc145}.hollow{fill:#15181c}
.area{fill:#56b4e9;fill-opacity:.18}.step{stroke:#56b4e9}.mark{stroke:#9aa1aa}.x{stroke:#7d848d}}
</style>
)css";

std::string coordinate(double value) {
    std::string out = fmt::format("{:.1f}", std::isfinite(value) ? value : 0.0);
    if (out.size() > 2 && out.compare(out.size() - 2, 2, ".0") == 0) {
        out.resize(out.size() - 2);
    }
    return out == "-0" ? "0" : out;
}

// Length of the well-formed UTF-8 character at the front; 0 when there is none.
std::size_t character(std::string_view text) {
    const auto byte = [&](std::size_t i) {
        return i < text.size() ? static_cast<unsigned>(static_cast<unsigned char>(text[i])) : 0U;
    };
    const unsigned first = byte(0);
    const std::size_t size = first < 0x80   ? 1
                             : first < 0xC2 ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
    for (std::size_t i = 1; i < size; ++i) {
        if ((byte(i) & 0xC0U) != 0x80U) {
            return 0;
        }
    }
    const bool overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
    const bool surrogate = first == 0xED && byte(1) >= 0xA0;
    const bool beyond = first == 0xF4 && byte(1) >= 0x90;
    const bool no_character = first == 0xEF && byte(1) == 0xBF && byte(2) >= 0xBE;
    return overlong || surrogate || beyond || no_character ? 0 : size;
}

}  // namespace

std::string xml(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::size_t size = character(text);
        const char c = text[0];
        if (size == 0 || static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
            out += "\xEF\xBF\xBD";  // the replacement character
        } else if (c == '&') {
            out += "&amp;";
        } else if (c == '<') {
            out += "&lt;";
        } else if (c == '>') {
            out += "&gt;";
        } else if (c == '"') {
            out += "&quot;";
        } else {
            out += text.substr(0, size);
        }
        text.remove_prefix(std::max<std::size_t>(size, 1));
    }
    return out;
}

std::string document(const std::vector<Panel>& panels, std::string_view title,
                     std::string_view description) {
    constexpr double kGap = 18;
    double height = kGap;
    std::string body;
    for (const Panel& panel : panels) {
        body += fmt::format("<g transform=\"translate(0,{})\">\n{}</g>\n", coordinate(height),
                            panel.body);
        height += panel.height + kGap;
    }
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
        "viewBox=\"0 0 {0} {1}\" role=\"img\">\n<title>{2}</title>\n<desc>{3}</desc>\n{4}"
        "<rect class=\"bg\" width=\"{0}\" height=\"{1}\" rx=\"6\"/>\n{5}</svg>\n",
        coordinate(kWidth), coordinate(height), xml(title), xml(description), kStyle, body);
}

void add_line(std::string& body, double x1, double y1, double x2, double y2,
              std::string_view style) {
    body += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" class=\"{}\"/>\n",
                        coordinate(x1), coordinate(y1), coordinate(x2), coordinate(y2), style);
}

void add_rect(std::string& body, double x, double y, double width, double height,
              std::string_view style) {
    body += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"{}\"/>\n",
                        coordinate(x), coordinate(y), coordinate(std::max(0.0, width)),
                        coordinate(std::max(0.0, height)), style);
}

void add_circle(std::string& body, double x, double y, double radius, std::string_view style) {
    body += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" class=\"{}\"/>\n", coordinate(x),
                        coordinate(y), coordinate(radius), style);
}

void add_path(std::string& body, const std::string& commands, std::string_view style) {
    body += fmt::format("<path d=\"{}\" class=\"{}\"/>\n", commands, style);
}

void add_text(std::string& body, double x, double y, std::string_view text, std::string_view style,
              Anchor anchor) {
    const char* const where = anchor == Anchor::middle ? " text-anchor=\"middle\""
                              : anchor == Anchor::end  ? " text-anchor=\"end\""
                                                       : "";
    body += fmt::format("<text x=\"{}\" y=\"{}\"{}{}>{}</text>\n", coordinate(x), coordinate(y),
                        where, style.empty() ? "" : fmt::format(" class=\"{}\"", style), xml(text));
}

std::string point(double x, double y) { return coordinate(x) + "," + coordinate(y); }

double Scale::at(double value) const {
    const double share = (value - low) / (high - low);
    return begin + (std::isnan(share) ? 0.0 : std::clamp(share, 0.0, 1.0)) * (end - begin);
}

std::vector<double> ticks(double low, double high, int n) {
    const double span = high - low;
    if (!(span > 0) || !std::isfinite(span) || n < 1) {
        return {};
    }
    const double rough = span / n;
    const double power = std::pow(10.0, std::floor(std::log10(rough)));
    const double lead = rough / power;
    const double step = power * (lead < 1.5 ? 1 : lead < 3.5 ? 2 : lead < 7.5 ? 5 : 10);
    std::vector<double> out;
    for (double k = std::ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; ++k) {
        out.push_back(k * step);
    }
    return out;
}

}  // namespace steady::figures
