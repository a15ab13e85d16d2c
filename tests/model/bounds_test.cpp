// Copyright (c) the mlo authors. BSD-3-Clause.
// What `exact` asks of a family, for all families in one place: the remainders of the row terms against the
// laws' definitions in 100 digits, and their bounds against remainders and derivatives. Rows and boxes are
// drawn at random, far beyond what data need; within a box, points are on a grid that has its corners.
// Derivatives are finite differences. A family is one line of cases().
//
// cmake --build build/release --target bounds looks a hundred times as long.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/log1p.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "mlo/base/random.hpp"
#include "mlo/data/outcome.hpp"
#include "mlo/model/curve.hpp"
#include "mlo/model/family.hpp"
#include "mlo/model/surface.hpp"

namespace mlo {
namespace {

using Wide = boost::multiprecision::cpp_bin_float_100;

// The log density of y given eta and s, the log (or logit) of the second parameter, up to a function of y.
using Law = Wide (*)(double y, const Wide& eta, const Wide& s);

Wide softplus(const Wide& x) {
  const Wide less = exp(-abs(x));
  return (x > 0 ? x : Wide(0)) + boost::math::log1p(less);
}
Wide log_phi(const Wide& z) {
  const Wide tail = boost::math::erfc(Wide(abs(z) / sqrt(Wide(2)))) / 2;
  return z > 0 ? boost::math::log1p(Wide(-tail)) : log(tail);
}

Wide logistic_law(double y, const Wide& eta, const Wide&) { return y * eta - softplus(eta); }
Wide probit_law(double y, const Wide& eta, const Wide&) { return y == 1 ? log_phi(eta) : log_phi(-eta); }
Wide poisson_law(double y, const Wide& eta, const Wide&) { return y * eta - exp(eta); }
template <int freedom>
Wide student_law(double y, const Wide& eta, const Wide& s) {
  const Wide z = (y - eta) * exp(-s);
  return -Wide(freedom + 1) / 2 * boost::math::log1p(Wide(z * z / freedom)) - s;
}
Wide negative_binomial_law(double y, const Wide& eta, const Wide& s) {
  const Wide k = exp(s);
  Wide rising = 1;  // k (k + 1) ... (k + y - 1)
  for (int m = 0; m < static_cast<int>(y); ++m) rising *= k + m;
  return log(rising) + y * eta + k * s - (y + k) * (s + softplus(eta - s));
}
// Without the part that depends on the shape alone, which is no part of a row's surface: RowSurface::common.
Wide gamma_law(double y, const Wide& eta, const Wide& s) {
  const Wide w = log(Wide(y)) - eta;
  return -exp(s) * (exp(w) - 1 - w);
}

// Without the part that all rows have in common.
Wide zero_inflated_poisson_law(double y, const Wide& eta, const Wide& s) {
  const Wide mu = exp(eta);
  return y > 0 ? y * eta - mu : softplus(-(s + mu));
}
Wide beta_binomial_law(double y, const Wide& eta, const Wide& s) {
  const Outcome at = Outcome::of(y);
  const Wide phi = exp(s), alpha = phi / (1 + exp(-eta)), beta = phi / (1 + exp(eta));
  const auto rising = [](const Wide& x, double m) {
    Wide out = 1;
    for (int j = 0; j < static_cast<int>(m); ++j) out *= x + j;
    return out;
  };
  return log(rising(alpha, at.successes) * rising(beta, at.trials - at.successes) / rising(phi, at.trials));
}

struct BoundCase {
  std::string name, family;
  FamilyNumbers numbers;
  Law law;
  double second;  // known, or e^s at the centre of the expansion
  double (*eta)(Stream&);
  double (*y)(Stream&, double eta);
};
void PrintTo(const BoundCase& c, std::ostream* out) { *out << c.name; }

double any_sign(Stream& s, double size) { return uniform(s) < 0.5 ? size : -size; }
// 0.0025 to 400, of both signs.
double any_distance(Stream& s) { return any_sign(s, std::exp(12 * uniform(s) - 6)); }
double small(Stream& s) { return 16 * uniform(s) - 11; }
double wide(Stream& s) { return 80 * uniform(s) - 40; }
double moderate(Stream& s) { return 14 * uniform(s) - 7; }
double binary(Stream& s, double) { return uniform(s) < 0.5 ? 1 : 0; }
double share(Stream& s, double) { return uniform(s); }
double count(Stream& s, double) { return std::floor(std::exp(3.5 * uniform(s)) - 1); }
double any_response(Stream& s, double eta) { return eta + any_distance(s); }
double amount(Stream& s, double eta) { return std::exp(eta + 8 * uniform(s) - 6); }

double zero_or_count(Stream& s, double) { return uniform(s) < 0.7 ? 0 : count(s, 0) + 1; }
double outcome(Stream& s, double) {
  const double n = std::floor(std::exp(4 * uniform(s))), at = 1.6 * uniform(s) - 0.3;
  return Outcome{std::clamp(std::round(at * n), 0.0, n), n}.packed();
}

const std::vector<BoundCase>& cases() {
  static const std::vector<BoundCase> all{
      {"logistic", "logistic", {}, logistic_law, 1, wide, binary},
      {"shares", "logistic", {}, logistic_law, 1, moderate, share},
      {"probit", "probit", {}, probit_law, 1, moderate, binary},
      {"probit_far", "probit", {}, probit_law, 1, wide, binary},
      {"poisson", "poisson", {}, poisson_law, 1, small, count},
      {"student_known", "student", {{"known-sigma", 1.3}}, student_law<4>, 1.3, small, any_response},
      {"cauchy_known",
       "student",
       {{"known-sigma", 0.2}, {"freedom", 1}},
       student_law<1>,
       0.2,
       small,
       any_response},
      {"negative_binomial_known",
       "negative-binomial",
       {{"size", 2.5}},
       negative_binomial_law,
       2.5,
       small,
       count},
      {"gamma_known", "gamma", {{"shape", 0.6}}, gamma_law, 0.6, small, amount},
      {"student", "student", {}, student_law<4>, 1, small, any_response},
      {"student_small_sigma", "student", {}, student_law<4>, 0.01, small, any_response},
      {"cauchy", "student", {{"freedom", 1}}, student_law<1>, 2, small, any_response},
      {"nearly_normal", "student", {{"freedom", 30}}, student_law<30>, 2, small, any_response},
      {"negative_binomial", "negative-binomial", {}, negative_binomial_law, 2, small, count},
      {"small_size", "negative-binomial", {}, negative_binomial_law, 0.05, small, count},
      {"large_size", "negative-binomial", {}, negative_binomial_law, 200, small, count},
      {"gamma", "gamma", {}, gamma_law, 0.67, small, amount},
      {"tiny_shape", "gamma", {}, gamma_law, 0.01, small, amount},
      {"large_shape", "gamma", {}, gamma_law, 400, small, amount},
      {"zero_inflated_poisson",
       "zero-inflated-poisson",
       {},
       zero_inflated_poisson_law,
       0.4,
       small,
       zero_or_count},
      {"few_more_zeros", "zero-inflated-poisson", {}, zero_inflated_poisson_law, 1e-4, small, zero_or_count},
      {"nearly_all_zeros", "zero-inflated-poisson", {}, zero_inflated_poisson_law, 60, small, zero_or_count},
      {"beta_binomial", "beta-binomial", {}, beta_binomial_law, 4, moderate, outcome},
      {"small_phi", "beta-binomial", {}, beta_binomial_law, 0.05, moderate, outcome},
      {"large_phi", "beta-binomial", {}, beta_binomial_law, 500, moderate, outcome}};
  return all;
}

double factorial(int k) { return k <= 1 ? 1 : k * factorial(k - 1); }

// A family's rows at one value of the second parameter, whether they are curves or surfaces. Of curves, the
// second parameter does not move: u = 0, and JointOrder::mixed does not occur.
class Rows {
 public:
  explicit Rows(const BoundCase& c) {
    const auto family = make_family(c.family, c.numbers);
    if (family->estimates_second()) {
      surface_ = family->surface(std::log(c.second), 200);
    } else {
      curve_ = family->curve();
    }
  }
  [[nodiscard]] bool exist() const { return surface_ || curve_; }
  [[nodiscard]] bool move_second() const { return surface_ != nullptr; }
  [[nodiscard]] std::vector<JointOrder> orders() const {
    if (surface_) return {JointOrder::two, JointOrder::mixed, JointOrder::three};
    return {JointOrder::two, JointOrder::three};
  }
  [[nodiscard]] std::vector<Monomial> terms(JointOrder order) const {
    if (curve_) return {{order == JointOrder::two ? 3 : 4, 0}};
    const auto all = monomials(order);
    return {all.begin(), all.end()};
  }

