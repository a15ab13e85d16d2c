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
  std::optional<double> low{}, high{};  // empty: as the marks need
  std::vector<double> ticks{};          // empty: round numbers
  bool numbers = true;                  // beside the ticks
};

// One layer of a plot, drawn in order. A point that is not finite is left out.
struct Mark {
  enum class Kind {
    line,        // through (x, y); with low and high also error bars
    points,      // the same without the line
    bars,        // of height y[k] between x[k] and x[k+1]
    band,        // between low and high over x
    vertical,    // a rule at x[0]
    horizontal,  // a rule at y[0]
  };
  Kind kind = Kind::line;
  std::string label{};             // in the legend; empty: not there
  std::string colour = "#0969da";  // any of SVG's
  std::vector<double> x{}, y{};
  std::vector<double> low{}, high{};  // limits of error bars or of the band
  std::vector<std::string> names{};   // line, points: a word beside each point
  bool dashed = false;
  double opacity = 1;  // of areas: bars and bands
};

struct Plot {
  std::string title{};
  Axis x{}, y{};
  std::vector<Mark> marks{};
  double width = 480, height = 340;  // pixels, all included
};

struct Sheet {
  std::string title{};        // also what a screen reader says first
  std::string description{};  // in words, for those who do not see it
  std::vector<Plot> plots{};
  std::size_t columns = 1;
};

[[nodiscard]] std::string as_svg(const Sheet& sheet);

// Heights of a histogram whose area is 1, over bins of equal width from low to high; values outside count in
// the area. edges has one more than heights.
struct Histogram {
  std::vector<double> edges{}, heights{};
};
[[nodiscard]] Histogram histogram(const std::vector<double>& values, double low, double high,
                                  std::size_t bins);

// Round numbers within [low, high], some five of them; on a log axis 1, 2 and 5 times powers of 10, or powers
// of 10 alone if there are several. low < high; on a log axis 0 < low.
[[nodiscard]] std::vector<double> round_ticks(double low, double high, bool log);

// Text for the inside of an element or of a quoted attribute.
[[nodiscard]] std::string xml_escaped(std::string_view text);

}  // namespace mlo
