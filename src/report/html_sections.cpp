// Copyright (c) the mlo authors. BSD-3-Clause.
// The sections of a report that need no script: tables, and pictures as SVG.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "mlo/base/text.hpp"
#include "report/html_parts.hpp"

namespace mlo::html {
namespace {

constexpr std::size_t most_in_forest = 60, most_levels = 40, static_parameters = 6;

std::vector<std::size_t> all_of(const ReportInput& input) {
  std::vector<std::size_t> out(input.summary.parameters.size());
  std::iota(out.begin(), out.end(), std::size_t{0});
  return out;
}

// As many decimals as the Monte Carlo error supports, and at least a hundredth of the sd.
std::string rounded(double value, const ParameterSummary& p) {
  if (!std::isfinite(value)) return "\u2013";
  const double digit = std::max(p.mcse_mean, p.sd / 100);
  const double size = std::abs(value);
  // Written out, 0.00007450 would push the last columns off the page.
  if (size >= 1e7 || (size > 0 && size < 1e-4)) {
    const double digits = p.sd > 0 ? std::floor(std::log10(size)) - std::floor(std::log10(p.sd / 10)) + 1 : 3;
    return fmt::format("{:.{}g}", value, static_cast<int>(std::clamp(digits, 3.0, 8.0)));
  }
  int decimals = 3;
  if (std::isfinite(digit) && digit > 0) decimals = -static_cast<int>(std::floor(std::log10(digit)));
  return fmt::format("{:.{}f}", value, std::clamp(decimals, 0, 8));
}

std::string two_digits(double value) {
  if (!std::isfinite(value)) return "\u2013";
  return std::abs(value) < 99.5 ? fmt::format("{:#.2g}", value) : plain_number(value);
}

std::string whole(double value) {
  return std::isfinite(value) ? grouped(static_cast<std::uint64_t>(std::llround(std::max(0.0, value))))
                              : std::string("\u2013");
}

// The interval of a row on the scale that all rows share. What lies beyond it ends in an arrow.
std::string row_interval(const ParameterSummary& p, const ForestRange& range) {
  constexpr double width = 180, margin = 6;
  const double scale = (width - 2 * margin) / (range.high - range.low);
  const auto at = [&](double v) { return std::clamp(margin + (v - range.low) * scale, 2.0, width - 2); };
  std::string out =
      R"(<svg class="interval" width="180" height="18" viewBox="0 0 180 18" aria-hidden="true">)";
  out += fmt::format(R"(<path class="zero" d="M{:.1f} 0V18"/>)", at(0));
  if (std::isfinite(p.hpd_low) && std::isfinite(p.hpd_high) && std::isfinite(p.mean)) {
    const bool clear = p.hpd_low > 0 || p.hpd_high < 0;
    out += fmt::format(
        R"(<path class="thin{0}" d="M{1:.1f} 9H{2:.1f}"/><path class="thick{0}" d="M{3:.1f} 9H{4:.1f}"/>)",
        clear ? " clear" : "", at(p.hpd_low), at(p.hpd_high), at(p.q5), at(p.q95));
    // A mean that is off the scale has no dot: at the edge it would be read as a value.
    if (p.hpd_low < range.low) out += R"(<path class="mean" d="M1 9l6-4v8z"/>)";
    if (p.hpd_high > range.high) out += fmt::format(R"(<path class="mean" d="M{} 9l-6-4v8z"/>)", width - 1);
    if (range.low <= p.mean && p.mean <= range.high)
      out += fmt::format(R"(<circle class="mean" cx="{:.1f}" cy="9" r="2.5"/>)", at(p.mean));
  }
  return out + "</svg>";
}

struct Column {
  const char* name;
  const char* title;
  const char* cls;
};

// Classes say how narrow a screen may be for the column to stay.
constexpr std::array<Column, 10> columns{
    {{"parameter", "As R names it", ""},
     {"mean", "Posterior mean", "n"},
     {"sd", "Posterior standard deviation", "n w1"},
     {"", "95 % interval (thin), 5 % to 95 % (thick) and mean, all on one scale", "g"},
     {"2.5 %", "Lower end of the 95 % highest density interval", "n w1"},
     {"97.5 %", "Upper end of the 95 % highest density interval", "n w1"},
     {"mcse", "Monte Carlo standard error of the mean", "n w3"},
     {"ess bulk", "Effective draws for the middle of the posterior", "n w2"},
     {"ess tail", "Effective draws for its tails", "n w2"},
     {"R-hat", "1 if the chains agree; above 1.01 they have not mixed", "n w1"}}};

// A name that may be broken after a colon, as in CLASS:TERM, and after an underscore, before it is broken
// anywhere.
std::string breakable(std::string_view name) {
  std::string out;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find_first_of(":_"), name.size() - 1) + 1;
    out += xml_escaped(name.substr(0, end));
    name.remove_prefix(end);
    if (!name.empty()) out += "<wbr>";
  }
  return out;
}