  // Bounds on the derivatives of the order's monomials by eta and s over |t| <= reach, |u| <= width.
  [[nodiscard]] std::vector<double> suprema(JointOrder order, double eta, double y, double reach,
                                            double width) const {
    const std::vector<Monomial> all = terms(order);
    std::vector<double> out(all.size());
    if (curve_) {
      RowShape row{};
      curve_->shapes({&eta, 1}, {&y, 1}, {&row, 1});
      const double radius = std::abs(row.direction) * reach;
      curve_->suprema(all[0].j, {&row.e, 1}, {&radius, 1}, out);
      out[0] *= std::abs(row.scale) * std::pow(std::abs(row.direction), all[0].j);
      return out;
    }
    SurfaceShape row{};
    surface_->shapes({&eta, 1}, {&y, 1}, {&row, 1});
    const double radius = std::abs(row.direction) * reach;
    surface_->suprema(order, {{&row.a, 1}, {&row.b, 1}}, {&radius, 1}, width, out);
    for (std::size_t m = 0; m < all.size(); ++m)
      out[m] *= row.scale * std::pow(std::abs(row.direction), all[m].j);
    return out;
  }

  [[nodiscard]] double remainder(JointOrder order, double eta, double y, double t, double u) const {
    const double none = 0;
    double out = 0;
    if (curve_) {
      RowShape row{};
      curve_->shapes({&eta, 1}, {&y, 1}, {&row, 1});
      const double step = row.direction * t;
      curve_->changes(order == JointOrder::two ? 2 : 3, {&row.e, 1}, {&none, 1}, {&step, 1}, {&out, 1});
      return row.scale * out;
    }
    SurfaceShape row{};
    surface_->shapes({&eta, 1}, {&y, 1}, {&row, 1});
    const double step = row.direction * t;
    surface_->changes(order, {{&row.a, 1}, {&row.b, 1}}, {{&none, 1}, {&step, 1}, 0, u}, {&out, 1});
    return row.scale * out;
  }

