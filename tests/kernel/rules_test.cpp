// Copyright (c) the mlo authors. BSD-3-Clause.
// What each decision rule promises, on terms whose distribution is known, without a chain. Errors are z
// scores; |z| < 5 is one false alarm in a million. Seeds are fixed.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "mlo/kernel/austerity.hpp"
#include "mlo/kernel/barker.hpp"
#include "mlo/kernel/confidence.hpp"
#include "mlo/kernel/penalty.hpp"
#include "support/trials.hpp"

namespace mlo {
namespace {

using testing::show;
using testing::trial_at;

Stream stream_of(std::uint64_t k, Purpose purpose = Purpose::decision) {
  return Stream({.seed = 17, .chain = 0, .purpose = purpose, .iteration = k});
}

// The share of successes among the repeats against a probability, in standard errors.
double z_of(double share, double probability, double repeats) {
  return (share - probability) / std::sqrt(probability * (1 - probability) / repeats);
}

// All n terms of a population, shown in a new random order each time, so that the terms a rule reads are
// drawn without replacement.
class Population {
 public:
  Population(std::size_t rows, const std::function<double(Stream&)>& term) : terms_(rows) {
    Stream stream = stream_of(0, Purpose::simulate);
    for (double& t : terms_) t = term(stream);
  }
  [[nodiscard]] double mean() const {
    return std::accumulate(terms_.begin(), terms_.end(), 0.0) / static_cast<double>(terms_.size());
  }
  [[nodiscard]] double sd() const {
    double squares = 0;
    for (const double t : terms_) squares += (t - mean()) * (t - mean());
    return std::sqrt(squares / static_cast<double>(terms_.size()));
  }
  [[nodiscard]] double largest() const {
    double largest = 0;
    for (const double t : terms_) largest = std::max(largest, std::abs(t));
    return largest;
  }
  // The first `count` of a random order.
  std::span<const double> shuffle(Stream& stream, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k)
      std::swap(terms_[k], terms_[k + bounded(stream, terms_.size() - k)]);
    return terms_;
  }

