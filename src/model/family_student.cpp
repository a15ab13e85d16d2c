// Copyright (c) the mlo authors. BSD-3-Clause.
// student: a = log sigma, z = (y - eta) e^-a, nu = freedom,
// f = log Gamma((nu + 1) / 2) - log Gamma(nu / 2) - log(nu pi) / 2 - a - (nu + 1) / 2 log(1 + z^2 / nu).
#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "mlo/base/special.hpp"
#include "mlo/model/mode.hpp"
#include "model/family_parts.hpp"

namespace mlo {
namespace {

// log(1 + z^2 / nu) of every row, to the last bits also where it is tiny: with w = 1 + u rounded, log(w) u /
// (w - 1) takes the rounding back (Kahan), and the logarithm is the SIMD one.
void log_tails(const Batch& batch, double nu, double aux, std::span<double> out) noexcept {
  const double inverse = std::exp(-aux) / std::sqrt(nu);
  std::array<double, 512> square;
  for (std::size_t first = 0; first < out.size(); first += square.size()) {
    const std::size_t count = std::min(square.size(), out.size() - first);
    for (std::size_t k = 0; k < count; ++k) {
      const double z = (batch.y[first + k] - batch.eta[first + k]) * inverse;
      square[k] = z * z;
      out[first + k] = 1 + square[k];
    }
    const std::span<double> part = out.subspan(first, count);
    std::array<double, 512> excess;
    for (std::size_t k = 0; k < count; ++k) excess[k] = part[k] - 1;
    log(part, part);
    for (std::size_t k = 0; k < count; ++k) {
      // Beyond 2^53 there is no rounding to take back, and infinity would become NaN.
      const double factor = square[k] < 0x1p53 ? square[k] / excess[k] : 1;
      part[k] = excess[k] == 0 ? square[k] : part[k] * factor;
    }
  }
}

void student_terms(const Batch& batch, double nu, double aux, std::span<double> out) noexcept {
  const double constant =
      log_gamma(0.5 * (nu + 1)) - log_gamma(0.5 * nu) - 0.5 * std::log(nu * std::numbers::pi) - aux;
  log_tails(batch, nu, aux, out);
  for (double& f : out) f = constant - 0.5 * (nu + 1) * f;
}

double student_sum(const Batch& batch, double nu, double aux) noexcept {
  std::array<double, 512> tail;
  double total = 0;
  for (std::size_t first = 0; first < batch.eta.size(); first += tail.size()) {
    const std::size_t count = std::min(tail.size(), batch.eta.size() - first);
    log_tails({batch.eta.subspan(first, count), batch.y.subspan(first, count)}, nu, aux,
              std::span(tail).first(count));
    for (std::size_t k = 0; k < count; ++k) total += tail[k];
  }
  return -0.5 * (nu + 1) * total;
}

// A robust regression: reweighted least squares with the weights of Student's law and the residuals' median
// distance as scale. The likelihood of the family has several maxima where a few rows lie far out, and from a
// point far away it curves the wrong way, so Newton's method has to begin among most of the rows. Some
// thousand of them are plenty for that.
StartingPoint robust_start(const Design& design, double nu) {
  const std::size_t count = std::min(design.rows, std::max<std::size_t>(5000, 20 * design.dim));
  const std::vector<RowId> ids = stratified_subset(design.rows, count);
  const auto p = static_cast<Eigen::Index>(design.dim);
  Eigen::MatrixXd x(static_cast<Eigen::Index>(count), p);
  Eigen::VectorXd y(x.rows());
  for (Eigen::Index k = 0; k < x.rows(); ++k) {
    const std::size_t i = ids[static_cast<std::size_t>(k)];
    x.row(k) = Eigen::Map<const Eigen::RowVectorXd>(design.row(i), p);
    y[k] = design.y(i) - (design.has_offset ? design.offset(i) : 0);
  }
  Eigen::VectorXd beta = Eigen::VectorXd::Zero(p);
  if (design.intercept) beta[0] = robust_spread({y.begin(), y.end()}).centre;
  double scale = 0;
  for (int iteration = 0; iteration < 50; ++iteration) {
    const Eigen::VectorXd residual = y - x * beta;
    const Eigen::ArrayXd distance = residual.array().abs();
    std::vector<double> mirrored(distance.begin(), distance.end());  // about 0, not about their own median
    mirrored.reserve(2 * mirrored.size());
    for (const double d : distance) mirrored.push_back(-d);
    scale = robust_spread(std::move(mirrored)).scale;
    if (!(scale > 0)) break;
    const Eigen::VectorXd weight = (nu + 1) / (nu + (distance / scale).square());
    const Eigen::MatrixXd weighted = x.transpose() * weight.asDiagonal();
    // The columns have unit size; the ridge only guards rows that leave a column out.
    const Eigen::MatrixXd moments =
        weighted * x + 1e-9 * static_cast<double>(count) * Eigen::MatrixXd::Identity(p, p);
    const Eigen::VectorXd step = moments.ldlt().solve(weighted * residual);
    if (!step.allFinite()) break;
    beta += step;
    if ((x * step).cwiseAbs().maxCoeff() < 0.01 * scale) break;
  }
  StartingPoint point;
  point.coefficients.assign(beta.begin(), beta.end());
  point.aux = std::log(std::max(scale, std::numeric_limits<double>::min()));
  return point;
}

}  // namespace

// ---- sigma known

void StudentKnownScale::check(const Design& /*design*/) {}

void StudentKnownScale::terms(const Batch& batch, std::span<double> out) const noexcept {
  student_terms(batch, freedom, std::log(sigma), out);
}

double StudentKnownScale::sum(const Batch& batch) const noexcept {
  return student_sum(batch, freedom, std::log(sigma));
}

double StudentKnownScale::derivatives(const Batch& batch, const BatchDerivatives& out) const noexcept {
  const double inverse = 1 / sigma;
  for (std::size_t k = 0; k < batch.eta.size(); ++k) {
    const double z = (batch.y[k] - batch.eta[k]) * inverse;
    const double w = 1 / (freedom + z * z);
    out.first[k] = (freedom + 1) * z * w * inverse;
    out.second[k] = (freedom + 1) * (z * w * z - freedom * w) * w * inverse * inverse;
  }
  return sum(batch);
}

StartingPoint StudentKnownScale::start(const Design& design) const { return robust_start(design, freedom); }

// ---- sigma estimated

void Student::check(const Design& design) { check_varies(design, name); }

void Student::terms(const Batch& batch, std::span<double> out) const noexcept {
  student_terms(batch, freedom, batch.aux, out);
}

double Student::sum(const Batch& batch) const noexcept {
  return student_sum(batch, freedom, batch.aux) - static_cast<double>(batch.eta.size()) * batch.aux;
}

double Student::derivatives(const Batch& batch, const BatchDerivatives& out) const noexcept {
  const double inverse = std::exp(-batch.aux);
  for (std::size_t k = 0; k < batch.eta.size(); ++k) {
    const double z = (batch.y[k] - batch.eta[k]) * inverse;
    const double w = 1 / (freedom + z * z);
    const double share = z * w * z;  // z^2 / (nu + z^2)
    out.first[k] = (freedom + 1) * z * w * inverse;
    out.second[k] = (freedom + 1) * (share - freedom * w) * w * inverse * inverse;
    out.aux[k] = (freedom + 1) * share - 1;
    out.aux_second[k] = -2 * (freedom + 1) * freedom * share * w;
    out.aux_eta[k] = -2 * (freedom + 1) * freedom * z * w * w * inverse;
  }
  return sum(batch);
}

StartingPoint Student::start(const Design& design) const { return robust_start(design, freedom); }

std::string Student::degenerate(const Design& design, double aux, double /*slope*/) {
  if (!negligible_scale(design, aux)) return {};
  return fmt::format("the columns predict too many rows of the response \"{}\" exactly: sigma would be 0",
                     design.response);
}

}  // namespace mlo
