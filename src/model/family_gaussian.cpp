// Copyright (c) the mlo authors. BSD-3-Clause.
// gaussian: sigma is estimated, a = log sigma; gaussian-mean: sigma is known.
// f = -log sigma - (y - eta)^2 / (2 sigma^2) - log sqrt(2 pi).
#include <fmt/format.h>

#include <Eigen/Dense>
#include <array>
#include <cmath>
#include <numbers>

#include "mlo/model/mode.hpp"
#include "model/family_parts.hpp"

namespace mlo {
extern const FamilySpec gaussian_family, gaussian_mean_family;
namespace {

const double log_root_two_pi = 0.5 * std::log(2 * std::numbers::pi);

// With sigma known, the log-likelihood is a quadratic function of the coefficients.
SummedLikelihood sums_of_mean(const Mode& mode) {
  return [at = mode.evaluated_at, d = mode.likelihood](Params theta) {
    const Eigen::VectorXd delta = vector(theta) - at;
    return d.value + d.gradient.dot(delta) - 0.5 * delta.dot(d.information * delta);
  };
}

// -n a - e^(-2a) (the residuals' sum of squares) / 2; the sum of squares is quadratic in the coefficients.
class Sums {
 public:
  Sums(const Mode& mode, double rows) : rows_(rows) {
    const Eigen::Index p = mode.evaluated_at.size() - 1;
    log_sigma_ = mode.evaluated_at[p];
    const double variance = std::exp(2 * log_sigma_);
    at_ = mode.evaluated_at.head(p);
    value_ = mode.likelihood.value;
    residual_products_ = variance * mode.likelihood.gradient.head(p);
    products_ = variance * mode.likelihood.information.topLeftCorner(p, p);
    residual_squares_ = variance * (mode.likelihood.gradient[p] + rows_);
  }
  double operator()(Params theta) const {
    const Eigen::VectorXd delta = vector(theta).head(at_.size()) - at_;
    const double squares =
        residual_squares_ - 2 * residual_products_.dot(delta) + delta.dot(products_ * delta);
    const double a = theta[static_cast<std::size_t>(at_.size())];
    return value_ - rows_ * (a - log_sigma_) - 0.5 * std::exp(-2 * a) * squares +
           0.5 * std::exp(-2 * log_sigma_) * residual_squares_;
  }

 private:
  double rows_, log_sigma_ = 0, value_ = 0, residual_squares_ = 0;
  Eigen::VectorXd at_, residual_products_;
  Eigen::MatrixXd products_;
};

class Gaussian final : public Family {
 public:
  explicit Gaussian(const FamilySpec& spec, std::optional<double> known_sigma = {})
      : Family(spec, known_sigma) {}

  void check(const Design& design) const override {
    if (estimates_second()) check_varies(design, spec().name);
  }

  void terms(const Batch& batch, std::span<double> out) const noexcept override {
    const double constant = log_second(batch) + log_root_two_pi;
    if (estimates_second()) {
      each_residual(batch, [&](std::size_t k, double z) {
        out[k] = -0.5 * z * z - batch.log_second - log_root_two_pi;
      });
    } else {
      each_residual(batch, [&](std::size_t k, double z) { out[k] = -0.5 * z * z - constant; });
    }
  }

  [[nodiscard]] double sum(const Batch& batch) const noexcept override {
    double squares = 0;
    each_residual(batch, [&](std::size_t, double z) { squares += z * z; });
    const double constant = estimates_second() ? static_cast<double>(batch.eta.size()) * batch.log_second : 0;
    return -0.5 * squares - constant;
  }

  double derivatives(const Batch& batch, const BatchDerivatives& out) const noexcept override {
    const double precision =
        estimates_second() ? std::exp(-2 * batch.log_second) : 1 / (known_second() * known_second());
    for (std::size_t k = 0; k < batch.eta.size(); ++k) {
      const double residual = batch.y[k] - batch.eta[k];
      out.first[k] = residual * precision;
      out.second[k] = -precision;
      if (!estimates_second()) continue;
      const double square = residual * residual * precision;
      out.aux[k] = square - 1;
      out.aux_second[k] = -2 * square;
      out.aux_eta[k] = -2 * residual * precision;
    }
    return sum(batch);
  }