std::string level_words(std::size_t shown, std::size_t all) {
  return shown == all ? std::string()
                      : fmt::format(" The {} lowest and the {} highest of {} levels are shown.",
                                    shown - shown / 2, shown / 2, grouped(all));
}

}  // namespace

PosteriorView view_of(const ReportInput& input) {
  return {.parameters = input.summary.parameters,
          .chains = input.chains,
          .facts = &input.facts,
          .laplace_sd = input.summary.noise.laplace_sd};
}

std::string figure(const Sheet& sheet, const std::string& caption) {
  return fmt::format("<figure><div class=\"scroll\">{}</div><figcaption>{}</figcaption></figure>\n",
                     as_svg(sheet, SvgUse::page), xml_escaped(caption));
}

std::string shown(double value) {
  return std::isfinite(value) ? plain_number(value, 4) : std::string("\u2013");
}

Section coefficient_table(const ReportInput& input) {
  const RunSummary& s = input.summary;
  const ForestRange range = forest_range(s.parameters, all_of(input));
  std::string body = fmt::format(
      "<p class=\"tools\" data-needs-script hidden><label>Search <input type=\"search\" id=\"table-search\" "
      "placeholder=\"part of a name\" autocomplete=\"off\" spellcheck=\"false\"></label> <span id=\"table-count\" "
      "role=\"status\">{} parameter{}</span></p>\n",
      grouped(s.parameters.size()), s.parameters.size() == 1 ? "" : "s");
  body +=
      "<div class=\"scroll table\" tabindex=\"0\" role=\"region\" aria-label=\"Table of coefficients\"><table "
      "id=\"table\"><thead><tr>";
  for (const Column& c : columns) {
    const bool picture = c.name[0] == '\0';
    body +=
        fmt::format("<th scope=\"col\" class=\"{}\" title=\"{}\"{}>{}</th>", c.cls, c.title,
                    picture ? "" : " data-sort", picture ? "<span class=\"unseen\">interval</span>" : c.name);
  }
  body += "</tr></thead><tbody>\n";
  for (std::size_t j = 0; j < s.parameters.size(); ++j) {
    const ParameterSummary& p = s.parameters[j];
    const bool bad = !(p.rhat <= 1.01);
    body += fmt::format(
        "<tr data-j=\"{}\"><th scope=\"row\">{}</th><td class=\"n\">{}</td><td class=\"n w1\">{}</td><td "
        "class=\"g\">{}</td><td class=\"n w1\">{}</td><td class=\"n w1\">{}</td><td class=\"n w3\">{}</td><td "
        "class=\"n w2\">{}</td><td class=\"n w2\">{}</td><td class=\"n w1{}\">{}</td></tr>\n",
        j, breakable(p.name), rounded(p.mean, p), two_digits(p.sd), row_interval(p, range),
        rounded(p.hpd_low, p), rounded(p.hpd_high, p), two_digits(p.mcse_mean), whole(p.ess_bulk),
        whole(p.ess_tail), bad ? " bad" : "",
        std::isfinite(p.rhat) ? fmt::format("{:.3f}", p.rhat) : std::string("\u2013"));
  }
  body += "</tbody></table></div>\n";
  std::string note =
      "Means and intervals are those of the draws of all chains; 2.5 % and 97.5 % are the ends of the 95 % highest "
      "density interval. Bars: this interval (thin), 5 % to 95 % (thick), mean (dot); coloured where the 95 % "
      "interval does not contain 0.";
  if (!range.outside.empty()) note += " An arrow points to what lies outside of the scale.";
  body += fmt::format("<p class=\"note\">{}</p>\n", note);
  if (!s.notes.empty()) {
    body += "<details><summary>Notes on the model</summary><ul>";
    for (const std::string& n : s.notes) body += fmt::format("<li>{}</li>", xml_escaped(n));
    body += "</ul></details>\n";
  }
  return {"coefficients", "Coefficients", "Coefficients", body};
}

