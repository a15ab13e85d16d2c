// Copyright (c) the mlo authors. BSD-3-Clause.
#include "../../src/data/basis.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "mlo/base/errors.hpp"
#include "support/r_files.hpp"

namespace mlo::basis {
namespace {

using Values = std::vector<double>;
constexpr double na = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

Values apply_to(const State& state, const Values& x, std::size_t width,
                void (*apply)(const State&, std::span<const double>, std::span<double>)) {
  Values out(width * x.size(), -77);
  apply(state, x, out);
  return out;
}
Values poly_columns(const State& state, const Values& x) {
  return apply_to(state, x, poly_width(state), apply_poly);
}
Values bs_columns(const State& state, const Values& x) {
  return apply_to(state, x, bs_width(state), apply_bs);
}
Values ns_columns(const State& state, const Values& x) {
  return apply_to(state, x, ns_width(state), apply_ns);
}

Values uniform_values(std::size_t n, double low, double high, unsigned seed = 3) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  Values x(n);
  for (double& value : x) value = uniform(random);
  return x;
}

template <class Failure = UsageError>
std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "no error";
}

SplineOptions spline_options(const std::map<std::string, std::string>& arguments) {
  SplineOptions options;
  for (const auto& [name, value] : arguments) {
    const Values numbers = name.empty() ? Values{} : testing::r_numbers(value, ',');
    if (name == "df") options.df = numbers[0];
    if (name == "knots") options.knots = numbers;
    if (name == "degree") options.degree = numbers[0];
    if (name == "intercept") options.intercept = numbers[0] == 1;
    if (name == "Boundary.knots") options.boundary = std::array<double, 2>{numbers[0], numbers[1]};
  }
  return options;
}

// Rounding only: R and we compute the same polynomials in different ways. The error of a spline far outside
// its boundary knots is relative to the largest of its neighbours there.
TEST(Basis, AgreesWithRWithinRounding) {
  const std::vector<std::string> lines = testing::r_lines("basis.txt");
  std::size_t cases = 0;
  for (std::size_t at = 0; at + 5 <= lines.size(); ++cases) {
    SCOPED_TRACE(lines[at]);
    const auto arguments = testing::r_arguments(lines[at + 1]);
    const Values x = testing::r_numbers(lines[at + 2]), points = testing::r_numbers(lines[at + 3]);
    const auto width = static_cast<std::size_t>(std::stoul(lines[at + 4]));
    const std::string& function = arguments.at("");
    Values got;
    if (function == "bs") {
      const State state = learn_bs(x, spline_options(arguments));
      ASSERT_EQ(bs_width(state), width);
      got = bs_columns(state, points);
    } else if (function == "ns") {
      const State state = learn_ns(x, spline_options(arguments));
      ASSERT_EQ(ns_width(state), width);
      got = ns_columns(state, points);
    } else {
      ASSERT_EQ(function, "poly");
      const State state = learn_poly(x, {.degree = std::stod(arguments.at("degree"))});
      ASSERT_EQ(poly_width(state), width);
      got = poly_columns(state, points);
    }
    std::vector<Values> expected;
    for (std::size_t j = 0; j < width; ++j) expected.push_back(testing::r_numbers(lines[at + 5 + j]));
    for (std::size_t i = 0; i < points.size(); ++i) {
      double size = 0;
      for (const Values& column : expected) size = std::max(size, std::fabs(column[i]));
      for (std::size_t j = 0; j < width; ++j) {
        if (std::isnan(points[i])) {
          EXPECT_TRUE(std::isnan(got[j * points.size() + i]));
        } else {
          EXPECT_NEAR(got[j * points.size() + i], expected[j][i], 1e-12 * (1 + size))
              << "column " << j << " at " << points[i];
        }
      }
    }
    at += 6 + width;
  }
  EXPECT_GE(cases, 40U);
}

TEST(Basis, ScaleHasMean0AndSd1) {
  const Values x = uniform_values(5000, 1e6, 1e6 + 3);
  const State state = learn_scale(x, {});
  const Values z = apply_to(state, x, 1, apply_scale);
  long double sum = 0, squares = 0;
  for (const double value : z) sum += value, squares += static_cast<long double>(value) * value;
  EXPECT_NEAR(static_cast<double>(sum / 5000), 0, 1e-9);  // 1e6 has 10 digits behind the point
  EXPECT_NEAR(static_cast<double>(squares / 4999), 1, 1e-12);
}

