// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/report/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>

namespace mlo {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Room around a plot's area, in pixels.
constexpr double left = 62, right = 14, bottom = 46, title_line = 20, top_margin = 14, legend_line = 18;
constexpr double letter = 6.9;  // about the width of a letter of the legend
constexpr double swatch = 20, between = 16;

// Maps an axis's values to pixels.
struct Scale {
  double low = infinity, high = -infinity;
  bool log = false;
  double from = 0, to = 0;  // pixels at low and high

  [[nodiscard]] bool takes(double v) const { return std::isfinite(v) && (!log || v > 0); }
  void include(double v) {
    if (!takes(v)) return;
    low = std::min(low, v);
    high = std::max(high, v);
  }
  [[nodiscard]] double operator()(double v) const {
    const double share = log ? std::log(v / low) / std::log(high / low) : (v - low) / (high - low);
    return from + share * (to - from);
  }
};

void include(const Mark& mark, Scale& x, Scale& y) {
  const bool bars = mark.kind == Mark::Kind::bars;
  if (bars) y.include(0);
  for (const double v : mark.x) x.include(v);
  for (const double v : mark.y) y.include(v);
  Scale& along = mark.kind == Mark::Kind::intervals ? x : y;
  for (const double v : mark.low) along.include(v);
  for (const double v : mark.high) along.include(v);
}

// The user's limits; else those of the marks with a small margin; else a default if there are no marks.
void settle(Scale& scale, const Axis& axis) {
  if (!(scale.low <= scale.high)) {
    scale.low = scale.log ? 1 : 0;
    scale.high = scale.log ? 10 : 1;
  }
  const double air = 0.04;
  if (scale.log) {
    const double factor = scale.low < scale.high ? std::pow(scale.high / scale.low, air) : 2;
    scale.low /= factor;
    scale.high *= factor;
  } else {
    const double width = scale.high - scale.low;
    const double margin = width > 0 ? air * width : std::max(1e-12, 0.5 * std::abs(scale.high));
    if (scale.low != 0) scale.low -= margin;  // bars and levels stand on 0
    scale.high += margin;
  }
  if (axis.low && scale.takes(*axis.low)) scale.low = *axis.low;
  if (axis.high && scale.takes(*axis.high)) scale.high = *axis.high;
  if (!(scale.low < scale.high)) scale.high = scale.log ? 10 * scale.low : scale.low + 1;
}

class Drawing {
 public:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string stroke(const Mark& mark) {
  const bool area = mark.kind == Mark::Kind::bars || mark.kind == Mark::Kind::band;
  return fmt::format(
      R"(stroke="{}" stroke-width="{}" fill="none"{}{})", xml_escaped(mark.colour), mark.width,
      mark.dashed ? R"( stroke-dasharray="5 4")" : "",
      mark.opacity < 1 && !area ? fmt::format(R"( stroke-opacity="{:.2f}")", mark.opacity) : "");
}

std::string faint(const Mark& mark) {
  return mark.opacity < 1 ? fmt::format(R"( fill-opacity="{:.2f}")", mark.opacity) : "";
}

void draw_line(Drawing& out, const Mark& mark, const Scale& x, const Scale& y) {
  std::string path;
  bool open = false;
  for (std::size_t k = 0; k < std::min(mark.x.size(), mark.y.size()); ++k) {
    if (!x.takes(mark.x[k]) || !y.takes(mark.y[k])) {
      open = false;
      continue;
    }
    path += fmt::format("{}{:.1f} {:.1f}", open ? "L" : "M", x(mark.x[k]), y(mark.y[k]));
    open = true;
  }
  if (!path.empty()) out.add(R"(<path d="{}" {} stroke-linejoin="round"/>)", path, stroke(mark));
}

void draw_points(Drawing& out, const Mark& mark, const Scale& x, const Scale& y) {
  const std::string colour = xml_escaped(mark.colour);
  for (std::size_t k = 0; k < std::min(mark.x.size(), mark.y.size()); ++k) {
    if (!x.takes(mark.x[k]) || !y.takes(mark.y[k])) continue;
    const double px = x(mark.x[k]), py = y(mark.y[k]);
    if (k < mark.low.size() && k < mark.high.size() && y.takes(mark.high[k])) {
      // An error bar that reaches 0 or less goes down to the end of a log axis.
      const double below = y.takes(mark.low[k]) ? y(mark.low[k]) : y.from;
      out.add(R"(<path d="M{:.1f} {:.1f}V{:.1f}" stroke="{}" stroke-width="1.5"/>)", px, below,
              y(mark.high[k]), colour);
    }
    out.add(R"(<circle cx="{:.1f}" cy="{:.1f}" r="{}" fill="{}"{}/>)", px, py, mark.radius, colour,
            faint(mark));
    if (k < mark.names.size() && !mark.names[k].empty())
      out.add(R"(<text x="{:.1f}" y="{:.1f}">{}</text>)", px + 7, py - 5, xml_escaped(mark.names[k]));
  }
}

// An interval may reach beyond the axis, where it is cut off.
void draw_intervals(Drawing& out, const Mark& mark, const Scale& x, const Scale& y) {
  std::string path;
  for (std::size_t k = 0; k < std::min({mark.y.size(), mark.low.size(), mark.high.size()}); ++k)
    if (y.takes(mark.y[k]) && x.takes(mark.low[k]) && x.takes(mark.high[k]))
      path += fmt::format("M{:.1f} {:.1f}H{:.1f}", x(mark.low[k]), y(mark.y[k]), x(mark.high[k]));
  if (!path.empty()) out.add(R"(<path d="{}" {} stroke-linecap="round"/>)", path, stroke(mark));
  for (std::size_t k = 0; k < std::min(mark.x.size(), mark.y.size()); ++k)
    if (x.takes(mark.x[k]) && y.takes(mark.y[k]))
      out.add(R"(<circle cx="{:.1f}" cy="{:.1f}" r="{}" fill="{}"/>)", x(mark.x[k]), y(mark.y[k]),
              mark.radius, xml_escaped(mark.colour));
}

void draw_bars(Drawing& out, const Mark& mark, const Scale& x, const Scale& y) {
  const double floor = y.log ? y.from : y(0);
  std::string path;
  for (std::size_t k = 0; k + 1 < mark.x.size() && k < mark.y.size(); ++k) {
    if (!x.takes(mark.x[k]) || !x.takes(mark.x[k + 1]) || !y.takes(mark.y[k]) || mark.y[k] == 0) continue;
    path += fmt::format("M{:.1f} {:.1f}V{:.1f}H{:.1f}V{:.1f}Z", x(mark.x[k]), floor, y(mark.y[k]),
                        x(mark.x[k + 1]), floor);
  }
  if (!path.empty())
    out.add(R"(<path d="{}" fill="{}" fill-opacity="{:.2f}"/>)", path, xml_escaped(mark.colour),
            mark.opacity);
}

void draw_band(Drawing& out, const Mark& mark, const Scale& x, const Scale& y) {
  std::string there, back;
  for (std::size_t k = 0; k < std::min({mark.x.size(), mark.low.size(), mark.high.size()}); ++k) {
    if (!x.takes(mark.x[k]) || !y.takes(mark.low[k]) || !y.takes(mark.high[k])) continue;
    there += fmt::format("{}{:.1f} {:.1f}", there.empty() ? "M" : "L", x(mark.x[k]), y(mark.high[k]));
    back.insert(0, fmt::format("L{:.1f} {:.1f}", x(mark.x[k]), y(mark.low[k])));
  }
  if (!there.empty())
    out.add(R"(<path d="{}{}Z" fill="{}" fill-opacity="{:.2f}"/>)", there, back, xml_escaped(mark.colour),
            mark.opacity);
}

void draw(Drawing& out, const Mark& mark, const Scale& x, const Scale& y) {
  switch (mark.kind) {
    case Mark::Kind::line:
      draw_line(out, mark, x, y);
      // A plain curve has no dots; points with a name or an error bar have.
      if (!mark.names.empty() || !mark.low.empty()) draw_points(out, mark, x, y);
      return;
    case Mark::Kind::points:
      return draw_points(out, mark, x, y);
    case Mark::Kind::bars:
      return draw_bars(out, mark, x, y);
    case Mark::Kind::band:
      return draw_band(out, mark, x, y);
    case Mark::Kind::intervals:
      return draw_intervals(out, mark, x, y);
    case Mark::Kind::vertical:
      if (!mark.x.empty() && x.takes(mark.x[0]))
        out.add(R"(<path d="M{:.1f} {:.1f}V{:.1f}" {}/>)", x(mark.x[0]), y.from, y.to, stroke(mark));
      return;
    case Mark::Kind::horizontal:
      if (!mark.y.empty() && y.takes(mark.y[0]))
        out.add(R"(<path d="M{:.1f} {:.1f}H{:.1f}" {}/>)", x.from, y(mark.y[0]), x.to, stroke(mark));
      return;
  }
}

// The position of each legend entry, (x, line), and the number of lines.
struct Legend {
  struct Place {
    const Mark* mark;
    double x;
    std::size_t line;
  };
  std::vector<Place> places;
  std::size_t lines = 0;
};

// Letters as a reader counts them: bytes that continue a UTF-8 letter are not counted.
std::size_t letters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string shortened(const std::string& text, std::size_t most) {
  if (letters(text) <= most) return text;
  std::size_t at = 0;
  for (std::size_t count = 0; at < text.size(); ++at)
    if ((static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80U && ++count == most) break;
  return text.substr(0, at) + "\u2026";
}

// Names beside the y axis need more room than numbers; at most half of the plot, so that long ones are cut.
double left_of(const Plot& plot) {
  std::size_t longest = 0;
  for (const std::string& name : plot.y.names) longest = std::max(longest, letters(name));
  const double wanted = 22 + letter * static_cast<double>(longest);
  return plot.y.names.empty() ? left : std::clamp(wanted, 40.0, plot.width / 2);
}

Legend place_legend(const Plot& plot) {
  const double first = left_of(plot);
  Legend out;
  double at = first;
  for (const Mark& mark : plot.marks) {
    if (mark.label.empty()) continue;
    const double width = swatch + 6 + letter * static_cast<double>(letters(mark.label));
    if (out.lines == 0) out.lines = 1;
    if (at > first && at + width > plot.width - right) {
      at = first;
      ++out.lines;
    }
    out.places.push_back({&mark, at, out.lines - 1});
    at += width + between;
  }
  return out;
}

// Where the legend begins, or the area if there is none: there is no room for a title that is not there.
double top_of(const Plot& plot) { return top_margin + (plot.title.empty() ? 0 : title_line); }

void draw_legend(Drawing& out, const Plot& plot, const Legend& legend) {
  for (const auto& [mark, x, line] : legend.places) {
    const double y = top_of(plot) + legend_line * static_cast<double>(line);
    const bool area = mark->kind == Mark::Kind::bars || mark->kind == Mark::Kind::band;
    if (area) {
      out.add(R"(<rect x="{:.1f}" y="{:.1f}" width="{}" height="10" fill="{}" fill-opacity="{:.2f}"/>)", x,
              y - 9, swatch, xml_escaped(mark->colour), mark->opacity);
    } else if (mark->kind == Mark::Kind::points) {
      out.add(R"(<circle cx="{:.1f}" cy="{:.1f}" r="3.5" fill="{}"/>)", x + swatch / 2, y - 4,
              xml_escaped(mark->colour));
    } else {
      out.add(R"(<path d="M{:.1f} {:.1f}h{}" {}/>)", x, y - 4, swatch, stroke(*mark));
    }
    out.add(R"(<text x="{:.1f}" y="{:.1f}">{}</text>)", x + swatch + 6, y, xml_escaped(mark->label));
  }
}

void draw_axes(Drawing& out, const Plot& plot, const Scale& x, const Scale& y) {
  const auto ticks = [](const Axis& axis, const Scale& s) {
    return axis.ticks.empty() ? round_ticks(s.low, s.high, s.log) : axis.ticks;
  };
  const auto inside = [](const Scale& s, double v) { return s.takes(v) && v >= s.low && v <= s.high; };
  // What is written beside the k-th tick.
  const auto words = [](const Axis& axis, std::size_t k, double v, std::size_t most) {
    if (!axis.names.empty()) return k < axis.names.size() ? shortened(axis.names[k], most) : std::string();
    return axis.numbers ? fmt::format("{:g}", v) : std::string();
  };
  const std::vector<double> x_ticks = ticks(plot.x, x), y_ticks = ticks(plot.y, y);
  double written = -HUGE_VAL;  // where the last label ends; one that would run into it is left out
  for (std::size_t k = 0; k < x_ticks.size(); ++k) {
    const double v = x_ticks[k];
    if (!inside(x, v)) continue;
    out.add(R"(<path class="axis" d="M{:.1f} {:.1f}v5"/>)", x(v), y.from);
    const std::string text = words(plot.x, k, v, 12);
    const double half = letter * static_cast<double>(letters(text)) / 2;
    if (text.empty() || x(v) - half < written) continue;
    written = x(v) + half;
    out.add(R"(<text class="tick" x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)", x(v), y.from + 19,
            xml_escaped(text));
  }
  const auto most = static_cast<std::size_t>((x.from - 14) / letter);
  for (std::size_t k = 0; k < y_ticks.size(); ++k) {
    const double v = y_ticks[k];
    if (!inside(y, v)) continue;
    out.add(R"(<path class="grid" d="M{:.1f} {:.1f}H{:.1f}"/>)", x.from, y(v), x.to);
    if (const std::string text = words(plot.y, k, v, most); !text.empty())
      out.add(R"(<text class="tick" x="{:.1f}" y="{:.1f}" text-anchor="end">{}</text>)", x.from - 7, y(v) + 4,
              xml_escaped(text));
  }
  out.add(R"(<path class="axis" d="M{:.1f} {:.1f}H{:.1f}"/>)", x.from, y.from, x.to);
  out.add(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)", (x.from + x.to) / 2, y.from + 39,
          xml_escaped(plot.x.label));
  const double middle = (y.from + y.to) / 2;
  out.add(R"x(<text x="15" y="{0:.1f}" text-anchor="middle" transform="rotate(-90 15 {0:.1f})">{1}</text>)x",
          middle, xml_escaped(plot.y.label));
}

std::string draw_plot(const Plot& plot) {
  const Legend legend = place_legend(plot);
  const double top = top_of(plot) + legend_line * static_cast<double>(legend.lines) - 4;
  Scale x{.log = plot.x.log}, y{.log = plot.y.log};
  for (const Mark& mark : plot.marks) include(mark, x, y);
  settle(x, plot.x);
  settle(y, plot.y);
  x.from = left_of(plot);
  x.to = plot.width - right;
  y.from = plot.height - bottom;
  y.to = top;
  Drawing out;
  if (!plot.title.empty())
    out.add(R"(<text class="title" x="{}" y="17">{}</text>)", x.from, xml_escaped(plot.title));
  draw_legend(out, plot, legend);
  draw_axes(out, plot, x, y);
  // An inner svg cuts off what lies outside the axes' limits, without a clip path, whose name would have to
  // be unique on a page of many plots.
  out.add(R"(<svg x="{0:.1f}" y="{1:.1f}" width="{2:.1f}" height="{3:.1f}" viewBox="{0:.1f} {1:.1f} {2:.1f} )"
          R"({3:.1f}">)",
          x.from, y.to, x.to - x.from, y.from - y.to);
  for (const Mark& mark : plot.marks) draw(out, mark, x, y);
  out.add("</svg>");
  return out.take();
}