Section forest(const ReportInput& input) {
  const std::vector<ParameterSummary>& all = input.summary.parameters;
  if (all.size() < 2) return {};
  std::vector<std::size_t> chosen = all_of(input);
  std::string caption =
      "Posterior means, 95 % highest density intervals (thin) and 5 % to 95 % intervals (thick), in the units of the "
      "columns.";
  if (chosen.size() > most_in_forest) {
    // The clearest effects: those furthest from 0 in posterior sds.
    const auto size = [&](std::size_t j) {
      const double z = std::abs(all[j].mean / all[j].sd);
      return std::isfinite(z) ? z : 0;
    };
    std::stable_sort(chosen.begin(), chosen.end(),
                     [&](std::size_t a, std::size_t b) { return size(a) > size(b); });
    chosen.resize(most_in_forest);
    std::sort(chosen.begin(), chosen.end());
    caption += fmt::format(" Of {} parameters, the {} whose means are furthest from 0 in posterior sds.",
                           grouped(all.size()), most_in_forest);
  }
  const ForestRange range = forest_range(all, chosen);
  for (const std::size_t j : range.outside)
    caption += fmt::format(" Not shown, as it would squeeze the others: {} ({}).", all[j].name,
                           rounded(all[j].mean, all[j]));
  return {"forest", "Forest", "Forest plot",
          figure(plot_sheet(PlotKind::forest, view_of(input), chosen, page_palette()), caption)};
}

Section parameters(const ReportInput& input) {
  const std::size_t count = input.summary.parameters.size(), stride = draw_stride(input);
  if (count == 0 || view_of(input).draws() == 0) return {};
  const bool priors = !input.facts.priors.empty(), laplace = !input.facts.mode.empty();
  std::string body = "<p class=\"note\">";
  body += "<b>Density</b>: the posterior";
  if (laplace) body += ", with the Laplace fit (dashed), the normal law around the mode";
  if (priors) body += laplace ? ", and the prior (grey)" : ", with the prior (grey)";
  body +=
      ". <b>Trace</b>: each chain's draws in order; they should look alike and show no trend. <b>Ranks</b>: how often "
      "each chain has low and high ranks among all draws; level lines show that the chains agree.";
  if (stride > 1)
    body += fmt::format(
        " To keep this file small, traces and pairs show every {}{} draw; all else is of all draws.", stride,
        stride == 2   ? "nd"
        : stride == 3 ? "rd"
                      : "th");
  body += "</p>\n";
  body += fmt::format(
      "<p class=\"tools\" data-needs-charts hidden><label>Search <input type=\"search\" id=\"cards-search\" "
      "placeholder=\"part of a name\" autocomplete=\"off\" spellcheck=\"false\"></label> <label>Order <select "
      "id=\"cards-order\"><option value=\"model\">as in the model</option><option value=\"rhat\">largest R-hat "
      "first</option><option value=\"ess\">fewest effective draws first</option></select></label> <span "
      "class=\"pager\"><button type=\"button\" id=\"cards-back\">Previous</button> <span id=\"cards-count\" "
      "role=\"status\"></span> <button type=\"button\" id=\"cards-next\">Next</button></span></p>\n"
      "<p class=\"note\" data-needs-charts hidden>Drag across a trace to zoom, double-click to see all of it again. By "
      "keyboard: move to a trace with Tab, then + and - zoom, the arrows move, 0 shows all.</p>\n"
      "<div id=\"cards\" data-per-page=\"{}\">\n",
      static_parameters);
  // Drawn here for readers without scripts, and where the library was not part of the build.
  std::vector<std::size_t> some = all_of(input);
  some.resize(std::min(count, static_parameters));
  const PosteriorView view = view_of(input);
  const std::string of =
      count > some.size() ? fmt::format(" of the first {} parameters", some.size()) : std::string();
  body += figure(plot_sheet(PlotKind::density, view, some, page_palette()), fmt::format("Densities{}.", of));
  Sheet traces = plot_sheet(PlotKind::trace, view, some, page_palette());
  traces.columns = std::min<std::size_t>(2, some.size());
  body += figure(traces, fmt::format("Traces{}.", of));
  body += figure(plot_sheet(PlotKind::rank, view, some, page_palette()), fmt::format("Ranks{}.", of));
  return {"parameters", "Parameters", "Densities, traces and ranks", body + "</div>\n"};
}

