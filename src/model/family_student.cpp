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

#include "mlo/base/errors.hpp"
#include "mlo/base/special.hpp"
#include "mlo/model/curve.hpp"
#include "mlo/model/mode.hpp"
#include "model/family_parts.hpp"
#include "model/surfaces.hpp"

namespace mlo {
extern const FamilySpec student_family;
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
  std::vector<double> row(design.dim);
  for (Eigen::Index k = 0; k < x.rows(); ++k) {
    const std::size_t i = ids[static_cast<std::size_t>(k)];
    design.working_row(i, row);
    x.row(k) = Eigen::Map<const Eigen::RowVectorXd>(row.data(), x.cols());
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
  point.log_second = std::log(std::max(scale, std::numeric_limits<double>::min()));
  return point;
}

class StudentRows final : public CurveRows<StudentCurve> {
 public:
  StudentRows(double freedom, double sigma) : CurveRows(StudentCurve(freedom)), sigma_(sigma) {}
  void shapes(std::span<const double> eta, std::span<const double> y,
              std::span<RowShape> out) const noexcept override {
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = {(y[k] - eta[k]) / sigma_, 1, -1 / sigma_, 0};
  }
  [[nodiscard]] bool unscaled() const noexcept override { return true; }

 private:
  double sigma_;
};

class Student final : public Family {
 public:
  Student(double freedom, std::optional<double> known_sigma)
      : Family(student_family, known_sigma), freedom_(freedom) {}

  [[nodiscard]] std::string words() const override {
    const std::string known = Family::words();
    return fmt::format("Student's law with {} degrees of freedom{}{}", freedom_, known.empty() ? "" : ", ",
                       known);
  }

  void check(const Design& design) const override {
    if (estimates_second()) check_varies(design, spec().name);
  }

  void terms(const Batch& batch, std::span<double> out) const noexcept override {
    student_terms(batch, freedom_, log_second(batch), out);
  }

  [[nodiscard]] double sum(const Batch& batch) const noexcept override {
    const double tails = student_sum(batch, freedom_, log_second(batch));
    return estimates_second() ? tails - static_cast<double>(batch.eta.size()) * batch.log_second : tails;
  }

  double derivatives(const Batch& batch, const BatchDerivatives& out) const noexcept override {
    const double inverse = inverse_second(batch);
    for (std::size_t k = 0; k < batch.eta.size(); ++k) {
      const double z = (batch.y[k] - batch.eta[k]) * inverse;
      const double w = 1 / (freedom_ + z * z);
      const double share = z * w * z;  // z^2 / (nu + z^2)
      out.first[k] = (freedom_ + 1) * z * w * inverse;
      out.second[k] = (freedom_ + 1) * (share - freedom_ * w) * w * inverse * inverse;
      if (!estimates_second()) continue;
      out.aux[k] = (freedom_ + 1) * share - 1;
      out.aux_second[k] = -2 * (freedom_ + 1) * freedom_ * share * w;
      out.aux_eta[k] = -2 * (freedom_ + 1) * freedom_ * z * w * w * inverse;
    }
    return sum(batch);
  }

  [[nodiscard]] StartingPoint start(const Design& design) const override {
    return robust_start(design, freedom_);
  }

  [[nodiscard]] std::string degenerate(const Design& design, double log_sigma,
                                       double /*slope*/) const override {
    if (!negligible_scale(design, log_sigma)) return {};
    return fmt::format("the columns predict too many rows of the response \"{}\" exactly: sigma would be 0",
                       design.response);
  }

  [[nodiscard]] std::shared_ptr<const RowCurve> curve() const override {
    if (estimates_second()) return nullptr;
    return std::make_shared<StudentRows>(freedom_, known_second());
  }

  [[nodiscard]] std::shared_ptr<const RowSurface> surface(double log_second,
                                                          double /*largest*/) const override {
    return estimates_second() ? student_surface(freedom_, log_second) : nullptr;
  }

 private:
  double freedom_;
};

constexpr std::array<FamilyNumber, 2> numbers{
    {{.name = "freedom", .help = "the degrees of freedom, which are not estimated", .usual = 4},
     {.name = "known-sigma", .help = "the known sigma", .usual = {}}}};
constexpr std::array<FamilyNumber, 2> simulation_numbers{
    {{.name = "sigma", .help = "scale of the responses", .usual = 1},
     {.name = "freedom", .help = "degrees of freedom", .usual = 4}}};

std::function<double(Stream&, double)> simulated(const FamilyNumbers& given) {
  return [sigma = number(given, "sigma"), freedom = number(given, "freedom")](Stream& stream, double eta) {
    const double z = normal(stream);
    // A chi-square variate is 2 gamma(freedom / 2).
    const double y = eta + sigma * z / std::sqrt(gamma(stream, 0.5 * freedom) / (0.5 * freedom));
    if (!std::isfinite(y))
      throw UsageError(
          fmt::format("`freedom {}` gives a row a response that is too large for double precision", freedom));
    return y;
  };
}

}  // namespace

const FamilySpec student_family{
    .name = "student",
    .response = "any number, outliers too; Student's law with `freedom` (4)",
    .parameters = "coefficients and sigma, unless it is known (`known-sigma`)",
    .numbers = numbers,
    .second = SecondParameter{.name = "sigma",
                              .known_by = "known-sigma",
                              .usual_prior = [](const ResponseScale& y) { return Prior::gamma(1, 1 / y.sd); },
                              .scale = true},
    .curved = true,
    .surfaced = true,
    .log_concave = false,  // a row far from its predictor says little: its term is flat there
    .response_scale = robust_scale,
    .make = [](const FamilyNumbers& given) -> std::unique_ptr<Family> {
      return std::make_unique<Student>(number(given, "freedom"), stated(given, "known-sigma"));
    },
    .simulation = {.numbers = simulation_numbers, .response = simulated}};

}  // namespace mlo