  // Third derivatives by eta and s, the one by s alone last. Of curves, the first is the only one.
  [[nodiscard]] std::vector<double> thirds(double eta, double y) const {
    if (curve_) {
      RowShape row{};
      curve_->shapes({&eta, 1}, {&y, 1}, {&row, 1});
      double out = 0;
      curve_->third({&row.e, 1}, {&out, 1});
      return {row.scale * std::pow(row.direction, 3) * out};
    }
    SurfaceShape row{};
    surface_->shapes({&eta, 1}, {&y, 1}, {&row, 1});
    std::vector<double> out(4);
    surface_->thirds({{&row.a, 1}, {&row.b, 1}}, {{&out[0], 1}, {&out[1], 1}, {&out[2], 1}, {&out[3], 1}});
    for (int k = 0; k <= 3; ++k)
      out[static_cast<std::size_t>(k)] *= row.scale * std::pow(row.direction, 3 - k);
    return out;
  }

 private:
  std::shared_ptr<const RowCurve> curve_;
  std::shared_ptr<const RowSurface> surface_;
};

// A row by the definition of its law.
struct TrueRow {
  Law law;
  double eta, y;
  Wide s;

  [[nodiscard]] Wide at(const Wide& t, const Wide& u) const { return law(y, eta + t, s + u); }