Section pairs(const ReportInput& input) {
  const Sheet sheet = plot_sheet(PlotKind::pairs, view_of(input), all_of(input), page_palette());
  if (sheet.plots.empty()) return {};
  const std::string caption =
      "The pairs of parameters whose draws are most correlated. A narrow ridge means that the data tell them apart "
      "badly; bends and several clouds mean that a normal law does not describe the posterior.";
  return {"pairs", "Pairs", "Most correlated pairs",
          fmt::format("<div id=\"pairs-plots\">{}</div>\n", figure(sheet, caption))};
}

Section predictive(const ReportInput& input) {
  if (!input.facts.no_check.empty())
    return {"predictive", "Predictive check", "Posterior predictive check",
            fmt::format("<p>{}</p>\n", xml_escaped(input.facts.no_check))};
  if (!input.facts.check || input.facts.check->groups.empty()) return {};
  const PredictiveCheck& check = *input.facts.check;
  Plot plot{.width = 560, .height = 320};
  Sheet sheet{.title = "Posterior predictive check", .plots = {}};
  std::string caption;
  if (check.binary) {
    Mark band{.kind = Mark::Kind::band,
              .label = "90 % of simulated data",
              .colour = "var(--posterior)",
              .opacity = 0.2};
    Mark points{.kind = Mark::Kind::points, .label = "observed share", .colour = "var(--accent)"};
    for (const PredictiveCheck::Group& g : check.groups) {
      band.x.push_back(g.predicted);
      band.low.push_back(g.q5);
      band.high.push_back(g.q95);
      points.x.push_back(g.predicted);
      points.y.push_back(g.observed);
    }
    plot.x.label = "predicted probability";
    plot.y.label = "share of ones";
    plot.marks = {
        {.label = "perfect", .colour = "var(--rule)", .x = {0, 1}, .y = {0, 1}, .dashed = true, .width = 1},
        band,
        points};
    sheet.description = "Observed shares of ones against predicted probabilities, by tenths of the rows.";
    caption = fmt::format(
        "{} rows{}, in tenths by their predicted probability{}: the share of ones that was observed, and what {} data sets "
        "simulated from the posterior have. Points outside of the band are what the model does not imitate. The rows are "
        "those of the fit: how well it predicts other rows is another question (hold-out).",
        grouped(check.rows), check.rows < input.summary.data.used ? " chosen by the seed" : "",
        input.effects.empty() ? "" : " (draw by draw, with the group effects of the draw)", check.draws);
  } else {
    Mark band{.kind = Mark::Kind::band,
              .label = "90 % of simulated data",
              .colour = "var(--posterior)",
              .opacity = 0.3};
    Mark bars{.kind = Mark::Kind::bars, .label = "observed", .colour = "var(--rule)", .opacity = 0.35};
    Mark line{.label = "simulated, mean", .colour = "var(--posterior)"};
    for (const PredictiveCheck::Group& g : check.groups) {
      bars.x.push_back(g.low);
      bars.y.push_back(g.observed);
      for (const double x : {g.low, g.high}) {
        band.x.push_back(x);
        band.low.push_back(g.q5);
        band.high.push_back(g.q95);
        line.x.push_back(x);
        line.y.push_back(g.predicted);
      }
    }
    bars.x.push_back(check.groups.back().high);
    // Of counts one by one, the axis has the counts: not the half between two of them, where a bin ends.
    constexpr std::size_t most_counts = 15;
    const PredictiveCheck::Group& first = check.groups.front();
    if (check.groups.size() <= most_counts && first.high - first.low == 1 &&
        first.low - std::floor(first.low) == 0.5)
      for (const PredictiveCheck::Group& g : check.groups) plot.x.ticks.push_back(g.low + 0.5);
    plot.x.label = "response";
    plot.y.label = "share of the rows";
    plot.marks = {bars, band, line};
    sheet.description =
        "The distribution of the observed responses, and of responses simulated from the posterior.";
    caption = fmt::format(
        "The responses of {} rows{}, and those of {} data sets simulated from the posterior for the same rows. The first "
        "and the last bin also have what lies beyond them.",
        grouped(check.rows), check.rows < input.summary.data.used ? " chosen by the seed" : "", check.draws);
  }
  sheet.plots.push_back(std::move(plot));
  std::string body = figure(sheet, caption);
  body +=
      "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">of the responses</th><th scope=\"col\" "
      "class=\"n\">observed</th><th scope=\"col\" class=\"n\">simulated</th><th scope=\"col\" class=\"n\">5 %</th><th "
      "scope=\"col\" class=\"n\">95 %</th></tr></thead><tbody>";
  for (const PredictiveCheck::Statistic& s : check.statistics)
    body += fmt::format(
        "<tr><th scope=\"row\">{}</th><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
        "class=\"n\">{}</td></tr>\n",
        xml_escaped(s.name), shown(s.observed), shown(s.predicted), shown(s.q5), shown(s.q95));
  return {"predictive", "Predictive check", "Posterior predictive check", body + "</tbody></table></div>\n"};
}