TEST(Basis, ScaleCentresOrDividesAlone) {
  const Values x{3, 4, na, 0};
  const Values complete{3, 4, 0};
  const Values divided = apply_to(learn_scale(complete, {.centre = false}), x, 1, apply_scale);
  EXPECT_DOUBLE_EQ(divided[0], 3 / std::sqrt(12.5));  // R: root of the squares' sum over n - 1
  EXPECT_TRUE(std::isnan(divided[2]));
  const Values centred = apply_to(learn_scale(complete, {.scale = false}), x, 1, apply_scale);
  EXPECT_DOUBLE_EQ(centred[1], 4 - 7.0 / 3);
  EXPECT_EQ(learn_scale(Values{1e300, -1e300}, {}).numbers[1], 1e300 * std::sqrt(2.0));
}

TEST(Basis, PolynomialsAreOrthonormalWithPositiveLeadingCoefficients) {
  for (const double offset : {0.0, 2000.0, 1.7e9}) {
    Values x = uniform_values(3001, 0, 40);
    for (double& value : x) value = std::round(value) + offset;
    const State state = learn_poly(x, {.degree = 6});
    const Values p = poly_columns(state, x);
    const std::size_t n = x.size();
    for (std::size_t j = 0; j < 6; ++j) {
      long double sum = 0;
      for (std::size_t i = 0; i < n; ++i) sum += p[j * n + i];
      EXPECT_NEAR(static_cast<double>(sum), 0, 1e-11);
      for (std::size_t k = 0; k <= j; ++k) {
        long double product = 0;
        for (std::size_t i = 0; i < n; ++i) product += static_cast<long double>(p[j * n + i]) * p[k * n + i];
        EXPECT_NEAR(static_cast<double>(product), j == k ? 1 : 0, 1e-12);
      }
    }
    for (const double far : poly_columns(state, {offset + 1000})) EXPECT_GT(far, 0);
  }
}

// Over 0 .. n - 1 they are the discrete Chebyshev polynomials: closed forms of the first three.
TEST(Basis, PolynomialsOverWholeNumbersHaveTheirClosedForm) {
  Values x;
  for (int i = 0; i < 9; ++i) x.push_back(i);
  const Values p = poly_columns(learn_poly(x, {.degree = 3}), x);
  for (int i = 0; i < 9; ++i) {
    const double t = i - 4;
    const auto at = static_cast<std::size_t>(i);
    EXPECT_NEAR(p[at], t / std::sqrt(60.0), 1e-14);
    EXPECT_NEAR(p[9 + at], (t * t - 20.0 / 3) / std::sqrt(308.0), 1e-14);
    EXPECT_NEAR(p[18 + at], (t * t * t - 59.0 / 5 * t) / std::sqrt(7128.0 / 5), 1e-13);
  }
}

TEST(Basis, PolynomialCoefficientsAreThoseThatRKeeps) {
  // attr(poly(c(1, 2, 4, 7), 2), "coefs"), by hand: mean 3.5, squares 21, cubes 24 of the centred values.
  const PolyCoefficients coefficients = poly_coefficients(learn_poly(Values{1, 2, 4, 7}, {.degree = 2}));
  ASSERT_EQ(coefficients.alpha.size(), 2U);
  EXPECT_NEAR(coefficients.alpha[0], 3.5, 1e-14);
  EXPECT_NEAR(coefficients.alpha[1], 3.5 + 24.0 / 21, 1e-13);
  EXPECT_EQ(coefficients.norm2[0], 1);
  EXPECT_EQ(coefficients.norm2[1], 4);
  EXPECT_NEAR(coefficients.norm2[2], 21, 1e-12);
}

TEST(Basis, RawPolynomialsArePowers) {
  const State state = learn_poly(Values{1, 2}, {.degree = 4, .raw = true});
  EXPECT_EQ(poly_columns(state, {3, -0.5}), (Values{3, -0.5, 9, 0.25, 27, -0.125, 81, 0.0625}));
  EXPECT_TRUE(std::isnan(poly_columns(state, {na})[3]));
}