  // d^j/dt^j d^k/du^k at (t, u) by central differences: relative errors of about 1e-40 where the term changes
  // on a scale of 1.
  [[nodiscard]] Wide derivative(int j, int k, const Wide& t, const Wide& u) const {
    const Wide h = Wide(1e-20);
    const auto binomial = [](int n, int i) {
      return std::round(factorial(n) / (factorial(i) * factorial(n - i)));
    };
    Wide sum = 0;
    for (int p = 0; p <= j; ++p)
      for (int q = 0; q <= k; ++q)
        sum += ((p + q) % 2 == 0 ? 1 : -1) * binomial(j, p) * binomial(k, q) *
               at(t + h * (j - 2 * p) / 2, u + h * (k - 2 * q) / 2);
    return sum / pow(h, j + k);
  }
};

// The law without its Taylor polynomial, whose coefficients serve many points.
class TrueRemainder {
 public:
  TrueRemainder(const TrueRow& row, bool second) : row_(row), second_(second) {
    for (int j = 0; j <= 3; ++j)
      for (int k = 0; j + k <= 3 && (second || k == 0); ++k)
        coefficient(j, k) = row.derivative(j, k, 0, 0) / (factorial(j) * factorial(k));
  }
  [[nodiscard]] double operator()(JointOrder order, double t, double u) {
    Wide left = row_.at(t, u);
    for (int j = 0; j <= 3; ++j)
      for (int k = 0; j + k <= 3 && (second_ || k == 0); ++k) {
        if (j + k == 3 && (order == JointOrder::two || (order == JointOrder::mixed && j == 3))) continue;
        left -= coefficient(j, k) * pow(Wide(t), j) * pow(Wide(u), k);
      }
    return static_cast<double>(left);
  }

