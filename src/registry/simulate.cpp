// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/registry/simulate.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "mlo/base/errors.hpp"
#include "mlo/base/random.hpp"
#include "mlo/registry/options.hpp"

namespace mlo {
namespace {

enum class Law { gaussian, mean, precision, student, logistic, probit, poisson, negative_binomial };

Law law_of(const std::string& family) {
  if (family == "gaussian") return Law::gaussian;
  if (family == "gaussian-mean") return Law::mean;
  if (family == "gaussian-precision") return Law::precision;
  if (family == "student") return Law::student;
  if (family == "logistic") return Law::logistic;
  if (family == "probit") return Law::probit;
  if (family == "poisson") return Law::poisson;
  if (family == "negative-binomial") return Law::negative_binomial;
  throw UsageError(fmt::format("the family must be one of {} (got \"{}\")", family_names(), family));
}

void positive(std::string_view option, double value) {
  if (!(value > 0 && std::isfinite(value)))
    throw UsageError(
        fmt::format("{} must be positive{} (got {})", option, std::isinf(value) ? " and finite" : "", value));
}

class Simulator {
 public:
  explicit Simulator(const SimulateOptions& options) : o_(options), law_(law_of(options.family)) {
    for (const double b : o_.coefficients)
      if (!std::isfinite(b))
        throw UsageError(fmt::format("--coefficients must be finite numbers (got {})", b));
    if (!std::isfinite(o_.intercept))
      throw UsageError(fmt::format("--intercept must be a finite number (got {})", o_.intercept));
    if (o_.rows < 1) throw UsageError(fmt::format("--rows must be at least 1 (got {})", o_.rows));
    if (o_.coefficients.empty()) throw UsageError("--coefficients needs at least one number");
    if (!(std::abs(o_.correlation) < 1))
      throw UsageError(
          fmt::format("--correlation must be between -1 and 1, exclusive (got {})", o_.correlation));
    positive("--sigma", o_.sigma);
    positive("--freedom", o_.freedom);
    positive("--size", o_.size);
    if (!has_columns() && o_.coefficients.size() != 1)
      throw UsageError(
          fmt::format("--coefficients: {} has one parameter (got {})", o_.family, o_.coefficients.size()));
    if (law_ == Law::precision && !(o_.coefficients[0] > 0))
      throw UsageError(fmt::format("--coefficients: tau must be positive (got {})", o_.coefficients[0]));
    names_.emplace_back("y");
    for (std::size_t j = 0; has_columns() && j < o_.coefficients.size(); ++j)
      names_.push_back(fmt::format("x{}", j + 1));
  }

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

  // out: y, x1, ..., xp
  void row(std::size_t i, std::vector<double>& out) const {
    Stream stream({.seed = o_.seed, .chain = 0, .purpose = Purpose::simulate, .iteration = i});
    out.resize(names_.size());
    double eta = o_.intercept;
    const double fresh = std::sqrt(1 - o_.correlation * o_.correlation);
    for (std::size_t j = 1; j < out.size(); ++j) {
      const double z = normal(stream);
      out[j] = j == 1 ? z : o_.correlation * out[j - 1] + fresh * z;
      eta += o_.coefficients[j - 1] * out[j];
    }
    out[0] = response(stream, eta);
  }

 private:
  [[nodiscard]] bool has_columns() const { return law_ != Law::mean && law_ != Law::precision; }

  [[nodiscard]] double response(Stream& stream, double eta) const {
    switch (law_) {
      case Law::gaussian:
        return eta + o_.sigma * normal(stream);
      case Law::mean:
        return o_.coefficients[0] + o_.sigma * normal(stream);
      case Law::precision:
        return normal(stream) / std::sqrt(o_.coefficients[0]);
      case Law::student: {
        const double z = normal(stream);
        // A chi-square variate is 2 gamma(freedom / 2).
        const double y = eta + o_.sigma * z / std::sqrt(gamma(stream, 0.5 * o_.freedom) / (0.5 * o_.freedom));
        if (!std::isfinite(y))
          throw UsageError(fmt::format(
              "--freedom {} gives a row a response that is too large for double precision", o_.freedom));
        return y;
      }
      case Law::logistic:
        return uniform(stream) < 1 / (1 + std::exp(-eta)) ? 1 : 0;
      case Law::probit:
        return normal(stream) < eta ? 1 : 0;
      case Law::poisson:
        return count(stream, eta);
      case Law::negative_binomial:  // a Poisson rate that is itself gamma, with mean e^eta
        return count(stream, eta + std::log(gamma(stream, o_.size) / o_.size));
    }
    return 0;
  }

  [[nodiscard]] double count(Stream& stream, double log_rate) const {
    if (!(log_rate < 34))  // e^34 = 6e14: larger counts are not whole numbers in double precision
      throw UsageError(
          fmt::format("--intercept {} and --coefficients give a row the rate e^{:.4g}, too large for a count",
                      o_.intercept, log_rate));
    return static_cast<double>(poisson(stream, std::exp(log_rate)));
  }

  SimulateOptions o_;
  Law law_;
  std::vector<std::string> names_;
};

}  // namespace

Table simulate(const SimulateOptions& options) {
  const Simulator simulator(options);
  Table table;
  table.file = "simulated data";
  table.rows = static_cast<std::size_t>(options.rows);
  for (const std::string& name : simulator.names()) {
    table.columns.push_back({name, std::vector<double>(table.rows)});
  }
  std::vector<double> row;
  for (std::size_t i = 0; i < table.rows; ++i) {
    simulator.row(i, row);
    for (std::size_t j = 0; j < row.size(); ++j) table.columns[j].values[i] = row[j];
  }
  return table;
}

void simulate_csv(const SimulateOptions& options, const std::function<void(std::string_view)>& write) {
  const Simulator simulator(options);
  std::string text = fmt::format("{}\n", fmt::join(simulator.names(), ","));
  std::vector<double> row;
  constexpr std::size_t piece = 1 << 20;
  for (std::size_t i = 0; i < static_cast<std::size_t>(options.rows); ++i) {
    simulator.row(i, row);
    for (std::size_t j = 0; j < row.size(); ++j)
      fmt::format_to(std::back_inserter(text), "{}{}", j == 0 ? "" : ",", row[j]);
    text += '\n';
    if (text.size() > piece) {
      write(text);
      text.clear();
    }
  }
  write(text);
}

}  // namespace mlo
