// The few shapes that the figures are made of, and the frame around them. Colours are classes of
// one embedded style with a light and a dark set, so a figure is readable on either page and needs
// no style sheet, font file or script from outside.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace steady::figures {

constexpr double kWidth = 760;  // of every figure, in its own units

// A part of a figure: shapes drawn from y = 0 downwards.
struct Panel {
    double height = 0;
    std::string body;
};

// Panels one below the other as a complete SVG file. Title and description are read aloud.
std::string document(const std::vector<Panel>& panels, std::string_view title,
                     std::string_view description);

// Text as XML; control characters and broken UTF-8 are replaced, so the file always parses.
std::string xml(std::string_view text);

enum class Anchor { start, middle, end };

// Shapes append themselves to a body. `style` is a class, or several, of the embedded style.
void add_line(std::string& body, double x1, double y1, double x2, double y2,
              std::string_view style);
void add_rect(std::string& body, double x, double y, double width, double height,
              std::string_view style);
void add_circle(std::string& body, double x, double y, double radius, std::string_view style);
void add_path(std::string& body, const std::string& commands, std::string_view style);
void add_text(std::string& body, double x, double y, std::string_view text, std::string_view style,
              Anchor anchor = Anchor::start);

// Coordinates of a path: "12.5,3" with one decimal.
std::string point(double x, double y);

// A straight scale from data to drawing, cut at its ends.
struct Scale {
    double low = 0, high = 1;   // data
    double begin = 0, end = 1;  // drawing

    double at(double value) const;  // clamped to [begin, end]
    bool inside(double value) const { return value >= low && value <= high; }
};

// About n round values (1, 2 or 5 times a power of ten) inside [low, high], ascending.
std::vector<double> ticks(double low, double high, int n);

}  // namespace steady::figures