Section holdout(const ReportInput& input) {
  if (!input.summary.holdout) return {};
  const Scores& s = *input.summary.holdout;
  std::string body = "<dl class=\"figures\">";
  const auto add = [&](const char* name, const std::string& text) {
    body += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", name, text);
  };
  add("rows held out", grouped(s.rows));
  add("log score per row", fmt::format("{:.4f} \u00b1 {}", s.log_score, two_digits(s.log_score_error)));
  if (s.auc) add("AUC", fmt::format("{:.4f}", *s.auc));
  if (s.brier) add("Brier score", fmt::format("{:.4f}", *s.brier));
  if (s.deviance) add("deviance per row", shown(*s.deviance));
  if (s.rmse) add("RMSE", shown(*s.rmse));
  if (s.accuracy) add("accuracy", fmt::format("{:.4f}", *s.accuracy));
  if (s.missing > 0) add("rows with a missing cell", grouped(s.missing));
  body += "</dl>\n";
  if (s.accuracy) {
    body += "<p>Rows of each class, by the class that is likeliest for them:</p>\n";
    body += "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">class</th>";
    for (const std::string& name : s.classes)
      body += fmt::format("<th scope=\"col\">{}</th>", xml_escaped(name));
    body += "</tr></thead><tbody>\n";
    for (std::size_t k = 0; k < s.classes.size(); ++k) {
      body += fmt::format("<tr><th scope=\"row\">{}</th>", xml_escaped(s.classes[k]));
      for (std::size_t m = 0; m < s.classes.size(); ++m)
        body += fmt::format("<td class=\"n\">{}</td>", grouped(s.confusion[k * s.classes.size() + m]));
      body += "</tr>\n";
    }
    body += "</tbody></table></div>\n";
  }
  if (s.calibration.size() > 1) {
    Mark points{.kind = Mark::Kind::points, .label = "held-out rows", .colour = "var(--accent)"};
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (const CalibrationBin& bin : s.calibration) {
      points.x.push_back(bin.predicted);
      points.y.push_back(bin.observed);
      low = std::min({low, bin.predicted, bin.observed});
      high = std::max({high, bin.predicted, bin.observed});
    }
    Plot plot{
        .x = {.label = "mean prediction"}, .y = {.label = "mean response"}, .width = 560, .height = 320};
    plot.marks = {{.label = "perfect",
                   .colour = "var(--rule)",
                   .x = {low, high},
                   .y = {low, high},
                   .dashed = true,
                   .width = 1},
                  points};
    body += figure(
        {.title = "Calibration on held-out rows",
         .description = "Mean responses against mean predictions of groups of held-out rows.",
         .plots = {plot}},
        "Rows that the fit has not seen, in groups of about equal size by their prediction: points on the "
        "line are predicted well.");
  }
  return {"holdout", "Hold-out", "Hold-out", body};
}