TEST(Basis, BSplinesSumTo1AndAreNotNegative) {
  const Values x = uniform_values(500, -2, 9);
  for (const double degree : {1.0, 2.0, 3.0, 7.0, 20.0}) {
    const State state =
        learn_bs(x, {.df = degree + 6, .knots = {}, .degree = degree, .intercept = true, .boundary = {}});
    const Values b = bs_columns(state, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < bs_width(state); ++j) {
        EXPECT_GE(b[j * x.size() + i], 0);
        sum += b[j * x.size() + i];
      }
      EXPECT_NEAR(sum, 1, 1e-13);
    }
  }
}

// Marsden's identity: sum_j xi_j B_j(x) = x, where xi_j is the mean of the knots inside the support of B_j.
// It holds for the polynomial pieces, so outside the boundary too.
TEST(Basis, BSplinesReproduceTheLineInsideAndOutside) {
  const Values inner{1, 2.5, 2.5, 6};
  const State state =
      learn_bs(Values{0, 10}, {.df = {}, .knots = inner, .degree = 3, .intercept = true, .boundary = {}});
  const Values knots{0, 0, 0, 0, 1, 2.5, 2.5, 6, 10, 10, 10, 10};
  const Values x{0, 0.3, 1, 2.5, 5, 6, 9, 10, -2, 11.5};
  const Values b = bs_columns(state, x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < 8; ++j)
      sum += b[j * x.size() + i] * (knots[j + 1] + knots[j + 2] + knots[j + 3]) / 3;
    EXPECT_NEAR(sum, x[i], 1e-12);
  }
}

TEST(Basis, NaturalSplinesAreLinearOutsideAndSmoothAtTheBoundary) {
  const State state =
      learn_ns(uniform_values(400, 0, 10),
               {.df = 5, .knots = {}, .degree = 3, .intercept = false, .boundary = {{0, 10}}});
  const double h = 1e-3;
  for (const double edge : {0.0, 10.0}) {
    const double out = edge == 0 ? -1 : 1;
    const Values x{edge, edge + out * 1, edge + out * 2, edge + out * 50, edge - h, edge + h};
    const Values b = ns_columns(state, x);
    double steepest = 0;
    for (std::size_t j = 0; j < 5; ++j) {
      const double* const c = b.data() + j * x.size();
      EXPECT_NEAR(c[2] - c[1], c[1] - c[0], 1e-12);
      EXPECT_NEAR(c[3], c[0] + 50 * (c[1] - c[0]), 1e-10);
      // The second difference: h^2 times a second derivative that starts at 0, so of order h^3.
      EXPECT_NEAR(c[4] - 2 * c[0] + c[5], 0, 10 * h * h * h);
      steepest = std::max(steepest, std::fabs(c[1] - c[0]));
    }
    EXPECT_GT(steepest, 0.01);
  }
}

// With an intercept, constants and lines are natural splines: the columns must span them.
TEST(Basis, NaturalSplinesSpanTheLines) {
  const Values x = uniform_values(60, 0, 5);
  const State state = learn_ns(x, {.df = 6, .knots = {}, .degree = 3, .intercept = true, .boundary = {}});
  const Values b = ns_columns(state, x);
  // Least squares by Gram-Schmidt.
  for (const bool line : {false, true}) {
    std::vector<Values> done;
    Values rest = line ? x : Values(x.size(), 1.0);
    for (std::size_t j = 0; j < 6; ++j) {
      Values column(b.begin() + static_cast<std::ptrdiff_t>(j * x.size()),
                    b.begin() + static_cast<std::ptrdiff_t>((j + 1) * x.size()));
      const auto remove = [&](Values& from, const Values& axis) {
        double product = 0;
        for (std::size_t i = 0; i < x.size(); ++i) product += from[i] * axis[i];
        for (std::size_t i = 0; i < x.size(); ++i) from[i] -= product * axis[i];
      };
      for (const Values& axis : done) remove(column, axis);
      double squares = 0;
      for (const double value : column) squares += value * value;
      ASSERT_GT(squares, 1e-8);
      for (double& value : column) value /= std::sqrt(squares);
      done.push_back(column);
      remove(rest, column);
    }
    for (const double value : rest) EXPECT_NEAR(value, 0, 1e-10);
  }
}

