// Copyright (c) the mlo authors. BSD-3-Clause.
// The pictures of a posterior: for `mlo plot`, and in a report where no script draws them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mlo/chain/draws.hpp"
#include "mlo/diagnose/summary.hpp"
#include "mlo/report/facts.hpp"
#include "mlo/report/svg.hpp"

namespace mlo {

// What is drawn. The chains and the facts must outlive it.
struct PosteriorView {
  std::span<const ParameterSummary> parameters{};
  std::span<const ChainDraws>
      chains{};                     // if they differ in length, as many draws of each as the shortest has
  const RunFacts* facts = nullptr;  // may be null
  std::span<const double> laplace_sd{};  // one per parameter, or none

  [[nodiscard]] std::size_t draws() const noexcept;                       // per chain
  [[nodiscard]] std::vector<double> sorted(std::size_t parameter) const;  // of all chains
};

enum class PlotKind : std::uint8_t { forest, density, trace, rank, pairs };
inline constexpr std::string_view plot_kind_names = "forest, density, trace, rank, pairs";
[[nodiscard]] std::optional<PlotKind> plot_kind(std::string_view name);

struct Palette {
  std::string posterior, laplace, prior, rule;
  std::vector<std::string> chains;  // used in turn
};
[[nodiscard]] const Palette& file_palette();  // on white
[[nodiscard]] const Palette& page_palette();  // variables of the report's style sheet

// A sheet of plots of these parameters. Of `pairs`: all pairs of them, the most correlated first, at most
// `most_pairs`.
inline constexpr std::size_t most_pairs = 6;
[[nodiscard]] Sheet plot_sheet(PlotKind kind, const PosteriorView& view,
                               std::span<const std::size_t> parameters, const Palette& palette);

// ---- what they are made of

// A kernel density estimate, normal kernel, R's bandwidth nrd0 (Silverman 1986, eq. 3.31), over the
// middle 99.8 % of the draws and three bandwidths on either side. Empty if the draws are all alike or not
// finite.
struct DensityCurve {
  std::vector<double> x, y;
};
[[nodiscard]] DensityCurve density_curve(std::span<const double> sorted, std::size_t points = 128);

// The prior's density at these points; empty if it is flat, unknown or not the parameter's own.
[[nodiscard]] std::vector<double> prior_density(const RunFacts* facts, std::size_t parameter,
                                                std::span<const double> x);
// The mean and the sd of the Laplace fit; NaN where they are not known.
struct LaplaceFit {
  double mean = 0, sd = 0;
  [[nodiscard]] bool known() const noexcept;
  [[nodiscard]] double density(double x) const noexcept;
};
[[nodiscard]] LaplaceFit laplace_fit(const PosteriorView& view, std::size_t parameter);

// How often a chain's draws have ranks, among those of all chains, in each of `bins` equal parts; chain after
// chain. Equal draws share their mean rank. For chains that mix, about the same number everywhere (Vehtari et
// al. 2021).
[[nodiscard]] std::vector<std::uint32_t> rank_counts(const PosteriorView& view, std::size_t parameter,
                                                     std::size_t bins);
inline constexpr std::size_t rank_bins = 20;

struct CorrelatedPair {
  std::size_t first = 0, second = 0;
  double correlation = 0;
};
// The pairs with the largest |correlation|, the largest first. Parameters whose draws are all alike are left
// out.
[[nodiscard]] std::vector<CorrelatedPair> most_correlated(const PosteriorView& view,
                                                          std::span<const std::size_t> parameters,
                                                          std::size_t count);

// The range of the x axis of a forest plot: that of the 95 % intervals, without an intercept or second
// parameter that would squeeze the others into less than four fifths of it.
struct ForestRange {
  double low = 0, high = 1;
  std::vector<std::size_t> outside{};  // the parameters that were left out
};
[[nodiscard]] ForestRange forest_range(std::span<const ParameterSummary> all,
                                       std::span<const std::size_t> parameters);

}  // namespace mlo