  [[nodiscard]] StartingPoint start(const Design& design) const override {
    const double mean = mean_response(design);
    StartingPoint point = start_at(design, mean);
    if (!estimates_second()) return point;
    double squares = 0;
    for (std::size_t i = 0; i < design.rows; ++i) squares += (design.y(i) - mean) * (design.y(i) - mean);
    point.log_second = 0.5 * std::log(squares / static_cast<double>(design.rows));
    return point;
  }

  [[nodiscard]] std::string degenerate(const Design& design, double log_sigma,
                                       double /*slope*/) const override {
    if (!negligible_scale(design, log_sigma)) return {};
    return fmt::format("the columns predict the response \"{}\" exactly: sigma would be 0", design.response);
  }

  [[nodiscard]] SummedLikelihood summed(const Mode& mode, double rows) const override {
    if (estimates_second()) return Sums(mode, rows);
    return sums_of_mean(mode);
  }

 private:
  // Calls visit(k, (y - eta) / sigma). Divides by a known sigma, because its inverse may overflow.
  template <class Visit>
  void each_residual(const Batch& batch, const Visit& visit) const noexcept {
    if (estimates_second()) {
      const double inverse = inverse_second(batch);
      for (std::size_t k = 0; k < batch.eta.size(); ++k) visit(k, (batch.y[k] - batch.eta[k]) * inverse);
    } else {
      const double sigma = known_second();
      for (std::size_t k = 0; k < batch.eta.size(); ++k) visit(k, (batch.y[k] - batch.eta[k]) / sigma);
    }
  }
};

constexpr std::array<FamilyNumber, 1> mean_numbers{
    {{.name = "known-sigma", .help = "the known sigma", .usual = 1}}};
constexpr std::array<FamilyNumber, 1> simulation_numbers{
    {{.name = "sigma", .help = "standard deviation of the responses", .usual = 1}}};

std::function<double(Stream&, double)> simulated(const FamilyNumbers& numbers) {
  return
      [sigma = number(numbers, "sigma")](Stream& stream, double eta) { return eta + sigma * normal(stream); };
}

Prior usual_sigma(const ResponseScale& y) { return Prior::gamma(1, 1 / y.sd); }

}  // namespace

const FamilySpec gaussian_family{
    .name = "gaussian",
    .response = "any number",
    .parameters = "coefficients and sigma",
    .second = SecondParameter{.name = "sigma",
                              .known_by = {},
                              .usual_prior = usual_sigma,
                              .scale = true,
                              .factor = SecondFactor{.power = -2,
                                                     .alone = [](double log_sigma) -> SecondFactor::Alone {
                                                       return {-log_sigma, -1};
                                                     }}},
    .sums = true,
    .response_scale = plain_scale,
    .make = [](const FamilyNumbers&) -> std::unique_ptr<Family> {
      return std::make_unique<Gaussian>(gaussian_family);
    },
    .simulation = {.numbers = simulation_numbers, .response = simulated},
    .deviance = [](double y, double mean, double) { return (y - mean) * (y - mean); },
    .residual_variance = [](double sigma) { return sigma * sigma; }};

const FamilySpec gaussian_mean_family{
    .name = "gaussian-mean",
    .response = "any number; sigma is known (`known-sigma`)",
    .parameters = "mu, or coefficients if there are columns",
    .numbers = mean_numbers,
    .second = SecondParameter{.name = "sigma", .known_by = "known-sigma", .usual_prior = usual_sigma},
    .sums = true,
    .only_mean = "mu",
    .response_scale = plain_scale,
    .make = [](const FamilyNumbers& numbers) -> std::unique_ptr<Family> {
      return std::make_unique<Gaussian>(gaussian_mean_family, number(numbers, "known-sigma"));
    },
    .simulation = {.numbers = simulation_numbers, .columns = false, .parameter = "mu", .response = simulated},
    .deviance = [](double y, double mean, double) { return (y - mean) * (y - mean); }};

}  // namespace mlo