constexpr std::string_view style =
    "text { font: 12.5px system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #24292f; } "
    ".heading { font-size: 16px; font-weight: 600; } .title { font-size: 13.5px; font-weight: 600; } .tick { "
    "font-size: 12px; fill: #57606a; } .axis { stroke: #57606a; fill: none; } .grid { stroke: #d8dee4; fill: "
    "none; }";

}  // namespace

std::string as_svg(const Sheet& sheet, SvgUse use) {
  assert(sheet.columns >= 1);
  // A page has its own headings.
  const double heading = sheet.title.empty() || use == SvgUse::page ? 0 : 30;
  double width = 0, row_width = 0, row_height = 0, height = heading;
  std::string body;
  for (std::size_t k = 0; k < sheet.plots.size(); ++k) {
    const Plot& plot = sheet.plots[k];
    if (k > 0 && k % sheet.columns == 0) {
      height += row_height;
      row_width = row_height = 0;
    }
    body += fmt::format("<g transform=\"translate({:.1f} {:.1f})\">\n{}</g>\n", row_width, height,
                        draw_plot(plot));
    row_width += plot.width;
    row_height = std::max(row_height, plot.height);
    width = std::max(width, row_width);
  }
  height += row_height;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\"{3} width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
      "{1:.0f}\" role=\"img\" aria-label=\"{2}\">\n",
      width, height, xml_escaped(sheet.title),
      use == SvgUse::file ? ""
      : width > 700       ? " class=\"plot wide\""
                          : " class=\"plot\"");
  // A browser would show the title of a picture in a page wherever the pointer is.
  if (use == SvgUse::file) out += fmt::format("<title>{}</title>\n", xml_escaped(sheet.title));
  out += fmt::format("<desc>{}</desc>\n", xml_escaped(sheet.description));
  if (use == SvgUse::file)
    out += fmt::format("<style>{}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n", style);
  if (heading > 0)
    out += fmt::format("<text class=\"heading\" x=\"12\" y=\"22\">{}</text>\n", xml_escaped(sheet.title));
  return out + body + "</svg>\n";
}

