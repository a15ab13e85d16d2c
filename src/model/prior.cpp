// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/model/prior.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/math/special_functions/beta.hpp>
#include <charconv>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "mlo/base/errors.hpp"
#include "mlo/base/special.hpp"

namespace mlo {
namespace {

// log Gamma(x + 1/2) - log Gamma(x). For large x the two are nearly the same: their difference by its series,
// whose next term is below 1e-16 (Abramowitz and Stegun, 6.1.47).
double log_gamma_step(double x) {
  if (x < 1e4) return log_gamma(x + 0.5) - log_gamma(x);
  return 0.5 * std::log(x) - 1 / (8 * x) + 1 / (192 * x * x * x);
}

double log_constant(Prior::Kind kind, double a, double b, double freedom) {
  switch (kind) {
    case Prior::Kind::flat:
      return 0;
    case Prior::Kind::normal:
      return -std::log(b) - 0.5 * std::log(2 * std::numbers::pi);
    case Prior::Kind::cauchy:
      return -std::log(std::numbers::pi * b);
    case Prior::Kind::student_t:
      return log_gamma_step(0.5 * freedom) - 0.5 * std::log(freedom * std::numbers::pi) - std::log(b);
    case Prior::Kind::laplace:
      return -std::log(2 * b);
    case Prior::Kind::gamma:
      return a * std::log(b) - log_gamma(a);
    case Prior::Kind::beta:
      return log_gamma(a + b) - log_gamma(a) - log_gamma(b);
  }
  return 0;
}

struct Spelling {
  std::string_view name;
  std::size_t numbers;
  std::string_view usage;
};
constexpr std::array<Spelling, 8> spellings{{{"flat", 0, "flat"},
                                             {"normal", 2, "normal(location, scale)"},
                                             {"student_t", 3, "student_t(degrees, location, scale)"},
                                             {"cauchy", 2, "cauchy(location, scale)"},
                                             {"laplace", 2, "laplace(location, scale)"},
                                             {"gamma", 2, "gamma(shape, rate)"},
                                             {"beta", 2, "beta(a, b)"},
                                             {"exponential", 1, "exponential(rate)"}}};

// Without the blanks around it. Those inside are left: "normal(1 2, 3)" is not normal(12, 3).
std::string_view strip(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  text.remove_suffix(text.size() - (text.find_last_not_of(blanks) + 1));
  return text;
}

// Beyond these, densities and their derivatives leave the range of a double.
constexpr double least_size = 1e-50, most_size = 1e50;

std::vector<double> numbers_in(std::string_view list, std::string_view text, std::string_view option) {
  std::vector<double> numbers;
  if (strip(list).empty()) return numbers;
  for (std::size_t from = 0; from <= list.size();) {
    const std::size_t comma = std::min(list.find(',', from), list.size());
    const std::string_view cell = strip(list.substr(from, comma - from));
    double value = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error != std::errc() || end != cell.data() + cell.size() || !std::isfinite(value))
      throw UsageError(fmt::format("{} \"{}\": \"{}\" is not a number", option, text, cell));
    if (value != 0 && !(std::fabs(value) >= least_size && std::fabs(value) <= most_size))
      throw UsageError(fmt::format("{} \"{}\": numbers must be between {} and {} in size, or 0 (got {})",
                                   option, text, least_size, most_size, cell));
    numbers.push_back(value);
    from = comma + 1;
  }
  return numbers;
}

}  // namespace

Prior::Prior(Kind kind, double a, double b, double freedom)
    : kind_(kind), a_(a), b_(b), freedom_(freedom), constant_(log_constant(kind, a, b, freedom)) {}

Prior Prior::normal(double location, double scale) { return {Kind::normal, location, scale, 0}; }
Prior Prior::student_t(double freedom, double location, double scale) {
  return {Kind::student_t, location, scale, freedom};
}
Prior Prior::cauchy(double location, double scale) { return {Kind::cauchy, location, scale, 1}; }
Prior Prior::laplace(double location, double scale) { return {Kind::laplace, location, scale, 0}; }
Prior Prior::gamma(double shape, double rate) { return {Kind::gamma, shape, rate, 0}; }
Prior Prior::beta(double a, double b) { return {Kind::beta, a, b, 0}; }