TEST(Basis, QuantilesAreThoseOfSortedValues) {
  for (const std::size_t n : {1U, 2U, 7U, 1000U}) {
    Values x = uniform_values(n, -1, 1), sorted = x;
    for (std::size_t i = 0; i < n; i += 3) sorted[i] = x[i] = 0.25;  // ties
    std::sort(sorted.begin(), sorted.end());
    const Values p{0, 0.01, 0.2, 1.0 / 3, 0.5, 0.5, 0.9, 1};
    const Values q = quantiles(x, p);
    for (std::size_t k = 0; k < p.size(); ++k) {
      const double h = static_cast<double>(n - 1) * p[k];
      const auto low = static_cast<std::size_t>(h);
      const double high = low + 1 < n ? sorted[low + 1] : sorted[low];
      EXPECT_NEAR(q[k], sorted[low] + (h - std::floor(h)) * (high - sorted[low]), 1e-15);
    }
  }
}

TEST(Basis, MissingValuesAreMissingInAllColumns) {
  const Values x = uniform_values(50, 0, 1), some{0.5, na, 2, na};
  for (const Values& columns :
       {poly_columns(learn_poly(x, {.degree = 3}), some), bs_columns(learn_bs(x, {}), some),
        ns_columns(learn_ns(x, {.df = 3, .knots = {}, .boundary = {}}), some)}) {
    ASSERT_EQ(columns.size(), 12U);
    for (std::size_t k = 0; k < 12; ++k) EXPECT_EQ(std::isnan(columns[k]), k % 2 == 1) << k;
  }
}

TEST(Basis, AppliedInPartsIsTheSame) {
  const Values x = uniform_values(3000, 0, 1);
  const State poly = learn_poly(x, {.degree = 5}), ns = learn_ns(x, {.df = 5, .knots = {}, .boundary = {}});
  const Values whole_poly = poly_columns(poly, x), whole_ns = ns_columns(ns, x);
  for (std::size_t first = 0; first < x.size(); first += 700) {
    const std::size_t size = std::min<std::size_t>(700, x.size() - first);
    const Values part(x.begin() + static_cast<std::ptrdiff_t>(first),
                      x.begin() + static_cast<std::ptrdiff_t>(first + size));
    const Values p = poly_columns(poly, part), s = ns_columns(ns, part);
    for (std::size_t j = 0; j < 5; ++j) {
      for (std::size_t i = 0; i < size; ++i) {
        ASSERT_EQ(p[j * size + i], whole_poly[j * x.size() + first + i]);
        ASSERT_EQ(s[j * size + i], whole_ns[j * x.size() + first + i]);
      }
    }
  }
}

TEST(Basis, CountsTheValuesOutside) {
  const State bs = learn_bs(Values{0, 10}, {}), ns = learn_ns(Values{0, 10}, {});
  const Values x{-1, 0, 5, 10, 10.5, na, 11};
  EXPECT_EQ(outside_bs(bs, x), 3U);
  EXPECT_EQ(outside_ns(ns, x), 3U);
}