Histogram histogram(const std::vector<double>& values, double low, double high, std::size_t bins) {
  assert(low < high && bins > 0);
  Histogram out;
  const double width = (high - low) / static_cast<double>(bins);
  for (std::size_t k = 0; k <= bins; ++k) out.edges.push_back(low + width * static_cast<double>(k));
  out.heights.assign(bins, 0);
  const double unit = 1 / (width * static_cast<double>(std::max<std::size_t>(1, values.size())));
  for (const double v : values) {
    const double at = std::floor((v - low) / width);
    if (at >= 0 && at < static_cast<double>(bins)) out.heights[static_cast<std::size_t>(at)] += unit;
  }
  return out;
}

std::vector<double> round_ticks(double low, double high, bool log) {
  std::vector<double> out;
  // From 0.98 to 1.7, 1 would be the only one of 1, 2, 5, 10.
  if (log && high > 3 * low) {
    const int first = static_cast<int>(std::floor(std::log10(low)));
    const int last = static_cast<int>(std::ceil(std::log10(high)));
    const bool decades_only = std::log10(high / low) > 3;
    for (int decade = first; decade <= last; ++decade)
      for (const int factor : {1, 2, 5}) {
        if (decades_only && factor > 1) continue;
        const double v = factor * std::pow(10.0, decade);
        if (v >= low && v <= high) out.push_back(v);
      }
    return out;
  }
  const double rough = (high - low) / 5, power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0})
    if (rough <= factor * power * (1 + 1e-9)) {
      step = factor * power;
      break;
    }
  for (double k = std::ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; ++k)
    out.push_back(k == 0 ? 0 : k * step);
  return out;
}

namespace {

// The length of the UTF-8 letter that the text begins with; 0 if it does not begin with one.
std::size_t utf8_letter(std::string_view text) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (std::size_t k = 1; k < length; ++k)
    if ((byte(k) & 0xC0U) != 0x80U) return 0;
  // Longer than necessary, half of a surrogate pair, or beyond the last letter.
  if ((lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xED && byte(1) >= 0xA0) ||
      (lead == 0xF0 && byte(1) < 0x90) || (lead == 0xF4 && byte(1) >= 0x90))
    return 0;
  return length;
}

}  // namespace

std::string xml_escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_letter(text);
    const char c = text[0];
    if (length == 0) {
      out += "\uFFFD";
    } else if (length > 1) {
      out += text.substr(0, length);
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t') {
      out += c;  // other control characters are not allowed in XML
    }
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return out;
}

}  // namespace mlo
