// Copyright (c) the mlo authors. BSD-3-Clause.
// What report.js draws. Draws are 16-bit numbers between the smallest and the largest of a parameter, in
// base64: 2.7 characters each, where JSON would take 20.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "mlo/base/json.hpp"
#include "report/html_parts.hpp"

namespace mlo::html {
namespace {

constexpr double most_draw_bytes = 3e6;  // of base64

void add_word(std::vector<unsigned char>& bytes, std::uint32_t word) {
  bytes.push_back(static_cast<unsigned char>(word & 0xFFU));
  bytes.push_back(static_cast<unsigned char>((word >> 8U) & 0xFFU));
}

// 0 is kept for what is not a number: 1 to 65535 stand for low to high.
std::uint32_t quantised(double value, double low, double high) {
  if (!std::isfinite(value)) return 0;
  const double share = high > low ? std::clamp((value - low) / (high - low), 0.0, 1.0) : 0;
  return 1 + static_cast<std::uint32_t>(std::lround(share * 65534));
}

}  // namespace

std::string base64(std::span<const unsigned char> bytes) {
  static constexpr char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t k = 0; k < bytes.size(); k += 3) {
    std::uint32_t word = std::uint32_t{bytes[k]} << 16U;
    if (k + 1 < bytes.size()) word |= std::uint32_t{bytes[k + 1]} << 8U;
    if (k + 2 < bytes.size()) word |= std::uint32_t{bytes[k + 2]};
    out += letters[word >> 18U];
    out += letters[(word >> 12U) & 63U];
    out += k + 1 < bytes.size() ? letters[(word >> 6U) & 63U] : '=';
    out += k + 2 < bytes.size() ? letters[word & 63U] : '=';
  }
  return out;
}

std::size_t draw_stride(const ReportInput& input) {
  const PosteriorView view = view_of(input);
  const double all = static_cast<double>(view.draws()) * static_cast<double>(view.chains.size()) *
                     static_cast<double>(view.parameters.size()) * 2 * 4 / 3;
  return std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(all / most_draw_bytes)));
}

std::string script_data(const ReportInput& input) {
  constexpr std::size_t curve_points = 128;
  const PosteriorView view = view_of(input);
  const std::size_t stride = draw_stride(input), count = view.parameters.size();
  Json json{{"chains", view.chains.size()}, {"draws", view.draws()}, {"stride", stride}};
  json["bins"] = rank_bins;
  json["points"] = curve_points;
  std::vector<unsigned char> draws, curves, priors, ranks;
  Json& all = json["parameters"] = Json::array();
  for (std::size_t j = 0; j < count; ++j) {
    const ParameterSummary& p = view.parameters[j];
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (const ChainDraws& chain : view.chains)
      for (std::size_t k = 0; k < view.draws(); k += stride) {
        const double v = chain.draws[k * chain.dim + j];
        if (!std::isfinite(v)) continue;
        low = std::min(low, v);
        high = std::max(high, v);
      }
    if (!(low <= high)) low = high = 0;
    for (const ChainDraws& chain : view.chains)
      for (std::size_t k = 0; k < view.draws(); k += stride)
        add_word(draws, quantised(chain.draws[k * chain.dim + j], low, high));

    const DensityCurve curve = density_curve(view.sorted(j), curve_points);
    const LaplaceFit fit = laplace_fit(view, j);
    double top = 0;
    for (const double y : curve.y) top = std::max(top, y);
    const std::vector<double> prior = prior_density(view.facts, j, curve.x);
    const bool drawn = !curve.x.empty();
    if (drawn)
      for (std::size_t k = 0; k < curve_points; ++k) add_word(curves, quantised(curve.y[k], 0, top));
    // A prior that is narrower than the posterior is cut off at its top; where that is, the curve shows.
    if (!prior.empty())
      for (std::size_t k = 0; k < curve_points; ++k) add_word(priors, quantised(prior[k], 0, top));
    for (const std::uint32_t n : rank_counts(view, j, rank_bins)) add_word(ranks, std::min(n, 65535U));

    Json one{{"name", p.name}, {"low", low},     {"high", high},
             {"rhat", p.rhat}, {"mean", p.mean}, {"sd", p.sd}};
    one["ess"] = std::min(p.ess_bulk, p.ess_tail);
    if (drawn) one["curve"] = Json::array({curve.x.front(), curve.x.back(), top});
    if (!prior.empty()) one["drawn_prior"] = true;
    if (j < view.facts->priors.size()) one["prior"] = view.facts->priors[j].words();
    if (fit.known()) one["laplace"] = Json::array({fit.mean, fit.sd});
    all.push_back(std::move(one));
  }
  json["draw_words"] = base64(draws);
  json["curve_words"] = base64(curves);
  json["prior_words"] = base64(priors);
  json["rank_words"] = base64(ranks);
  std::vector<std::size_t> every(count);
  std::iota(every.begin(), every.end(), std::size_t{0});
  Json& pairs = json["pairs"] = Json::array();
  for (const CorrelatedPair& pair : most_correlated(view, every, most_pairs))
    pairs.push_back(Json::array({pair.first, pair.second, pair.correlation}));
  // "</script" and "<!--" end a script element wherever they are.
  std::string out;
  for (const char c : json.dump()) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace mlo::html
