// Copyright (c) the mlo authors. BSD-3-Clause.
// The section on group effects: of each kind the lowest and the highest, as a forest plot.
#include <fmt/format.h>

#include <algorithm>

#include "mlo/base/text.hpp"
#include "report/html_parts.hpp"

namespace mlo::html {
namespace {

constexpr std::size_t most_shown = 20;  // of one kind

using Effects = std::vector<const GroupEffect*>;

// Effects of one grouping and one column, lowest first.
std::vector<Effects> kinds_of(std::span<const GroupEffect> effects) {
  std::vector<Effects> out;
  for (const GroupEffect& e : effects) {
    const auto same = [&](const Effects& kind) {
      return kind[0]->group == e.group && kind[0]->effect == e.effect;
    };
    auto at = std::find_if(out.begin(), out.end(), same);
    if (at == out.end()) at = out.insert(out.end(), Effects{});
    at->push_back(&e);
  }
  for (Effects& kind : out)
    std::stable_sort(kind.begin(), kind.end(),
                     [](const GroupEffect* a, const GroupEffect* b) { return a->mean < b->mean; });
  return out;
}

std::string drawn(const Effects& shown, std::size_t all) {
  const GroupEffect& any = *shown[0];
  Plot plot{.width = 560, .height = 80 + 20 * static_cast<double>(shown.size())};
  Mark bars{.kind = Mark::Kind::intervals, .colour = "var(--posterior)", .width = 3};
  for (std::size_t k = 0; k < shown.size(); ++k) {
    const auto y = static_cast<double>(k);
    plot.y.names.push_back(shown[k]->level);
    plot.y.ticks.push_back(y);
    bars.y.push_back(y);
    bars.x.push_back(shown[k]->mean);
    bars.low.push_back(shown[k]->q5);
    bars.high.push_back(shown[k]->q95);
  }
  plot.y.low = -0.6;
  plot.y.high = static_cast<double>(shown.size()) - 0.4;
  plot.x.label = fmt::format("effect on {}", any.effect);
  plot.marks = {{.kind = Mark::Kind::vertical, .colour = "var(--rule)", .x = {0}, .dashed = true, .width = 1},
                bars};
  std::string caption =
      "Posterior means and 5 % to 95 % intervals, as differences from the coefficient of all rows (from 0 where "
      "there is none); the largest on "
      "top.";
  if (shown.size() < all)
    caption += fmt::format(" The {} lowest and the {} highest of {} levels are shown.",
                           shown.size() - shown.size() / 2, shown.size() / 2, grouped(all));
  return figure({.title = fmt::format("Effects of {} on {}", any.group, any.effect),
                 .description = "Effects of the levels, ordered.",
                 .plots = {plot}},
                caption);
}

}  // namespace

Section groups(const ReportInput& input) {
  std::string body;
  for (Effects& kind : kinds_of(input.effects)) {
    const std::size_t all = kind.size();
    if (all > most_shown)
      kind.erase(kind.begin() + static_cast<std::ptrdiff_t>(most_shown - most_shown / 2),
                 kind.end() - static_cast<std::ptrdiff_t>(most_shown / 2));
    body += fmt::format(
        "<details open><summary>{}, {} <span class=\"quiet\">{} levels</span></summary>{}</details>\n",
        xml_escaped(kind[0]->group), xml_escaped(kind[0]->effect), grouped(all), drawn(kind, all));
  }
  if (body.empty()) return {};
  return {"groups", "Groups", "Group effects, levels ordered by effect", body};
}

}  // namespace mlo::html