TEST(Basis, SaysWhatIsWrong) {
  const Values x{1, 2, 2, 3, 5, 8, 9, 10};
  const auto poly = [](const Values& values, double degree) {
    return message_of([&] { static_cast<void>(learn_poly(values, {.degree = degree})); });
  };
  EXPECT_EQ(poly({1, 2, 2, 1}, 2),
            "poly(): degree must be less than the number of distinct values, 2 (got 2)");
  EXPECT_EQ(poly(x, 1.5), "poly(): degree must be a whole number between 1 and 100 (got 1.5)");
  EXPECT_EQ(poly(x, na), "poly(): degree must be a whole number between 1 and 100 (got nan)");
  EXPECT_EQ(poly({}, 1), "poly(): there are no values: all are missing");
  EXPECT_EQ(poly({1, 2, -inf}, 1), "poly(): all values must be finite (got -inf)");
  Values even;
  for (int i = 0; i <= 100; ++i) even.push_back(i);
  const std::string high = poly(even, 90);
  EXPECT_NE(high.find("poly(): degree 90 is too high for these values"), std::string::npos) << high;

  EXPECT_EQ(message_of([&] {
              static_cast<void>(learn_scale(Values{4, 4, 4}, {}));
            }),
            "scale(): the values must not all be equal (got 3 values, all equal to 4); leave the term out");

  const auto bs = [&](const SplineOptions& options) {
    return message_of([&] { static_cast<void>(learn_bs(x, options)); });
  };
  SplineOptions options;
  options.df = 2;
  EXPECT_EQ(
      bs(options),
      "bs(): df must be a whole number between 3 (the columns without inner knots) and 8 (the number of values) (got 2)");
  options.df = 4.5;
  EXPECT_NE(bs(options).find("(got 4.5)"), std::string::npos);
  options.df = 5;
  options.knots = Values{4};
  EXPECT_EQ(bs(options), "bs(): df must be what the knots give, 4 (got 5); give df or knots, not both");
  options.df.reset();
  options.knots = Values{4, 11};
  EXPECT_EQ(bs(options), "bs(): a knot must lie between the boundary knots, 1 and 10 (got 11)");
  options.knots = Values{4, 4, 4, 4};
  EXPECT_EQ(bs(options), "bs(): a knot may be given at most 3 times (got 4 more often)");
  options.knots.reset();
  options.boundary = std::array<double, 2>{5, 5};
  EXPECT_EQ(bs(options), "bs(): the first of Boundary.knots must be less than the second (got 5 and 5)");
  options.boundary.reset();
  options.degree = 0;
  EXPECT_EQ(bs(options), "bs(): degree must be a whole number between 1 and 20 (got 0)");
  EXPECT_EQ(message_of([&] {
              static_cast<void>(learn_ns(Values{7, 7}, {}));
            }),
            "ns(): the values must not all be equal (got 2 values, all equal to 7); leave the term out");
  options = {};
  options.df = 4;
  options.boundary = std::array<double, 2>{20, 30};
  EXPECT_EQ(message_of([&] { static_cast<void>(learn_ns(x, options)); }),
            "ns(): no value lies between the boundary knots, 20 and 30");
}

// R 4.2 goes on here, with columns of zeros.
TEST(Basis, RefusesQuantilesThatAreNotKnots) {
  const Values zeros{0, 0, 0, 0, 0, 0, 1, 2, 3, 4}, ones{0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2};
  SplineOptions options;
  options.df = 4;
  EXPECT_EQ(
      message_of([&] { static_cast<void>(learn_ns(zeros, options)); }),
      "ns(): the 3 inner knots that df asks for are quantiles of the values, and many values are 0, the lower boundary "
      "knot; give fewer df, or choose the knots with knots = c(...)");
  options.df = 9;
  EXPECT_EQ(
      message_of([&] { static_cast<void>(learn_bs(ones, options)); }),
      "bs(): the 6 inner knots that df asks for are quantiles of the values, and more than 3 of them are 1; give fewer "
      "df, or choose the knots with knots = c(...)");
}

TEST(Basis, RefusesADamagedState) {
  Values out(100);
  const Values x{1};
  for (const Values& numbers :
       {Values{}, Values{3}, Values{3, 0, 1}, Values{3, 0, 5, 5}, Values{0.5, 0, 1, 2}, Values{3, 2, 1, 2},
        Values{3, 0, 1, 2, 3}, Values{3, 0, 1, 9, 5, 4}, Values{3, 0, na, 2}}) {
    EXPECT_EQ(message_of<DataError>([&] { apply_bs({numbers}, x, out); }),
              "the state of bs() in this run is damaged; fit the model again");
  }
  for (const Values& numbers : {Values{}, Values{2, 1, 2}, Values{0, 2, 1}, Values{0, 1, 2, 2}})
    EXPECT_THROW(static_cast<void>(ns_width({numbers})), DataError);
  for (const Values& numbers : {Values{}, Values{0, 2, 3}, Values{1, 0}, Values{1, 1e9}, Values{2, 1}})
    EXPECT_THROW(static_cast<void>(poly_width({numbers})), DataError);
  EXPECT_THROW(apply_scale({{0, 0}}, x, std::span(out).first(1)), DataError);
}

}  // namespace
}  // namespace mlo::basis