 private:
  std::vector<double> terms_;
};

struct Record {
  double wrong = 0;       // share of decisions that differ from that of all rows
  double first_look = 0;  // share made at the first look
  double rows = 0;        // mean number read
};

// Decisions with psi = mean - gap: accepting is right if gap > 0.
template <Decision R>
Record decide(R rule, Population& population, std::size_t rows, double gap, double term_bound,
              std::size_t first, int repeats) {
  Record out;
  const double psi = population.mean() - gap;
  for (int k = 0; k < repeats; ++k) {
    Stream rows_stream = stream_of(static_cast<std::uint64_t>(k), Purpose::rows);
    Stream stream = stream_of(static_cast<std::uint64_t>(k));
    Trial trial = trial_at(psi, stream, static_cast<double>(rows));
    trial.with_replacement = false;
    trial.term_bound = term_bound;
    rule.begin(trial);
    show(rule, population.shuffle(rows_stream, rows));
    out.wrong += rule.accept() != (gap > 0) ? 1.0 / repeats : 0;
    out.first_look += rule.seen().count == first ? 1.0 / repeats : 0;
    out.rows += static_cast<double>(rule.seen().count) / repeats;
  }
  return out;
}

// ---- All of them

// A rule must say what it promises.
struct Silent {
  void begin(const Trial& /*trial*/) {}
  [[nodiscard]] std::size_t wants() const { return 0; }
  void see(std::span<const double> /*terms*/) {}
  bool accept() { return true; }
  [[nodiscard]] const TermMoments& seen() const { return moments; }
  [[nodiscard]] bool needs_term_bound() const { return false; }
  TermMoments moments;
};
struct Promising : Silent {
  [[nodiscard]] Promise promise() const { return Promise::approximate; }
};
static_assert(!Decision<Silent> && Decision<Promising>);
// Only confidence bounds its error whatever the terms are; the others trust that their means are normal.
static_assert(Confidence::promise() == Promise::bounded_error);
static_assert(FixedSize::promise() == Promise::approximate &&
              AdaptiveSize::promise() == Promise::approximate &&
              Austerity::promise() == Promise::approximate && Barker::promise() == Promise::approximate &&
              PenaltySize::promise() == Promise::approximate);

// ---- Austerity

// The first look's boundary against Boost's quantiles, on both sides, with and without replacement.
TEST(Austerity, StopsWhereTheTTestSaysSo) {
  for (const std::size_t m : {2U, 10U, 500U, 1001U, 5000U})
    for (const double eps : {0.001, 0.05, 0.3})
      for (const bool with_replacement : {true, false}) {
        const std::size_t n = 20'000;
        std::vector<double> terms(m);
        Stream stream = stream_of(m);
        normals(stream, terms);
        const double count = static_cast<double>(m),
                     mean = std::accumulate(terms.begin(), terms.end(), 0.0) / count;
        double squares = 0;
        for (const double t : terms) squares += (t - mean) * (t - mean);
        const double left = with_replacement ? 1 : 1 - (count - 1) / (static_cast<double>(n) - 1);
        const double s = std::sqrt(squares / (count - 1) / count * left);
        const double critical = boost::math::quantile(
            boost::math::complement(boost::math::students_t_distribution<>(count - 1), eps));
        for (const double side : {-1.0, 1.0})
          for (const double factor : {1 - 1e-6, 1 + 1e-6}) {
            Austerity rule(n, {.eps = eps, .batch = m});
            Trial trial = trial_at(mean + side * factor * critical * s, stream);
            trial.with_replacement = with_replacement;
            rule.begin(trial);
            rule.see(terms);
            EXPECT_EQ(rule.wants() == 0, factor > 1) << m << ' ' << eps << ' ' << with_replacement;
            EXPECT_EQ(rule.accept(), side < 0);
          }
      }
}

// Normal terms whose mean is psi itself: a look errs with probability eps on either side, so the first look
// stops with probability 2 eps. A decision errs if any of its looks does, and in a tie there are many.
// Measured, n = 1000 in batches of 100, errors for eps = 0.05 and 0.01: 0.22 and 0.054 in a tie, 0.022 and
// 0.004 when the mean is half a standard error of the first look from psi, 0.004 and 0.0005 at one, 0.0002
// and 0 at two.
TEST(Austerity, ErrsWithProbabilityEpsPerLookOnNormalTerms) {
  constexpr std::size_t n = 1000, batch = 100;
  constexpr int repeats = 10'000;
  Population population(n, [](Stream& s) { return 5 * normal(s); });
  const double unit = population.sd() / std::sqrt(static_cast<double>(batch));
  for (const double eps : {0.01, 0.05}) {
    const Austerity rule(n, {.eps = eps, .batch = batch});
    const Record tie = decide(rule, population, n, 1e-9 * unit, 0, batch, repeats);
    EXPECT_LT(std::abs(z_of(tie.first_look, 2 * eps, repeats)), 5) << tie.first_look;
    // In a tie, half of the decisions that do not wait for all rows are wrong: at most nine looks of 2 eps.
    EXPECT_LT(z_of(tie.wrong, 9 * eps, repeats), 5) << tie.wrong;
    EXPECT_GT(z_of(tie.wrong, eps, repeats), 5) << tie.wrong;  // the promise is per look, and looks add up
    for (const double gap : {0.5, 1.0, 2.0, -0.5, -1.0, -2.0}) {
      const Record r = decide(rule, population, n, gap * unit, 0, batch, repeats);
      EXPECT_LT(z_of(r.wrong, eps, repeats), 5) << gap;
    }
  }
}

TEST(Austerity, TakesAsManyRowsAsItsBatchesSay) {
  const auto sizes = [](std::size_t n, const Austerity::Options& options) {
    Austerity rule(n, options);
    Stream stream = stream_of(1);
    rule.begin(trial_at(0, stream));
    std::vector<std::size_t> out;
    while (rule.wants() > 0) {
      std::vector<double> terms(rule.wants());  // alternately 1 and -1: psi = 0 is never decided
      for (std::size_t k = 0; k < terms.size(); ++k) terms[k] = (rule.seen().count + k) % 2 == 0 ? 1 : -1;
      rule.see(terms);
      out.push_back(rule.seen().count);
    }
    return out;
  };
  using Sizes = std::vector<std::size_t>;
  EXPECT_EQ(sizes(1000, {.batch = 300}), (Sizes{300, 600, 900, 1000}));
  EXPECT_EQ(sizes(1000, {.batch = 100, .growth = 2}), (Sizes{100, 300, 700, 1000}));
  EXPECT_EQ(sizes(1000, {.batch = 300, .max = 700}), (Sizes{300, 600, 700}));
  EXPECT_EQ(sizes(100, {}), (Sizes{100}));
  EXPECT_EQ(sizes(1, {}), (Sizes{1}));
}

TEST(Austerity, DoesNotTakeTwoEqualTermsForCertainty) {
  Austerity rule(1000, {.batch = 2});
  Stream stream = stream_of(1);
  // 0.1 has no exact sum: the variance of equal terms is rounding, not 0.
  for (const double value : {0.0, 0.1}) {
    rule.begin(trial_at(-1, stream));
    show(rule, std::vector<double>(1000, value));
    EXPECT_EQ(rule.seen().count, 100U);
    EXPECT_TRUE(rule.accept());
  }
  // The 51st row differs: it must be seen, and two equal rows must not decide.
  std::vector<double> terms(1000, 0.1);
  for (std::size_t k = 50; k < terms.size(); ++k) terms[k] = -5 + static_cast<double>(k % 7);
  rule.begin(trial_at(0, stream));
  show(rule, terms);
  EXPECT_GT(rule.seen().count, 50U);
  EXPECT_FALSE(rule.accept());
  rule.begin(trial_at(0, stream));
  show(rule, std::vector<double>(1000, std::numeric_limits<double>::quiet_NaN()));
  EXPECT_EQ(rule.seen().count, 2U);
  EXPECT_FALSE(rule.accept());
}

// ---- Confidence

TEST(Confidence, HasTheWidthsOfItsInequalities) {
  constexpr double delta = 0.2, bound = 3, n = 1000;
  std::vector<double> terms(40);
  Stream stream = stream_of(2);
  normals(stream, terms);
  const double mean = std::accumulate(terms.begin(), terms.end(), 0.0) / 40;
  double variance = 0;
  for (const double t : terms) variance += (t - mean) * (t - mean) / 39;
  for (const double a : {1.5, 2.0}) {
    double spent = 0;
    for (int k = 1; k < 2000; ++k) {
      // With C = 1, m = 1 and one term Hoeffding's c is sqrt(2 log(2 / delta_k)).
      Confidence rule(1, {.delta = delta, .bound = Confidence::Bound::hoeffding, .exponent = a});
      Trial trial = trial_at(0, stream);
      trial.with_replacement = false;
      trial.term_bound = 1;
      rule.begin(trial);
      rule.see(std::vector<double>{0.0});
      spent += 2 * std::exp(-0.5 * std::pow(rule.width(k), 2));
    }
    EXPECT_LT(spent, delta);
    EXPECT_GT(spent, 0.5 * delta);  // and little is wasted
  }
  for (const int k : {1, 2, 7}) {
    const double delta_k = delta / (2 * k * k);
    for (const auto form : {Confidence::Bound::hoeffding, Confidence::Bound::bernstein}) {
      Confidence rule(static_cast<std::size_t>(n), {.delta = delta, .bound = form, .batch = 40});
      Trial trial = trial_at(mean, stream, n);
      trial.with_replacement = false;
      trial.term_bound = bound;
      rule.begin(trial);
      rule.see(terms);
      const double expected = form == Confidence::Bound::hoeffding
                                  ? 2 * bound * std::sqrt((1 - 39 / n) * std::log(2 / delta_k) / (2 * 40))
                                  : std::sqrt(variance) * std::sqrt(2 * std::log(3 / delta_k) / 40) +
                                        3 * (2 * bound) * std::log(3 / delta_k) / 40;
      EXPECT_NEAR(rule.width(k), expected, 1e-12);
      EXPECT_EQ(rule.wants(), 20U);  // the mean is psi: it goes on to 60 rows
    }
  }
}

TEST(Confidence, StopsOutsideItsWidthAndReadsAllRowsInside) {
  constexpr std::size_t n = 1000;
  Population population(n, [](Stream& s) { return uniform(s) - 0.5; });
  for (const auto form : {Confidence::Bound::hoeffding, Confidence::Bound::bernstein})
    for (const double factor : {1 - 1e-6, 1 + 1e-6})
      for (const double side : {-1.0, 1.0}) {
        Stream stream = stream_of(3);
        const auto terms = population.shuffle(stream, n).first(200);
        Confidence rule(n, {.bound = form, .batch = 200});
        Trial trial = trial_at(0, stream);
        trial.with_replacement = false;
        trial.term_bound = 0.5;
        rule.begin(trial);
        rule.see(terms);
        const double psi = rule.seen().mean() + side * factor * rule.width(1);
        trial = trial_at(psi, stream);
        trial.with_replacement = false;
        trial.term_bound = 0.5;
        rule.begin(trial);
        rule.see(terms);
        EXPECT_EQ(rule.wants(), factor > 1 ? 0U : 100U);
        EXPECT_EQ(rule.accept(), side < 0);
      }
  // A tie is decided by all rows, and correctly; without a bound, so is everything else.
  for (const double gap : {1e-12, -1e-12}) {
    const Record r = decide(Confidence(n, {}), population, n, gap, 0.5, 100, 100);
    EXPECT_EQ(r.rows, n);
    EXPECT_EQ(r.wrong, 0);
  }
  for (const double none :
       {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    Stream stream = stream_of(4);
    Confidence rule(n, {});
    Trial trial = trial_at(5, stream);
    trial.with_replacement = false;
    trial.term_bound = none;
    rule.begin(trial);
    EXPECT_EQ(rule.wants(), n);
  }
}

// P(a decision is not that of all rows) <= delta, whatever the terms. The inequalities are far from tight, so
// the last lines check that this test can fail: with a wrong bound it does.
TEST(Confidence, ErrsWithProbabilityDeltaAtMost) {
  constexpr std::size_t n = 2000;
  constexpr int repeats = 2000;
  constexpr double delta = 0.1;
  const std::vector<std::function<double(Stream&)>> laws{
      [](Stream& s) { return uniform(s) < 0.5 ? -1.0 : 1.0; }, [](Stream& s) { return 2 * uniform(s) - 1; },
      [](Stream& s) { return uniform(s) < 0.01 ? 1.0 : 0.001 * normal(s); },  // a few rows dominate
  };
  for (const auto& law : laws) {
    Population population(n, law);
    for (const auto form : {Confidence::Bound::hoeffding, Confidence::Bound::bernstein})
      for (const double gap : {0.02, 0.1, -0.1, 0.4, -0.4}) {
        const Confidence rule(n, {.delta = delta, .bound = form, .batch = 20});
        const Record r =
            decide(rule, population, n, gap * population.largest(), population.largest(), 20, repeats);
        EXPECT_LT(z_of(r.wrong, delta, repeats), 5);
      }
  }
  // Coin tosses decided far too early; rare terms that no pilot sees.
  Population coins(n, laws[0]), rare(n, laws[2]);
  const Confidence hoeffding(n, {.delta = delta, .bound = Confidence::Bound::hoeffding, .batch = 20});
  const Confidence bernstein(n, {.delta = delta, .bound = Confidence::Bound::bernstein, .batch = 20});
  EXPECT_GT(z_of(decide(hoeffding, coins, n, 0.02, 1.0 / 6, 20, repeats).wrong, delta, repeats), 5);
  EXPECT_GT(z_of(decide(bernstein, rare, n, 0.002, 1e-3, 20, repeats).wrong, delta, repeats), 5);
}

// ---- Barker

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }
double logistic_cdf(double x) { return 1 / (1 + std::exp(-x)); }

TEST(Barker, CorrectsANormalToALogisticToSevenDigits) {
  double total = 0, largest = 0;
  for (const Atom& a : logistic_correction_atoms()) {
    ASSERT_GE(a.probability, 0);
    total += (a.value == 0 ? 1 : 2) * a.probability;
  }
  EXPECT_NEAR(total, 1, 1e-12);
  for (double y = -40; y <= 40; y += 0.001) {
    double cdf = 0;
    for (const Atom& a : logistic_correction_atoms())
      cdf +=
          a.probability * (a.value == 0 ? normal_cdf(y) : normal_cdf(y - a.value) + normal_cdf(y + a.value));
    largest = std::max(largest, std::abs(cdf - logistic_cdf(y)));
  }
  EXPECT_LT(largest, 1e-7);
}

// Kolmogorov-Smirnov: sqrt(N) times the distance exceeds 2.7 with probability 2 exp(-2 2.7^2) = 1e-6.
TEST(Barker, AddsUpToALogistic) {
  constexpr std::size_t draws = 200'000;
  std::vector<double> sums(draws);
  for (const double s : {0.0, 0.3, 0.9, 1.0}) {
    Stream stream = stream_of(static_cast<std::uint64_t>(100 * s));
    for (double& x : sums)
      x = s * normal(stream) + std::sqrt(1 - s * s) * normal(stream) + logistic_correction(stream);
    std::sort(sums.begin(), sums.end());
    double distance = 0;
    for (std::size_t k = 0; k < draws; ++k) {
      const double cdf = logistic_cdf(sums[k]), below = static_cast<double>(k) / draws;
      distance = std::max({distance, std::abs(cdf - below), std::abs(cdf - below - 1.0 / draws)});
    }
    EXPECT_LT(distance * std::sqrt(static_cast<double>(draws)), 2.7) << s;
  }
}

// Terms with normal noise whose sd the rule has to estimate: accepted with probability 1 / (1 + e^-ratio).
TEST(Barker, AcceptsWithBarkersProbabilityWhateverTheNoise) {
  constexpr int repeats = 100'000;
  constexpr std::size_t m = 50, n = 1000;
  std::vector<double> terms(m);
  for (const double s : {0.05, 0.6, 0.9})
    for (const double ratio : {-3.0, -0.7, 0.0, 1.5}) {
      Barker rule(n, {.pilot = m, .max = m, .noise_sd = 1});
      double accepted = 0;
      for (int k = 0; k < repeats; ++k) {
        Stream stream = stream_of(static_cast<std::uint64_t>(k));
        normals(stream, terms);
        for (double& t : terms) t = (0.3 * ratio + s * std::sqrt(static_cast<double>(m)) * t) / n;
        rule.begin({.rho = 0.7 * ratio, .rows = n, .stream = &stream});
        show(rule, terms);
        accepted += rule.accept() ? 1.0 / repeats : 0;
      }
      EXPECT_LT(std::abs(z_of(accepted, logistic_cdf(ratio), repeats)), 5) << s << ' ' << ratio;
    }
}

TEST(Barker, ReadsUntilItsNoiseIsBelowTheTargetAndAddsNoneAboveOne) {
  constexpr std::size_t n = 100'000;
  std::vector<double> terms(20'000);
  Stream stream = stream_of(5);
  normals(stream, terms);
  for (double& t : terms) t *= 60.0 / n;  // sd 60 / sqrt(m): 4444 rows for 0.9
  Barker rule(n, {.pilot = 50, .max = 20'000});
  rule.begin({.rows = n, .stream = &stream});
  show(rule, terms);
  EXPECT_LT(rule.noise_variance(), 0.81);
  EXPECT_GT(rule.seen().count, 4000U);
  EXPECT_LT(rule.seen().count, 5500U);
  // Noise of sd 6 and a limit of 100 rows. Without an added normal, the answer depends on the correction
  // alone, which has few values: for a ratio between two of them, the share accepted is exactly P(X >
  // -ratio).
  Barker limited(n, {.pilot = 50, .max = 100});
  double accepted = 0;
  constexpr int repeats = 20'000;
  const double mean = std::accumulate(terms.begin(), terms.begin() + 100, 0.0) / 100;
  for (int k = 0; k < repeats; ++k) {
    Stream fresh = stream_of(static_cast<std::uint64_t>(k));
    limited.begin({.rho = -0.75 - n * mean, .rows = n, .stream = &fresh});
    show(limited, terms);
    ASSERT_EQ(limited.seen().count, 100U);
    accepted += limited.accept() ? 1.0 / repeats : 0;
  }
  double above = 0;
  for (const Atom& a : logistic_correction_atoms()) above += a.value > 0.75 ? a.probability : 0;
  EXPECT_LT(std::abs(z_of(accepted, above, repeats)), 5);
}

// ---- Penalty

TEST(PenaltySize, WithATargetThatAnyNoiseMeetsReadsThePilot) {
  PenaltySize rule(1000, {.pilot = 40, .max = 1000, .noise_sd = 1e9});
  std::vector<double> terms(1000);
  for (std::uint64_t k = 0; k < 100; ++k) {
    Stream stream = stream_of(k);
    normals(stream, terms);
    rule.begin({.rows = 1000, .stream = &stream});
    show(rule, terms);
    ASSERT_EQ(rule.seen().count, 40U);
    ASSERT_GT(rule.penalty(), 1000);  // sd 1000 / sqrt(40): the penalty is large
  }
}

TEST(PenaltySize, WithoutReplacementNeitherReadsMoreThanThereIsNorPaysForWhatItKnows) {
  PenaltySize rule(300, {.pilot = 20, .max = 1000, .noise_sd = 1e-9});
  std::vector<double> terms(300);
  Stream stream = stream_of(6);
  normals(stream, terms);
  rule.begin({.rows = 300, .with_replacement = false, .stream = &stream});
  show(rule, terms);
  EXPECT_EQ(rule.seen().count, 300U);
  EXPECT_EQ(rule.penalty(), 0);
  // Noise of 300 sd sqrt((1 - m/300) / m) with sd 1: below 15 from m = 171 on; with replacement it would take
  // 400. The pilot sees a variance of about 1 already.
  PenaltySize half(300, {.pilot = 100, .max = 1000, .noise_sd = 15});
  half.begin({.rows = 300, .with_replacement = false, .stream = &stream});
  show(half, terms);
  EXPECT_LT(half.noise_variance(), 225);
  EXPECT_GT(half.seen().count, 150U);
  EXPECT_LT(half.seen().count, 200U);
}

}  // namespace
}  // namespace mlo
