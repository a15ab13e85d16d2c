// Copyright (c) the mlo authors. BSD-3-Clause.
// Surfaces: their remainders against f minus its Taylor polynomial in 50 digits, their bounds against the
// remainders and against derivatives, in boxes of all sizes. The formulas of f here are those of the laws'
// definitions, and derivatives are finite differences.
#include "mlo/model/surface.hpp"

#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "mlo/base/random.hpp"
#include "mlo/model/family.hpp"

namespace mlo {
namespace {

using Wide = boost::multiprecision::cpp_bin_float_50;

// The term of a row at (t, u), from its two numbers.
using Term = Wide (*)(double a, double b, const Wide& t, const Wide& u);

Wide student_term(double a, double /*b*/, const Wide& t, const Wide& u) {
  const Wide z = (a + t) * exp(-u);
  return Wide(-2.5) * log(1 + z * z / 4) - u;
}
constexpr double log_size = 0.7;
Wide negative_binomial_term(double a, double b, const Wide& t, const Wide& u) {
  const Wide s = Wide(log_size) + u, k = exp(s), eta = Wide(a) + Wide(log_size) + t;
  Wide sum = 0;
  for (int m = 0; m < static_cast<int>(b); ++m) sum += log(k + m);
  return sum + b * eta + k * s - (b + k) * log(k + exp(eta));
}
constexpr double log_shape = -0.4;
// Without the part that depends on the shape alone.
Wide gamma_term(double a, double /*b*/, const Wide& t, const Wide& u) {
  const Wide w = a - t;
  return -exp(Wide(log_shape) + u) * (exp(w) - 1 - w);
}

// d^j/dt^j d^k/du^k at (t, u) by central differences, with an error of about 1e-18 of higher derivatives.
Wide derivative(Term f, double a, double b, int j, int k, const Wide& t, const Wide& u) {
  const Wide h = Wide(1e-9);
  const auto binomial = [](int n, int i) {
    double out = 1;
    for (int q = 0; q < i; ++q) out *= static_cast<double>(n - q) / (q + 1);
    return std::round(out);
  };
  Wide sum = 0;
  for (int p = 0; p <= j; ++p)
    for (int q = 0; q <= k; ++q) {
      const Wide value = f(a, b, t + h * (j - 2 * p) / 2, u + h * (k - 2 * q) / 2);
      sum += ((p + q) % 2 == 0 ? 1 : -1) * binomial(j, p) * binomial(k, q) * value;
    }
  return sum / pow(h, j + k);
}

double factorial(int k) { return k <= 1 ? 1 : k * factorial(k - 1); }

// f(t, u) without the polynomial of the order.
double expected_remainder(Term f, JointOrder order, double a, double b, double t, double u) {
  Wide left = f(a, b, t, u);
  for (int j = 0; j <= 3; ++j)
    for (int k = 0; j + k <= 3; ++k) {
      if (j + k == 3 && (order == JointOrder::two || (order == JointOrder::mixed && j == 3))) continue;
      left -=
          derivative(f, a, b, j, k, 0, 0) * pow(Wide(t), j) * pow(Wide(u), k) / (factorial(j) * factorial(k));
    }
  return static_cast<double>(left);
}

// MLO_SURFACE_TRIALS=100 build/release/test_model --gtest_filter='Surface*' looks a hundred times as long.
int trials(int usual) {
  const char* times = std::getenv("MLO_SURFACE_TRIALS");
  return times == nullptr ? usual : usual * std::atoi(times);
}

struct Case {
  std::string name;
  const char* family;
  double log_second;
  Term term;
  // Numbers of a row.
  double (*a)(Stream&);
  double (*b)(Stream&);
};

double any_residual(Stream& s) { return (uniform(s) < 0.5 ? 1.0 : -1.0) * std::exp(12 * uniform(s) - 6); }
double any_predictor(Stream& s) { return 16 * uniform(s) - 11; }
double no_number(Stream&) { return 0; }
double any_count(Stream& s) { return std::floor(std::exp(3.5 * uniform(s)) - 1); }

std::shared_ptr<const RowSurface> surface_of(const Case& c) {
  return make_family(c.family, {})->surface(c.log_second, 200);
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"student", "student", 0, student_term, any_residual, no_number},
      {"negative-binomial", "negative-binomial", log_size, negative_binomial_term, any_predictor, any_count},
      {"gamma", "gamma", log_shape, gamma_term, [](Stream& s) { return 8 * uniform(s) - 6; }, no_number}};
  return all;
}

constexpr std::array<JointOrder, 3> orders{JointOrder::two, JointOrder::mixed, JointOrder::three};

