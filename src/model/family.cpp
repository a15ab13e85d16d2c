// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/model/family.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numbers>

#include "mlo/base/errors.hpp"
#include "mlo/base/special.hpp"
#include "model/family_parts.hpp"

namespace mlo {
namespace {

const double log_root_two_pi = 0.5 * std::log(2 * std::numbers::pi);

void check_binary(const Design& design, std::string_view family) {
  bool zero = false, one = false;
  for (std::size_t i = 0; i < design.rows; ++i) {
    const double y = design.y(i);
    if (y != 0 && y != 1) refuse_response(design, i, fmt::format("a {} model needs 0 or 1", family));
    (y == 0 ? zero : one) = true;
  }
  if (!zero || !one)
    throw DataError(design.file,
                    fmt::format("response \"{}\": all {} rows are {}; a {} model needs both 0 and 1",
                                design.response, design.rows, zero ? 0 : 1, family));
}

}  // namespace

// ---- logistic: f = y eta - log(1 + e^eta)

void Logistic::check(const Design& design) { check_binary(design, name); }

void Logistic::terms(const Batch& batch, std::span<double> out) const noexcept {
  softplus(batch.eta, out);
  for (std::size_t k = 0; k < out.size(); ++k) out[k] = batch.y[k] * batch.eta[k] - out[k];
}

void Logistic::differences(const Batch& from, const Batch& to, std::span<double> out) const noexcept {
  softplus_difference(from.eta, to.eta, out);
  for (std::size_t k = 0; k < out.size(); ++k) out[k] = to.y[k] * (to.eta[k] - from.eta[k]) - out[k];
}

double Logistic::sum(const Batch& batch) const noexcept {
  double linear = 0;
  for (std::size_t k = 0; k < batch.eta.size(); ++k) linear += batch.y[k] * batch.eta[k];
  return linear - sum_softplus(batch.eta);
}

double Logistic::derivatives(const Batch& batch, const BatchDerivatives& out) const noexcept {
  sigmoid(batch.eta, out.second);
  for (std::size_t k = 0; k < batch.eta.size(); ++k) {
    const double p = out.second[k];
    out.first[k] = batch.y[k] - p;
    out.second[k] = -p * (1 - p);
  }
  return sum(batch);
}

StartingPoint Logistic::start(const Design& design) {
  const double mean = mean_response(design);
  return start_at(design, std::log(mean / (1 - mean)));
}

// ---- probit: f = log Phi(s eta), s = 2y - 1

double log_normal_cdf(double z) noexcept {
  if (z > 0) return std::log1p(-0.5 * std::erfc(z / std::numbers::sqrt2));
  if (z > -30) return std::log(0.5 * std::erfc(-z / std::numbers::sqrt2));
  // Phi(z) = phi(z)/|z| (1 - 1/z^2 + 3/z^4 - 15/z^6 + ...); below -30 the next term is under 1e-10.
  const double w = 1 / (z * z);
  return -0.5 * z * z - log_root_two_pi - std::log(-z) + std::log1p(-w * (1 - w * (3 - w * (15 - 105 * w))));
}

double inverse_mills(double z) noexcept {
  return std::exp(-0.5 * z * z - log_root_two_pi - log_normal_cdf(z));
}

void Probit::check(const Design& design) { check_binary(design, name); }

void Probit::terms(const Batch& batch, std::span<double> out) const noexcept {
  for (std::size_t k = 0; k < out.size(); ++k) out[k] = log_normal_cdf((2 * batch.y[k] - 1) * batch.eta[k]);
}

double Probit::sum(const Batch& batch) const noexcept {
  double total = 0;
  for (std::size_t k = 0; k < batch.eta.size(); ++k)
    total += log_normal_cdf((2 * batch.y[k] - 1) * batch.eta[k]);
  return total;
}

double Probit::derivatives(const Batch& batch, const BatchDerivatives& out) const noexcept {
  double total = 0;
  for (std::size_t k = 0; k < batch.eta.size(); ++k) {
    const double sign = 2 * batch.y[k] - 1;
    const double z = sign * batch.eta[k];
    const double value = log_normal_cdf(z);
    const double mills = std::exp(-0.5 * z * z - log_root_two_pi - value);
    total += value;
    out.first[k] = sign * mills;
    out.second[k] = -mills * (z + mills);
  }
  return total;
}

StartingPoint Probit::start(const Design& design) {
  const double mean = mean_response(design);
  // Phi^-1 by Newton's method on log Phi: a few steps are plenty for a first guess.
  double z = 0;
  for (int k = 0; k < 20; ++k) z -= (log_normal_cdf(z) - std::log(mean)) / inverse_mills(z);
  return start_at(design, z);
}

// ---- poisson: f = y eta - e^eta - log y!

void Poisson::check(const Design& design) { check_counts(design, name); }

void Poisson::terms(const Batch& batch, std::span<double> out) const noexcept {
  exp(batch.eta, out);
  for (std::size_t k = 0; k < out.size(); ++k)
    out[k] = batch.y[k] * batch.eta[k] - out[k] - log_factorial(batch.y[k]);
}

double Poisson::sum(const Batch& batch) const noexcept {
  std::array<double, 512> rate;
  double total = 0;
  for (std::size_t first = 0; first < batch.eta.size(); first += rate.size()) {
    const std::size_t count = std::min(rate.size(), batch.eta.size() - first);
    exp(batch.eta.subspan(first, count), std::span(rate).first(count));
    for (std::size_t k = 0; k < count; ++k) total += batch.y[first + k] * batch.eta[first + k] - rate[k];
  }
  return total;
}

double Poisson::derivatives(const Batch& batch, const BatchDerivatives& out) const noexcept {
  exp(batch.eta, out.second);
  double total = 0;
  for (std::size_t k = 0; k < batch.eta.size(); ++k) {
    const double rate = out.second[k];
    total += batch.y[k] * batch.eta[k] - rate;
    out.first[k] = batch.y[k] - rate;
    out.second[k] = -rate;
  }
  return total;
}

StartingPoint Poisson::start(const Design& design) {
  return start_at(design, std::log(mean_response(design)));
}

// ---- gaussian-mean: f = -(y - eta)^2 / (2 sigma^2) - log(sigma sqrt(2 pi))

void GaussianMean::check(const Design& /*design*/) {}

void GaussianMean::terms(const Batch& batch, std::span<double> out) const noexcept {
  const double constant = std::log(sigma) + log_root_two_pi;
  for (std::size_t k = 0; k < out.size(); ++k) {
    const double z = (batch.y[k] - batch.eta[k]) / sigma;
    out[k] = -0.5 * z * z - constant;
  }
}

double GaussianMean::sum(const Batch& batch) const noexcept {
  double squares = 0;
  for (std::size_t k = 0; k < batch.eta.size(); ++k) {
    const double z = (batch.y[k] - batch.eta[k]) / sigma;
    squares += z * z;
  }
  return -0.5 * squares;
}

double GaussianMean::derivatives(const Batch& batch, const BatchDerivatives& out) const noexcept {
  const double precision = 1 / (sigma * sigma);
  for (std::size_t k = 0; k < batch.eta.size(); ++k) {
    out.first[k] = (batch.y[k] - batch.eta[k]) * precision;
    out.second[k] = -precision;
  }
  return sum(batch);
}

StartingPoint GaussianMean::start(const Design& design) { return start_at(design, mean_response(design)); }

// ---- gaussian: a = log sigma, f = -a - (y - eta)^2 e^(-2a) / 2 - log sqrt(2 pi)

void Gaussian::check(const Design& design) { check_varies(design, name); }

void Gaussian::terms(const Batch& batch, std::span<double> out) const noexcept {
  const double inverse = std::exp(-batch.aux);
  for (std::size_t k = 0; k < out.size(); ++k) {
    const double z = (batch.y[k] - batch.eta[k]) * inverse;
    out[k] = -0.5 * z * z - batch.aux - log_root_two_pi;
  }
}

double Gaussian::sum(const Batch& batch) const noexcept {
  const double inverse = std::exp(-batch.aux);
  double squares = 0;
  for (std::size_t k = 0; k < batch.eta.size(); ++k) {
    const double z = (batch.y[k] - batch.eta[k]) * inverse;
    squares += z * z;
  }
  return -0.5 * squares - static_cast<double>(batch.eta.size()) * batch.aux;
}

double Gaussian::derivatives(const Batch& batch, const BatchDerivatives& out) const noexcept {
  const double precision = std::exp(-2 * batch.aux);
  for (std::size_t k = 0; k < batch.eta.size(); ++k) {
    const double residual = batch.y[k] - batch.eta[k];
    const double square = residual * residual * precision;
    out.first[k] = residual * precision;
    out.second[k] = -precision;
    out.aux[k] = square - 1;
    out.aux_second[k] = -2 * square;
    out.aux_eta[k] = -2 * residual * precision;
  }
  return sum(batch);
}

StartingPoint Gaussian::start(const Design& design) {
  const double mean = mean_response(design);
  double squares = 0;
  for (std::size_t i = 0; i < design.rows; ++i) squares += (design.y(i) - mean) * (design.y(i) - mean);
  StartingPoint point = start_at(design, mean);
  point.aux = 0.5 * std::log(squares / static_cast<double>(design.rows));
  return point;
}

std::string Gaussian::degenerate(const Design& design, double aux, double /*slope*/) {
  if (!negligible_scale(design, aux)) return {};
  return fmt::format("the columns predict the response \"{}\" exactly: sigma would be 0", design.response);
}

}  // namespace mlo