 private:
  Wide& coefficient(int j, int k) { return coefficients_[static_cast<std::size_t>(4 * j + k)]; }
  const TrueRow& row_;
  bool second_;
  std::array<Wide, 16> coefficients_;
};

int trials(int usual) {
  const char* times = std::getenv("MLO_BOUND_TRIALS");
  return times == nullptr ? usual : usual * std::atoi(times);
}

class Bounds : public ::testing::TestWithParam<BoundCase> {
 protected:
  struct Trial {
    double eta, y, reach, width;
  };
  // Boxes from far inside the term's scale to far beyond it.
  static Trial draw(const BoundCase& c, Stream& stream) {
    Trial out{};
    out.eta = c.eta(stream);
    out.y = c.y(stream, out.eta);
    out.reach = std::exp(12 * uniform(stream) - 8);
    out.width = std::exp(7 * uniform(stream) - 6);
    return out;
  }
  static TrueRow row(const BoundCase& c, const Trial& trial) {
    return {c.law, trial.eta, trial.y, log(Wide(c.second))};
  }
};

// As precise as the bounds' margin of 1e-5 asks for.
TEST_P(Bounds, HoldTheRemaindersWhichAreThoseOfTheLaw) {
  const BoundCase& c = GetParam();
  const Rows rows(c);
  ASSERT_TRUE(rows.exist());
  Stream stream({.seed = 7, .chain = 0, .purpose = Purpose::simulate, .iteration = 0});
  double tightest = 0;
  for (int k = 0; k < trials(12); ++k) {
    const Trial trial = draw(c, stream);
    const TrueRow truth = row(c, trial);
    TrueRemainder expected_remainder(truth, rows.move_second());
    const double inside = uniform(stream), nearer = uniform(stream);
    const std::vector<double> across =
        rows.move_second() ? std::vector<double>{-1, -nearer, 0, inside, 1} : std::vector<double>{0};
    for (const JointOrder order : rows.orders()) {
      const std::vector<Monomial> terms = rows.terms(order);
      const auto sup = rows.suprema(order, trial.eta, trial.y, trial.reach, trial.width);
      for (const double along : {-1.0, -inside, -1e-3, nearer, 1.0})
        for (const double over : across) {
          const double t = along * trial.reach, u = over * trial.width;
          double bound = 0;
          for (std::size_t m = 0; m < terms.size(); ++m)
            bound += sup[m] * std::pow(std::abs(t), terms[m].j) * std::pow(std::abs(u), terms[m].k) /
                     (factorial(terms[m].j) * factorial(terms[m].k));
          const double found = rows.remainder(order, trial.eta, trial.y, t, u);
          const double expected = expected_remainder(order, t, u);
          const auto where = [&] {
            return ::testing::Message()
                   << "order " << static_cast<int>(order) << " eta " << trial.eta << " y " << trial.y << " t "
                   << t << " u " << u << ": " << found << " instead of " << expected << ", bound " << bound;
          };
          ASSERT_LE(std::abs(expected), bound * (1 + 1e-6)) << where();
          ASSERT_LE(std::abs(found - expected), 1e-6 * bound + 1e-7 * std::abs(expected)) << where();
          if (bound > 0) tightest = std::max(tightest, std::abs(expected) / bound);
        }
    }
  }
  EXPECT_GT(tightest, 0.5);  // bounds that are never nearly reached would be of little use
}

TEST_P(Bounds, HoldTheDerivativesOverTheBox) {
  const BoundCase& c = GetParam();
  const Rows rows(c);
  Stream stream({.seed = 8, .chain = 0, .purpose = Purpose::simulate, .iteration = 0});
  for (int k = 0; k < trials(8); ++k) {
    const Trial trial = draw(c, stream);
    const TrueRow truth = row(c, trial);
    for (const JointOrder order : rows.orders()) {
      const std::vector<Monomial> terms = rows.terms(order);
      const auto sup = rows.suprema(order, trial.eta, trial.y, trial.reach, trial.width);
      for (int point = 0; point < 4; ++point) {
        const double t = (2 * uniform(stream) - 1) * trial.reach;
        const double u = rows.move_second() ? (2 * uniform(stream) - 1) * trial.width : 0;
        for (std::size_t m = 0; m < terms.size(); ++m)
          ASSERT_LE(std::abs(static_cast<double>(truth.derivative(terms[m].j, terms[m].k, t, u))),
                    sup[m] * (1 + 1e-6) + 1e-12)
              << terms[m].j << terms[m].k << " eta " << trial.eta << " y " << trial.y << " t " << t << " u "
              << u;
      }
    }
  }
}

TEST_P(Bounds, GoWithThirdDerivativesOfTheLaw) {
  const BoundCase& c = GetParam();
  const Rows rows(c);
  Stream stream({.seed = 9, .chain = 0, .purpose = Purpose::simulate, .iteration = 0});
  for (int k = 0; k < trials(12); ++k) {
    const Trial trial = draw(c, stream);
    const TrueRow truth = row(c, trial);
    const std::vector<double> third = rows.thirds(trial.eta, trial.y);
    for (std::size_t j = 0; j < third.size(); ++j) {
      const auto expected =
          static_cast<double>(truth.derivative(3 - static_cast<int>(j), static_cast<int>(j), 0, 0));
      EXPECT_NEAR(third[j], expected, 1e-9 * std::max(1.0, std::abs(expected)))
          << j << " eta " << trial.eta << " y " << trial.y;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllFamilies, Bounds, ::testing::ValuesIn(cases()),
                         [](const auto& c) { return c.param.name; });

// A family that `exact` takes and that nobody has listed above would go unchecked.
TEST(BoundsOfFamilies, AreCheckedForAllOfThem) {
  for (const FamilySpec* family : families()) {
    const auto listed = [&](bool estimated) {
      return std::any_of(cases().begin(), cases().end(), [&](const BoundCase& c) {
        return c.family == family->name && estimates_second(*family, c.numbers) == estimated;
      });
    };
    EXPECT_TRUE(!family->curved || listed(false)) << family->name;
    EXPECT_TRUE(!family->surfaced || listed(true)) << family->name;
  }
}

}  // namespace
}  // namespace mlo
