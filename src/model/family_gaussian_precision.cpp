// Copyright (c) the mlo authors. BSD-3-Clause.
// gaussian-precision: f = log(tau / (2 pi)) / 2 - tau (y - mean)^2 / 2, the mean known.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "mlo/base/errors.hpp"
#include "mlo/model/any_model.hpp"
#include "mlo/model/gaussian_precision.hpp"
#include "mlo/model/mode.hpp"
#include "model/family_parts.hpp"

namespace mlo {
extern const FamilySpec gaussian_precision_family;
namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
}

Layout GaussianPrecision::layout_of(Prior prior) {
  return Layout({{.kind = Block::Kind::positive, .names = {"tau"}, .priors = {prior}}});
}

GaussianPrecision::GaussianPrecision(const Design& design, double mean, Prior prior)
    : GaussianPrecision(design, mean, layout_of(prior)) {}

GaussianPrecision::GaussianPrecision(const Design& design, double mean, Layout layout)
    : layout_(std::move(layout)) {
  half_squares_.reserve(design.rows);
  double total = 0;
  for (std::size_t i = 0; i < design.rows; ++i) {
    const double residual = design.y(i) - mean;
    half_squares_.push_back(0.5 * residual * residual);
    total += half_squares_.back();
  }
  if (!(total > 0))
    throw DataError(design.source.name,
                    "response \"" + design.response +
                        "\": every row equals the known mean, so that the precision is infinite");
}

void GaussianPrecision::log_likelihoods(Params theta, Rows rows, std::span<double> terms) const noexcept {
  const double constant = 0.5 * std::log(theta[0] / (2 * std::numbers::pi));
  for (std::size_t k = 0; k < rows.size(); ++k) terms[k] = constant - theta[0] * half_squares_[rows[k]];
}

double GaussianPrecision::log_likelihood(Params theta, Rows rows) const noexcept {
  double total = 0;
  for (std::size_t k = 0; k < rows.size(); ++k) total += half_squares_[rows[k]];
  return static_cast<double>(rows.size()) * 0.5 * std::log(theta[0] / (2 * std::numbers::pi)) -
         theta[0] * total;
}

void GaussianPrecision::log_likelihood_remainders(Params centre, Params from, Params to,
                                                  std::span<const RowId> /*ids*/,
                                                  std::span<double> remainders) const noexcept {
  // l_i = log(tau)/2 - tau h_i: what depends on the row is linear in tau, so that the remainder is the same
  // for all rows. With x = tau / centre - 1 it is half of log(1 + x) - x + x^2 / 2.
  const double a = (from[0] - centre[0]) / centre[0], b = (to[0] - centre[0]) / centre[0];
  const double remainder = 0.5 * (std::log1p(b) - std::log1p(a) - (b - a) * (1 - 0.5 * (a + b)));
  std::fill(remainders.begin(), remainders.end(), remainder);
}

void GaussianPrecision::gradients(Params theta, Rows rows, Eigen::MatrixXd& out) const {
  out.resize(static_cast<Eigen::Index>(rows.size()), 1);
  for (std::size_t k = 0; k < rows.size(); ++k)
    out(static_cast<Eigen::Index>(k), 0) = 0.5 / theta[0] - half_squares_[rows[k]];
}

void GaussianPrecision::add_derivatives(Params theta, Rows rows, Derivatives& d) const {
  if (!(theta[0] > 0)) {
    d.value = -infinity;
    return;
  }
  const auto n = static_cast<double>(rows.size());
  d.value += log_likelihood(theta, rows);
  for (std::size_t k = 0; k < rows.size(); ++k) d.gradient[0] -= half_squares_[rows[k]];
  d.gradient[0] += 0.5 * n / theta[0];
  d.information(0, 0) += 0.5 * n / (theta[0] * theta[0]);
}

Eigen::VectorXd GaussianPrecision::start() const {
  double total = 0;
  for (const double h : half_squares_) total += h;
  return Eigen::VectorXd::Constant(1, 0.5 * static_cast<double>(rows()) / total);
}

// n log(tau) / 2 - tau S.
SummedLikelihood GaussianPrecision::summed(const Mode& mode) const {
  const double half_rows = 0.5 * static_cast<double>(rows());
  const double at = mode.evaluated_at[0], value = mode.likelihood.value;
  const double half_squares = half_rows / at - mode.likelihood.gradient[0];
  return [=](Params theta) {
    return value + half_rows * std::log(theta[0] / at) - (theta[0] - at) * half_squares;
  };
}

namespace {

std::unique_ptr<AnyModel> make(Design design, const FamilyNumbers& numbers, const PriorOptions& priors,
                               std::vector<std::string>& notes) {
  if (design.dim != 1 || !design.intercept)
    throw UsageError(fmt::format(
        "`family gaussian-precision` has one parameter, tau, and no columns: write {} ~ 1", design.response));
  const double mean = number(numbers, "known-mean");
  notes.push_back(fmt::format("known mean {}", mean));
  Layout layout = GaussianPrecision::layout_of(Prior::gamma(0.01, 0.01));  // the paper's prior
  layout.set_priors(priors);
  notes.push_back("prior: " + layout.prior_words());
  return std::make_unique<ModelOf<GaussianPrecision>>(GaussianPrecision(design, mean, std::move(layout)));
}

constexpr std::array<FamilyNumber, 1> numbers{
    {{.name = "known-mean", .help = "the known mean", .usual = 0, .positive = false}}};

std::function<double(Stream&, double)> simulated(const FamilyNumbers& /*numbers*/) {
  return [](Stream& stream, double tau) { return normal(stream) / std::sqrt(tau); };
}

}  // namespace

const FamilySpec gaussian_precision_family{
    .name = "gaussian-precision",
    .response = "any number; the mean is known (`known-mean`); formula y ~ 1",
    .parameters = "tau = 1 / variance",
    .numbers = numbers,
    .sums = true,
    .make_model = make,
    .simulation = {
        .numbers = {}, .columns = false, .parameter = "tau", .positive = true, .response = simulated}};

}  // namespace mlo
