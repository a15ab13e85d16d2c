// Copyright (c) the mlo authors. BSD-3-Clause.
// Families at the far ends of their parameters, against long double.
#include "mlo/model/family.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>

#include "mlo/data/outcome.hpp"

namespace mlo {
namespace {

using Real = long double;

// The term of one row and its derivatives.
struct Row {
  double term, first, second, aux, aux_second, aux_eta;
};
Row row_of(const Family& family, double eta, double y, double aux) {
  Row r{};
  const Batch batch{{&eta, 1}, {&y, 1}, aux};
  family.terms(batch, {&r.term, 1});
  const BatchDerivatives out{{&r.first, 1}, {&r.second, 1}, {&r.aux, 1}, {&r.aux_second, 1}, {&r.aux_eta, 1}};
  static_cast<void>(family.derivatives(batch, out));
  return r;
}

void expect_close(double got, Real expected, Real size, double relative, const char* what) {
  EXPECT_LE(std::abs(static_cast<double>(got - expected)), static_cast<double>(relative * size))
      << what << ": " << got << ", expected " << static_cast<double>(expected);
}

TEST(Student, IsRightFromTheCentreToTheFarTail) {
  for (const double nu : {0.3, 1.0, 4.0, 30.0, 1e8})
    for (const double a : {-3.0, 0.0, 5.0})
      for (const double z : {0.0, 1e-9, 1e-3, 0.7, 2.0, 50.0, 1e6, 1e100}) {
        SCOPED_TRACE(::testing::Message() << "nu " << nu << ", a " << a << ", z " << z);
        const Real sigma = std::exp(static_cast<Real>(a));
        const double y = static_cast<double>(sigma * z);
        const Row got = row_of(*make_family("student", {{"freedom", nu}}), 0, y, a);
        const Real q = (y / sigma) * (y / sigma), n = nu;
        // The constant by Stirling's difference where lgamma's would cancel: log Gamma(x + 1/2) - log
        // Gamma(x).
        const Real x = n / 2;
        const Real gammas =
            nu > 1000 ? std::log(x) / 2 - 1 / (8 * x) : std::lgamma(x + 0.5L) - std::lgamma(x);
        const Real tail = (n + 1) / 2 * std::log1p(q / n);
        const Real f = gammas - std::log(n * std::numbers::pi_v<Real>) / 2 - a - tail;
        // lgamma of 5e7 is 8e8, known to 1e-16 of that.
        expect_close(got.term, f, 1 + std::abs(f), nu > 1000 ? 1e-6 : 1e-14, "term");
        const Real w = 1 / (n + q), r = y;
        expect_close(got.first, (n + 1) * r / sigma / sigma * w, std::abs((n + 1) * r / sigma / sigma * w),
                     1e-14, "first");
        expect_close(got.second, (n + 1) * (q - n) * w * w / sigma / sigma, (n + 1) * w / sigma / sigma,
                     1e-14, "second");
        expect_close(got.aux, (n + 1) * q * w - 1, 1 + (n + 1) * q * w, 1e-14, "aux");
        expect_close(got.aux_second, -2 * (n + 1) * n * q * w * w, 2 * (n + 1) * n * q * w * w, 1e-14,
                     "aux_second");
        expect_close(got.aux_eta, -2 * (n + 1) * n * r / sigma / sigma * w * w,
                     2 * (n + 1) * n * std::abs(r) / sigma / sigma * w * w, 1e-14, "aux_eta");
        const Row known =
            row_of(*make_family("student", {{"freedom", nu}, {"known-sigma", std::exp(a)}}), 0, y, 0);
        EXPECT_NEAR(known.term, got.term, 1e-14 * (1 + std::abs(got.term)));
        EXPECT_NEAR(known.first, got.first, 1e-14 * std::abs(got.first));
        EXPECT_NEAR(known.second, got.second,
                    1e-14 * std::abs(static_cast<double>((n + 1) * w / sigma / sigma)));
      }
}

TEST(Student, HasADensityThatIntegratesToOne) {
  // x = sinh(s) sinh-stretches the tails, so that the trapezoid rule converges fast.
  for (const double nu : {0.5, 1.0, 4.0, 30.0}) {
    const auto family = make_family("student", {{"freedom", nu}});
    double total = 0;
    const double h = 0.01;
    for (double s = -100; s <= 100; s += h) {
      const Row r = row_of(*family, 0.3, 0.3 + std::sinh(s), 0.4);
      total += h * std::cosh(s) * std::exp(r.term);
    }
    EXPECT_NEAR(total, 1, 1e-9) << nu;
  }
}

// Counts below and above those that are tabulated, sizes from nearly 0 to nearly Poisson.
TEST(NegativeBinomial, IsRightForEverySizeAndCount) {
  for (const double a : {-9.0, -1.0, 0.5, 3.0, 8.0, 14.0, 20.0, 25.0})
    for (const double y : {0.0, 1.0, 5.0, 127.0, 128.0, 129.0, 3000.0, 100'000.0})
      for (const double shift : {-8.0, -0.1, 0.0, 0.5, 4.0}) {
        SCOPED_TRACE(::testing::Message() << "log size " << a << ", y " << y << ", shift " << shift);
        const double eta = std::log(y + 1) + shift;
        const Row got = row_of(*make_family("negative-binomial"), eta, y, a);
        const Real k = std::exp(static_cast<Real>(a)), mu = std::exp(static_cast<Real>(eta)), q = mu / k;
        Real logs = 0, factorial = 0, slopes = 0, curvatures = 0;
        for (Real j = 0; j < y; ++j) {
          logs += std::log1p(j / k);
          factorial += std::log1p(j);
          slopes += j / (k + j);
          curvatures += j / (k + j) * (k / (k + j));
        }
        const Real soft = std::log1p(q), p = q / (1 + q);
        const Real f = logs - factorial + y * static_cast<Real>(eta) - (y + k) * soft;
        // Rounding of parts that cancel: eta, and log y! of a large count.
        const Real size = 1 + logs + factorial + y * std::abs(static_cast<Real>(eta)) + (y + k) * soft;
        expect_close(got.term, f, size, 5e-15, "term");
        expect_close(got.first, y - (y + k) * p, y + k * p, 1e-13, "first");
        expect_close(got.second, -(y + k) * p / (1 + q), (y + k) * p / (1 + q), 1e-13, "second");
        // Each part falls like 1 / k; the tolerance goes by their sizes, not by those of the terms that
        // cancel.
        const Real gap = k * (q < 1e-4L ? -q * q / 2 + 2 * q * q * q / 3 - 3 * q * q * q * q / 4 +
                                              4 * q * q * q * q * q / 5
                                        : p - soft);
        const Real parts = slopes + y * p - gap;
        expect_close(got.aux, y * p + gap - slopes, parts, 1e-12, "aux");
        expect_close(got.aux_second, curvatures - y * p / (1 + q) + gap + k * p * p,
                     curvatures + y * p / (1 + q) - gap + k * p * p, 1e-12, "aux_second");
        expect_close(got.aux_eta, y * p / (1 + q) - k * p * p, y * p / (1 + q) + k * p * p, 1e-12, "aux_eta");
        const Row known = row_of(*make_family("negative-binomial", {{"size", std::exp(a)}}), eta, y, 0);
        expect_close(known.term, f, size, 5e-15, "known term");
        EXPECT_NEAR(known.first, got.first, 1e-12 * static_cast<double>(y + k * p));
        EXPECT_NEAR(known.second, got.second, 1e-12 * std::abs(got.second));
      }
}

TEST(NegativeBinomial, TendsToThePoissonLaw) {
  for (const double y : {0.0, 3.0, 40.0, 500.0}) {
    const double eta = std::log(y + 2);
    const double poisson = row_of(*make_family("poisson"), eta, y, 0).term;
    // To first order the difference is ((y - mu)^2 - y) / (2 k).
    const double k = 1e9, expected = (std::pow(y - std::exp(eta), 2) - y) / (2 * k);
    EXPECT_NEAR(row_of(*make_family("negative-binomial", {{"size", k}}), eta, y, 0).term - poisson, expected,
                1e-14 * (1 + y * eta));
  }
}

TEST(NegativeBinomial, HasADensityThatAddsUpToOne) {
  for (const double size : {0.5, 2.0, 40.0}) {
    const auto family = make_family("negative-binomial", {{"size", size}});
    double total = 0, mean = 0, square = 0;
    for (double y = 0; y < 3000; ++y) {
      const double density = std::exp(row_of(*family, 2.5, y, 0).term);
      total += density;
      mean += density * y;
      square += density * y * y;
    }
    const double mu = std::exp(2.5);
    EXPECT_NEAR(total, 1, 1e-11);
    EXPECT_NEAR(mean, mu, 1e-9 * mu);
    EXPECT_NEAR(square - mean * mean, mu + mu * mu / size, 1e-7 * mu * mu);
  }
}

// log k - digamma(k), 1 - k trigamma(k) and k log k - k - log Gamma(k) in long double: the recurrences
// digamma(k) = digamma(k + 1) - 1 / k, ... up to 40, from where Stirling's series is exact to 1e-24. For
// large k the series gives the differences without cancellation.
struct GammaConstants {
  Real log_constant, slope, curvature;  // S(k), k (log k - digamma(k)), k (1 - k trigamma(k))
};
GammaConstants gamma_constants(Real k) {
  Real x = k, logs = 0, inverse = 0, squares = 0;
  for (; x < 40; ++x) {
    logs += std::log(x);
    inverse += 1 / x;
    squares += 1 / (x * x);
  }
  // Bernoulli numbers B_2, B_4, ...: log Gamma has B / (2 n (2 n - 1) x^(2n-1)), digamma -B / (2 n x^(2n)),
  // trigamma B / x^(2n+1).
  constexpr std::array<Real, 7> bernoulli{1.0L / 6,  -1.0L / 30,        1.0L / 42, -1.0L / 30,
                                          5.0L / 66, -691.0L / 2730.0L, 7.0L / 6};
  Real log_tail = 0, digamma_tail = 0, trigamma_tail = 0, power = 1;  // power = x^(-2 n)
  for (std::size_t j = 0; j < bernoulli.size(); ++j) {
    const Real n = static_cast<Real>(j + 1);
    power /= x * x;
    log_tail += bernoulli[j] / (2 * n * (2 * n - 1)) * power * x;
    digamma_tail += bernoulli[j] / (2 * n) * power;
    trigamma_tail += bernoulli[j] * power;
  }
  const Real half_log = std::log(x / (2 * std::numbers::pi_v<Real>)) / 2;
  if (x == k) return {half_log - log_tail, 0.5L + k * digamma_tail, -0.5L - k * trigamma_tail};
  const Real log_gamma_k = x * std::log(x) - x - half_log + log_tail - logs;
  const Real digamma_k = std::log(x) - 1 / (2 * x) - digamma_tail - inverse;
  const Real trigamma_k = (1 + 1 / (2 * x) + trigamma_tail) / x + squares;
  return {k * std::log(k) - k - log_gamma_k, k * (std::log(k) - digamma_k), k * (1 - k * trigamma_k)};
}

// Shapes from nearly 0 to nearly no noise, responses from far below the mean to far above it, and means from
// the smallest to the largest.
TEST(Gamma, IsRightForEveryShapeAndResponse) {
  for (const double shape :
       {1e-300, 1e-160, 9.9e-10, 1.1e-9, 1e-3, 0.1, 0.9, 1.0, 3.0, 24.9, 25.0, 100.0, 1e4, 1e8, 1e12})
    for (const double ratio : {1e-8, 1e-3, 0.6, 0.95, 0.951, 1 - 1e-4, 1 - 1e-9, 1.0, 1 + 1e-9, 1 + 1e-4,
                               1.051, 1.052, 2.0, 30.0, 1e4})
      for (const double eta : {-600.0, -3.0, 0.0, 0.7, 600.0}) {
        SCOPED_TRACE(::testing::Message() << "shape " << shape << ", y / mu " << ratio << ", eta " << eta);
        const double y = static_cast<double>(ratio * std::exp(static_cast<Real>(eta)));
        const double a = std::log(shape);
        const Row got = row_of(*make_family("gamma"), eta, y, a);
        const Row known = row_of(*make_family("gamma", {{"shape", shape}}), eta, y, 0);
        const auto expect_row = [&](const Row& row, Real k, bool estimated) {
          const GammaConstants c = gamma_constants(k);
          const Real u = std::log(static_cast<Real>(y)) - eta, e = std::exp(u), up = std::expm1(u);
          // g = e^u - 1 - u, by its series where it is small.
          Real g = up - u;
          if (std::abs(u) < 0.1L) {
            Real term = u * u / 2;
            g = 0;
            for (int m = 3; m < 25; ++m) {
              g += term;
              term *= u / m;
            }
          }
          // Each is known to the given share of its own size, and to what the rounding of u = log y - eta
          // makes of it: `loss`, as a multiple of the share.
          const Real loss = 0.1L * (std::abs(std::log(static_cast<Real>(y))) + std::abs(eta));
          const Real f = c.log_constant - k * g - std::log(static_cast<Real>(y));
          const Real size = 1 + std::abs(c.log_constant) + std::abs(std::log(static_cast<Real>(y)));
          expect_close(row.term, f, size + k * g + k * std::abs(up) * loss, 4e-14, "term");
          expect_close(row.first, k * up, k * std::abs(up) + k * e * loss, 1e-14, "first");
          expect_close(row.second, -k * e, k * e * (1 + loss), 1e-14, "second");
          if (!estimated) return;
          const Real parts = 1 + std::abs(c.slope) + k * g + k * std::abs(up) * loss;
          expect_close(row.aux, c.slope - k * g, parts, 4e-14, "aux");
          expect_close(row.aux_second, c.slope - k * g + c.curvature, parts, 4e-14, "aux_second");
          expect_close(row.aux_eta, k * up, k * std::abs(up) + k * e * loss, 1e-14, "aux_eta");
        };
        expect_row(got, std::exp(static_cast<Real>(a)), true);
        expect_row(known, shape, false);
        // The rounding of a = log(shape), 1e-16 of up to 700, is all that tells them apart.
        const double u = std::log(y) - eta, parts = shape * (std::expm1(u) - u) + std::abs(std::log(y));
        EXPECT_NEAR(known.term, got.term, 2e-14 * (1 + parts));
        const double share = 2e-16 * (10 + std::abs(a));
        EXPECT_NEAR(known.first, got.first, share * std::abs(known.first));
        EXPECT_NEAR(known.second, got.second, share * std::abs(known.second) + 1e-320);
      }
}

TEST(Gamma, HasADensityThatIntegratesToOne) {
  // By s = log y: the density of s is smooth and vanishes at both ends.
  for (const double shape : {0.3, 1.0, 2.5, 60.0, 150.0, 1e6}) {
    const auto family = make_family("gamma", {{"shape", shape}});
    const double eta = 0.8, mu = std::exp(eta), h = 0.05 / std::sqrt(1 + shape);
    double total = 0, mean = 0, square = 0;
    for (double s = shape < 1 ? -150 : -60 / std::sqrt(shape); s < 12 / std::sqrt(shape); s += h) {
      const double y = std::exp(eta + s), density = h * y * std::exp(row_of(*family, eta, y, 0).term);
      total += density;
      mean += density * y;
      square += density * (y - mu) * (y - mu);
    }
    EXPECT_NEAR(total, 1, 1e-9) << shape;
    EXPECT_NEAR(mean, mu, 1e-9 * mu) << shape;
    EXPECT_NEAR(square, mu * mu / shape, 1e-9 * mu * mu / shape) << shape;
  }
}

// From hardly any additional zeros to hardly anything else, means from tiny to the largest.
TEST(ZeroInflatedPoisson, IsRightForEveryShareAndCount) {
  for (const double s : {-5.0, -0.8, 0.0, 2.0, 35.0})
    for (const double y : {0.0, 1.0, 6.0, 300.0})
      for (const double eta : {-30.0, -2.0, 0.0, 1.5, 5.0, 100.0, 690.0}) {
        SCOPED_TRACE(::testing::Message() << "logit zi " << s << ", y " << y << ", eta " << eta);
        const Row got = row_of(*make_family("zero-inflated-poisson"), eta, y, s);
        const Real mu = std::exp(static_cast<Real>(eta)), odds = std::exp(static_cast<Real>(s));
        const Real zi = odds / (1 + odds), rest = 1 / (1 + odds);
        if (y > 0) {
          const Real f = -std::log1p(odds) + y * static_cast<Real>(eta) - mu - std::lgamma(y + 1.0L);
          expect_close(got.term, f, std::abs(s) + y * std::abs(eta) + mu + std::lgamma(y + 1.0L), 1e-15,
                       "term");
          expect_close(got.first, y - mu, y + mu, 1e-15, "first");
          expect_close(got.second, -mu, mu, 1e-14, "second");
          expect_close(got.aux, -zi, zi, 1e-14, "aux");
          expect_close(got.aux_second, -zi * rest, zi * rest, 1e-14, "aux_second");
          EXPECT_EQ(got.aux_eta, 0);
        } else {
          const Real none = std::exp(-mu), f = std::log(odds + none) - std::log1p(odds);
          const Real count = none / (odds + none), other = odds / (odds + none);
          expect_close(got.term, f, 1 + std::abs(s), 1e-15, "term");
          // Rounding of e^eta is in the share of counts, and that of the share, which may be near 1, in what
          // is left.
          const Real loss = 1e-15L * (200 + std::min(mu, 1000.0L));
          expect_close(got.first, -mu * count, mu * count * loss, 1, "first");
          expect_close(got.second, mu * count * (mu * other - 1), mu * count * (1 + mu * other) * loss, 1,
                       "second");
          expect_close(got.aux, rest - count, rest + count, 1e-12, "aux");
          expect_close(got.aux_second, count * other - zi * rest, (count * other + zi * rest) * loss, 1,
                       "aux_second");
          expect_close(got.aux_eta, mu * count * other, mu * count * other * loss, 1, "aux_eta");
        }
        const double share = static_cast<double>(zi);
        if (s < 10) {  // nearer to 1 a share has no digits left
          const Row known = row_of(*make_family("zero-inflated-poisson", {{"zi", share}}), eta, y, 0);
          EXPECT_NEAR(known.term, got.term, 1e-13 * (1 + std::abs(got.term)));
        }
      }
}

TEST(ZeroInflatedPoisson, HasADensityThatAddsUpToOne) {
  for (const double zi : {0.01, 0.4, 0.95}) {
    const auto family = make_family("zip", {{"zi", zi}});
    double total = 0, mean = 0;
    for (double y = 0; y < 200; ++y) {
      const double density = std::exp(row_of(*family, 1.7, y, 0).term);
      total += density;
      mean += density * y;
    }
    EXPECT_NEAR(total, 1, 1e-12);
    EXPECT_NEAR(mean, family->spec().mean_factor(zi) * std::exp(1.7), 1e-11);
  }
}

// Sums of few and many trials, precisions from nearly 0 to nearly binomial.
TEST(BetaBinomial, IsRightForEveryPrecisionAndOutcome) {
  for (const double s : {-9.0, -1.0, 0.5, 3.0, 8.0, 14.0})
    for (const double n : {1.0, 2.0, 15.0, 32.0, 33.0, 34.0, 500.0, 20'000.0})
      for (const double share : {0.0, 0.03, 0.5, 1.0})
        for (const double eta : {-30.0, -3.0, 0.0, 0.4, 6.0}) {
          const double y = std::round(share * n);
          SCOPED_TRACE(::testing::Message()
                       << "log phi " << s << ", " << y << " of " << n << ", eta " << eta);
          const Row got = row_of(*make_family("beta-binomial"), eta, Outcome{y, n}.packed(), s);
          const Real phi = std::exp(static_cast<Real>(s)), e = std::exp(static_cast<Real>(eta));
          const Real p = e / (1 + e), q = 1 / (1 + e);
          struct Sums {
            Real value = 0, slope = 0, curvature = 0;
          };
          const auto sums = [](Real a, double m) {
            Sums out;
            for (Real j = 0; j < m; ++j) {
              out.value += std::log(a + j);
              out.slope += a / (a + j);
              out.curvature += a * j / ((a + j) * (a + j));
            }
            return out;
          };
          const Sums g = sums(p * phi, y), h = sums(q * phi, n - y), c = sums(phi, n);
          const auto factorial = [](double m) { return std::lgamma(static_cast<Real>(m) + 1); };
          const Real choose = factorial(n) - factorial(y) - factorial(n - y);
          const Real size =
              std::abs(g.value) + std::abs(h.value) + std::abs(c.value) + factorial(n) + n * std::abs(s);
          expect_close(got.term, g.value + h.value - c.value + choose, 1 + size, 1e-14, "term");
          const Real firsts = g.slope * q + h.slope * p;
          expect_close(got.first, g.slope * q - h.slope * p, firsts, 1e-13, "first");
          const Real seconds = g.curvature * q * q + h.curvature * p * p;
          expect_close(got.second, seconds - p * q * (g.slope + h.slope),
                       seconds + p * q * (g.slope + h.slope), 1e-12, "second");
          expect_close(got.aux, g.slope + h.slope - c.slope, g.slope + h.slope + c.slope, 1e-13, "aux");
          // Of sums beyond 32, a difference of two that are as large as the slopes.
          expect_close(got.aux_second, g.curvature + h.curvature - c.curvature, c.slope + g.slope + h.slope,
                       1e-12, "aux_second");
          expect_close(got.aux_eta, g.curvature * q - h.curvature * p, firsts, 1e-12, "aux_eta");
          const Row known =
              row_of(*make_family("beta-binomial", {{"phi", std::exp(s)}}), eta, Outcome{y, n}.packed(), 0);
          EXPECT_NEAR(known.term, got.term, 1e-14 * static_cast<double>(1 + size));
        }
}

TEST(BetaBinomial, HasADensityThatAddsUpToOne) {
  for (const double phi : {0.2, 3.0, 300.0}) {
    const auto family = make_family("beta-binomial", {{"phi", phi}});
    const double n = 40, eta = -0.7, p = 1 / (1 + std::exp(-eta));
    double total = 0, mean = 0, square = 0;
    for (double y = 0; y <= n; ++y) {
      const double density = std::exp(row_of(*family, eta, Outcome{y, n}.packed(), 0).term);
      total += density;
      mean += density * y;
      square += density * (y - n * p) * (y - n * p);
    }
    EXPECT_NEAR(total, 1, 1e-12);
    EXPECT_NEAR(mean, n * p, 1e-11);
    EXPECT_NEAR(square, n * p * (1 - p) * (1 + (n - 1) / (1 + phi)), 1e-9);
  }
}

TEST(RobustSpread, IsTheMedianAndTheScaledMedianDistance) {
  const RobustSpread s = robust_spread({1, 2, 3, 4, 1000});
  EXPECT_EQ(s.centre, 3);
  EXPECT_DOUBLE_EQ(s.scale, 1.4826);
  EXPECT_DOUBLE_EQ(robust_spread({5, 5, 5, 5, 9}).scale, 0.8);  // the mean distance
  EXPECT_EQ(robust_spread({5, 5}).scale, 0);
}

}  // namespace
}  // namespace mlo