double remainder_of(const RowSurface& surface, JointOrder order, double a, double b, double t, double u) {
  const double none = 0;
  double out = 0;
  surface.changes(order, {{&a, 1}, {&b, 1}}, {{&none, 1}, {&t, 1}, 0, u}, {&out, 1});
  return out;
}

// Remainders within the bounds, and as precise as the bounds' margin of 1e-5 asks for.
TEST(Surface, RemaindersAreThoseOfTheTermsAndWithinTheirBounds) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const auto surface = surface_of(c);
    Stream stream({.seed = 7, .chain = 0, .purpose = Purpose::simulate, .iteration = 0});
    double tightest = 0;
    for (int trial = 0; trial < trials(120); ++trial) {
      const double a = c.a(stream), b = c.b(stream);
      const double reach = std::exp(9 * uniform(stream) - 8), width = std::exp(6 * uniform(stream) - 6);
      const double t = (trial % 5 == 0 ? 1 : 2 * uniform(stream) - 1) * reach;
      const double u = (trial % 7 == 0 ? -1 : 2 * uniform(stream) - 1) * width;
      for (const JointOrder order : orders) {
        const auto terms = monomials(order);
        std::array<double, most_monomials> sup{};
        surface->suprema(order, {{&a, 1}, {&b, 1}}, {&reach, 1}, width, {sup.data(), terms.size()});
        double bound = 0;
        for (std::size_t m = 0; m < terms.size(); ++m)
          bound += sup[m] * std::pow(std::abs(t), terms[m].j) * std::pow(std::abs(u), terms[m].k) /
                   (factorial(terms[m].j) * factorial(terms[m].k));
        const double found = remainder_of(*surface, order, a, b, t, u);
        const double expected = expected_remainder(c.term, order, a, b, t, u);
        EXPECT_LE(std::abs(expected), bound * (1 + 1e-6))
            << "order " << static_cast<int>(order) << " a " << a << " b " << b << " t " << t << " u " << u;
        EXPECT_LE(std::abs(found - expected), 1e-6 * bound + 1e-7 * std::abs(expected))
            << "order " << static_cast<int>(order) << " a " << a << " b " << b << " t " << t << " u " << u
            << ": " << found << " instead of " << expected << ", bound " << bound;
        tightest = std::max(tightest, std::abs(expected) / bound);
      }
    }
    EXPECT_GT(tightest, 0.5);  // bounds that are never nearly reached would be of little use
  }
}

TEST(Surface, DerivativesAreWithinTheirBoundsOverTheBox) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const auto surface = surface_of(c);
    Stream stream({.seed = 8, .chain = 0, .purpose = Purpose::simulate, .iteration = 0});
    for (int trial = 0; trial < trials(40); ++trial) {
      const double a = c.a(stream), b = c.b(stream);
      const double reach = std::exp(9 * uniform(stream) - 8), width = std::exp(6 * uniform(stream) - 6);
      for (const JointOrder order : orders) {
        const auto terms = monomials(order);
        std::array<double, most_monomials> sup{};
        surface->suprema(order, {{&a, 1}, {&b, 1}}, {&reach, 1}, width, {sup.data(), terms.size()});
        for (int point = 0; point < 4; ++point) {
          const double t = (2 * uniform(stream) - 1) * reach, u = (2 * uniform(stream) - 1) * width;
          for (std::size_t m = 0; m < terms.size(); ++m)
            EXPECT_LE(std::abs(static_cast<double>(derivative(c.term, a, b, terms[m].j, terms[m].k, t, u))),
                      sup[m] * (1 + 1e-6) + 1e-12)
                << terms[m].j << terms[m].k << " a " << a << " b " << b << " t " << t << " u " << u;
        }
      }
    }
  }
}

TEST(Surface, ThirdsAreDerivatives) {
  for (const Case& c : cases()) {
    const auto surface = surface_of(c);
    Stream stream({.seed = 9, .chain = 0, .purpose = Purpose::simulate, .iteration = 0});
    for (int trial = 0; trial < 100; ++trial) {
      const double a = c.a(stream), b = c.b(stream);
      std::array<double, 4> third{};
      surface->thirds({{&a, 1}, {&b, 1}}, {{&third[0], 1}, {&third[1], 1}, {&third[2], 1}, {&third[3], 1}});
      for (int k = 0; k <= 3; ++k) {
        const auto expected = static_cast<double>(derivative(c.term, a, b, 3 - k, k, 0, 0));
        EXPECT_NEAR(third[static_cast<std::size_t>(k)], expected, 1e-9 * std::max(1.0, std::abs(expected)))
            << c.name << " " << k << " a " << a << " b " << b;
      }
    }
  }
}

}  // namespace
}  // namespace mlo
