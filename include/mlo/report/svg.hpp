// Copyright (c) the mlo authors. BSD-3-Clause.
// Small plots as SVG: marks over two axes, several plots on a sheet. Fixed size, no script, no network.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlo {

struct Axis {
  std::string label{};
  bool log = false;                     // values <= 0 are then not drawn
  std::optional<double> low{}, high{};  // empty: chosen to fit the marks
  std::vector<double> ticks{};          // empty: round numbers
  bool numbers = true;                  // beside the ticks
  std::vector<std::string> names{};     // words beside the ticks instead, one each
};

// One layer of a plot, drawn in order. A point that is not finite is left out.
struct Mark {
  enum class Kind {
    line,        // through (x, y); with low and high also error bars
    points,      // the same without the line
    bars,        // of height y[k] between x[k] and x[k+1]
    intervals,   // points with bars from low to high along x; without x, the bars alone
    band,        // between low and high over x
    vertical,    // a rule at x[0]
    horizontal,  // a rule at y[0]
  };
  Kind kind = Kind::line;
  std::string label{};             // in the legend; empty: no entry
  std::string colour = "#0969da";  // any SVG colour
  std::vector<double> x{}, y{};
  std::vector<double> low{}, high{};  // limits of error bars or of the band
  std::vector<std::string> names{};   // line, points: a word beside each point
  bool dashed = false;
  double opacity = 1;   // of areas: bars and bands; of lines and points
  double width = 2;     // of lines, pixels
  double radius = 3.5;  // of points
};

struct Plot {
  std::string title{};
  Axis x{}, y{};
  std::vector<Mark> marks{};
  double width = 480, height = 340;  // pixels, margins included
};

struct Sheet {
  std::string title{};        // also read first by a screen reader
  std::string description{};  // in words, for readers who cannot see it
  std::vector<Plot> plots{};
  std::size_t columns = 1;
};

enum class SvgUse {
  file,  // complete: its own style, a white ground
  page,  // part of an HTML page, whose style sheet has the colours of text, axes and grid, light or dark
};
[[nodiscard]] std::string as_svg(const Sheet& sheet, SvgUse use = SvgUse::file);

// Heights of a histogram with area 1, over bins of equal width from low to high; values outside count towards
// the area. There is one more edge than there are heights.
struct Histogram {
  std::vector<double> edges{}, heights{};
};
[[nodiscard]] Histogram histogram(const std::vector<double>& values, double low, double high,
                                  std::size_t bins);

// About five round numbers within [low, high]; on a log axis 1, 2 and 5 times powers of 10, or only powers of
// 10 if there are several. low < high; on a log axis 0 < low.
[[nodiscard]] std::vector<double> round_ticks(double low, double high, bool log);

// Text escaped for an element or a quoted attribute. Bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string xml_escaped(std::string_view text);

}  // namespace mlo