Prior Prior::parse(std::string_view text, std::string_view option) {
  const std::string_view bare = strip(text);
  const std::size_t open = std::min(bare.find('('), bare.size());
  const std::string_view name = strip(bare.substr(0, open));
  const auto* spelling =
      std::find_if(spellings.begin(), spellings.end(), [&](const Spelling& s) { return s.name == name; });
  if (name == "lkj")
    throw UsageError(
        fmt::format("{} \"{}\": lkj is for correlations of group effects, all of them: `prior-cor {}`",
                    option, text, text));
  if (spelling == spellings.end()) {
    std::string known;
    for (const Spelling& s : spellings) known += fmt::format("{}{}", known.empty() ? "" : ", ", s.usage);
    throw UsageError(fmt::format("{} \"{}\": unknown prior; known are {}", option, text, known));
  }
  std::vector<double> v;
  if (open < bare.size()) {
    if (bare.back() != ')')
      throw UsageError(fmt::format("{} \"{}\": missing ')'; write {}", option, text, spelling->usage));
    v = numbers_in(bare.substr(open + 1, bare.size() - open - 2), text, option);
  }
  if (v.size() != spelling->numbers)
    throw UsageError(fmt::format("{} \"{}\": {} needs {} numbers (got {}); write {}", option, text, name,
                                 spelling->numbers, v.size(), spelling->usage));
  const auto positive = [&](double value, std::string_view what) {
    if (!(value > 0))
      throw UsageError(fmt::format("{} \"{}\": the {} must be positive (got {})", option, text, what, value));
  };
  if (name == "flat") return flat();
  if (name == "normal" || name == "cauchy" || name == "laplace") {
    positive(v[1], "scale");
    if (name == "normal") return normal(v[0], v[1]);
    return name == "cauchy" ? cauchy(v[0], v[1]) : laplace(v[0], v[1]);
  }
  if (name == "student_t") {
    positive(v[0], "degrees of freedom");
    positive(v[2], "scale");
    return student_t(v[0], v[1], v[2]);
  }
  if (name == "gamma") {
    positive(v[0], "shape");
    positive(v[1], "rate");
    return gamma(v[0], v[1]);
  }
  if (name == "beta") {
    positive(v[0], "first number");
    positive(v[1], "second number");
    return beta(v[0], v[1]);
  }
  positive(v[0], "rate");
  return gamma(1, v[0]);
}

std::string Prior::text() const {
  switch (kind_) {
    case Kind::flat:
      return "flat";
    case Kind::normal:
      return fmt::format("normal({:.6g}, {:.6g})", a_, b_);
    case Kind::student_t:
      return fmt::format("student_t({:.6g}, {:.6g}, {:.6g})", freedom_, a_, b_);
    case Kind::cauchy:
      return fmt::format("cauchy({:.6g}, {:.6g})", a_, b_);
    case Kind::laplace:
      return fmt::format("laplace({:.6g}, {:.6g})", a_, b_);
    case Kind::gamma:
      return a_ == 1 ? fmt::format("exponential({:.6g})", b_) : fmt::format("gamma({:.6g}, {:.6g})", a_, b_);
    case Kind::beta:
      return fmt::format("beta({:.6g}, {:.6g})", a_, b_);
  }
  return {};
}

double Prior::share_above_zero() const {
  if (kind_ == Kind::gamma || kind_ == Kind::beta || kind_ == Kind::flat) return 1;
  const double z = std::abs(a_ / b_);
  double tail = 0.5;  // beyond z scales from the centre, on one side
  if (kind_ == Kind::normal) tail = 0.5 * std::erfc(z / std::numbers::sqrt2);
  if (kind_ == Kind::laplace) tail = 0.5 * std::exp(-z);
  if (kind_ == Kind::student_t || kind_ == Kind::cauchy)
    tail = 0.5 * boost::math::ibeta(0.5 * freedom_, 0.5, freedom_ / (freedom_ + z * z));
  return a_ >= 0 ? 1 - tail : tail;
}

double Prior::log_density(double x) const noexcept {
  const double z = (x - a_) / b_;
  switch (kind_) {
    case Kind::flat:
      return 0;
    case Kind::normal:
      return constant_ - 0.5 * z * z;
    case Kind::cauchy:
      return constant_ - std::log1p(z * z);
    case Kind::student_t:
      return constant_ - 0.5 * (freedom_ + 1) * std::log1p(z * z / freedom_);
    case Kind::laplace:
      return constant_ - std::abs(z);
    case Kind::gamma:
      return x > 0 ? constant_ + (a_ - 1) * std::log(x) - b_ * x : -std::numeric_limits<double>::infinity();
    case Kind::beta:
      return x > 0 && x < 1 ? constant_ + (a_ - 1) * std::log(x) + (b_ - 1) * std::log1p(-x)
                            : -std::numeric_limits<double>::infinity();
  }
  return 0;
}

Prior::Smooth Prior::smooth(double x) const noexcept {
  const double z = (x - a_) / b_;
  switch (kind_) {
    case Kind::flat:
      return {0, 0, 0};
    case Kind::normal:
      return {log_density(x), -z / b_, 1 / (b_ * b_)};
    case Kind::cauchy:
    case Kind::student_t: {
      const double nu = kind_ == Kind::cauchy ? 1 : freedom_;
      const double s = nu + z * z;
      const double curvature = (nu + 1) * (nu - z * z) / (s * s * b_ * b_);
      return {log_density(x), -(nu + 1) * z / (s * b_), std::max(curvature, 0.0)};
    }
    case Kind::laplace: {
      const double root = std::sqrt(z * z + 1);
      return {constant_ - root, -z / (root * b_), 1 / (root * root * root * b_ * b_)};
    }
    case Kind::gamma:
      return {log_density(x), (a_ - 1) / x - b_, std::max((a_ - 1) / (x * x), 0.0)};
    case Kind::beta: {
      const double rest = 1 - x;
      return {log_density(x), (a_ - 1) / x - (b_ - 1) / rest,
              std::max((a_ - 1) / (x * x) + (b_ - 1) / (rest * rest), 0.0)};
    }
  }
  return {0, 0, 0};
}

}  // namespace mlo