Section factors(const ReportInput& input) {
  std::string body;
  const std::vector<ParameterSummary>& all = input.summary.parameters;
  std::size_t all_levels = 0;
  for (const FactorFact& factor : input.facts.factors) all_levels += factor.levels.size();
  for (const FactorFact& factor : input.facts.factors) {
    struct Level {
      std::string name;
      double mean, low, high, q5, q95;
    };
    std::vector<Level> levels;
    for (std::size_t k = 0; k < factor.levels.size(); ++k) {
      const ParameterSummary& p = all[factor.parameters[k]];
      if (std::isfinite(p.mean))
        levels.push_back({factor.levels[k], p.mean, p.hpd_low, p.hpd_high, p.q5, p.q95});
    }
    if (levels.size() < 2) continue;
    if (!factor.base.empty()) levels.push_back({factor.base + " (base)", 0, 0, 0, 0, 0});
    std::stable_sort(levels.begin(), levels.end(),
                     [](const Level& a, const Level& b) { return a.mean < b.mean; });
    const std::size_t count = levels.size();
    if (count > most_levels)
      levels.erase(levels.begin() + static_cast<std::ptrdiff_t>(most_levels - most_levels / 2),
                   levels.end() - static_cast<std::ptrdiff_t>(most_levels / 2));
    Plot plot{.width = 560, .height = 80 + 20 * static_cast<double>(levels.size())};
    Mark wide{.kind = Mark::Kind::intervals, .colour = "var(--posterior)", .width = 1.5};
    Mark narrow{.kind = Mark::Kind::intervals, .colour = "var(--posterior)", .width = 4};
    for (std::size_t k = 0; k < levels.size(); ++k) {
      const Level& level = levels[k];
      const auto y = static_cast<double>(k);
      plot.y.names.push_back(level.name);
      plot.y.ticks.push_back(y);
      wide.y.push_back(y);
      wide.low.push_back(level.low);
      wide.high.push_back(level.high);
      narrow.y.push_back(y);
      narrow.x.push_back(level.mean);
      narrow.low.push_back(level.q5);
      narrow.high.push_back(level.q95);
    }
    plot.y.low = -0.6;
    plot.y.high = static_cast<double>(levels.size()) - 0.4;
    plot.x.label = factor.base.empty() ? "coefficient" : fmt::format("difference from {}", factor.base);
    plot.marks = {
        {.kind = Mark::Kind::vertical, .colour = "var(--rule)", .x = {0}, .dashed = true, .width = 1},
        wide,
        narrow};
    body +=
        fmt::format("<details{}><summary>{} <span class=\"quiet\">{} levels</span></summary>{}</details>\n",
                    all_levels <= 80 ? " open" : "", xml_escaped(factor.name), grouped(count),
                    figure({.title = fmt::format("Levels of {}", factor.name),
                            .description = "Coefficients of the levels, ordered.",
                            .plots = {plot}},
                           fmt::format("Levels ordered by their coefficient, the largest on top.{}",
                                       level_words(levels.size(), count))));
  }
  if (body.empty()) return {};
  return {"factors", "Factors", "Factors, levels ordered by effect", body};
}

Section cost(const ReportInput& input) {
  const RunSummary& s = input.summary;
  std::string body = "<dl class=\"figures\">";
  const auto add = [&](const char* name, const std::string& text) {
    body += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", name, text);
  };
  add("rows read per step", fmt::format("{} <span class=\"quiet\">of {}</span>",
                                        plain_number(s.method.rows_per_step), grouped(s.data.used)));
  add("acceptance", shown(s.method.acceptance));
  add("passes before sampling", plain_number(s.passes, 2));
  if (s.method.noise_sd > 0) add("noise of the log ratio, sd", shown(s.method.noise_sd));
  add("time", fmt::format("{:.2f} s", s.seconds.total));
  body += "</dl>\n<table class=\"phases\"><caption>Time by phase</caption><tbody>";
  const double other = std::max(0.0, s.seconds.total - s.seconds.read - s.seconds.mode - s.seconds.sample);
  const std::array<std::pair<const char*, double>, 4> phases{{{"reading the data", s.seconds.read},
                                                              {"mode and set-up", s.seconds.mode},
                                                              {"sampling", s.seconds.sample},
                                                              {"summary and files", other}}};
  for (const auto& [name, seconds] : phases) {
    const double share = s.seconds.total > 0 ? std::clamp(seconds / s.seconds.total, 0.0, 1.0) : 0;
    body += fmt::format(
        "<tr><th scope=\"row\">{}</th><td class=\"n\">{:.2f} s</td><td class=\"bar\"><svg width=\"100%\" height=\"14\" "
        "aria-hidden=\"true\"><rect class=\"track\" width=\"100%\" height=\"14\" rx=\"3\"/><rect class=\"fill\" "
        "width=\"{:.1f}%\" height=\"14\" rx=\"3\"/></svg></td><td class=\"n\">{:.0f} %</td></tr>\n",
        name, seconds, 100 * share, 100 * share);
  }
  body += "</tbody></table>\n";
  const RowsReadFact& rows = input.facts.rows_read;
  if (rows.most.size() > 1) {
    Plot plot{.x = {.label = "rows read by a step"},
              .y = {.label = "share of the steps"},
              .width = 560,
              .height = 260};
    Mark bars{.kind = Mark::Kind::bars, .colour = "var(--posterior)", .opacity = 0.6};
    const double all =
        static_cast<double>(std::accumulate(rows.steps.begin(), rows.steps.end(), std::uint64_t{0}));
    for (std::size_t k = 0; k < rows.most.size(); ++k) {
      const std::uint64_t most = rows.most[k], least = most < 3 ? most : most / 2 + 1;
      plot.x.ticks.push_back(static_cast<double>(k) + 0.5);
      plot.x.names.push_back(least == most ? grouped(most) : fmt::format("\u2264 {}", grouped(most)));
      bars.x.push_back(static_cast<double>(k) + 0.08);
      bars.x.push_back(static_cast<double>(k) + 0.92);
      bars.y.push_back(static_cast<double>(rows.steps[k]) / all);
      bars.y.push_back(0);
    }
    if (plot.x.names.size() > 9)  // the words would overlap
      for (std::size_t k = 0; k < plot.x.names.size(); ++k)
        if (k % 2 == 1) plot.x.names[k].clear();
    plot.x.low = 0;
    plot.x.high = static_cast<double>(rows.most.size());
    plot.marks = {bars};
    body += figure({.title = "Rows read per step",
                    .description = "How many of the steps after warm-up read how many rows.",
                    .plots = {plot}},
                   "How many rows the steps after warm-up read. Bins double in width from 4 on.");
  } else if (rows.most.size() == 1 && rows.most[0] == 0) {
    body += "<p class=\"note\">No step of the sample that was kept read a row.</p>\n";
  }
  return {"cost", "Cost", "Rows read, and time by phase", body};
}

Section record(const ReportInput& input) {
  std::string body;
  if (!input.command.empty())
    body += fmt::format(
        "<p>The same draws again, to the last bit on the same instruction set:</p>\n<div class=\"command\"><pre "
        "tabindex=\"0\"><code id=\"command\">{}</code></pre><button type=\"button\" id=\"copy\" data-needs-script "
        "hidden>Copy</button></div>\n",
        xml_escaped(input.command));
  body += "<dl class=\"record\">";
  for (const auto& [label, text] : input.record)
    body += fmt::format("<dt>{}</dt><dd>{}</dd>", xml_escaped(label), xml_escaped(text));
  return {"record", "Reproduce", "How to reproduce it", body + "</dl>\n"};
}

}  // namespace mlo::html
