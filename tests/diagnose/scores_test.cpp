// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/diagnose/scores.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <string>
#include <vector>

namespace mlo::test {
namespace {

using Numbers = std::vector<double>;

TEST(Auc, IsTheShareOfPairsInTheRightOrder) {
  EXPECT_EQ(area_under_curve(Numbers{0.1, 0.4, 0.35, 0.8}, Numbers{0, 0, 1, 1}),
            0.75);  // scikit-learn's example
  EXPECT_EQ(area_under_curve(Numbers{0.1, 0.2, 0.3}, Numbers{0, 0, 1}), 1);
  EXPECT_EQ(area_under_curve(Numbers{0.3, 0.2, 0.1}, Numbers{0, 0, 1}), 0);
  EXPECT_EQ(area_under_curve(Numbers{0.5, 0.5, 0.5}, Numbers{0, 1, 1}), 0.5);
  EXPECT_TRUE(std::isnan(area_under_curve(Numbers{0.1, 0.2}, Numbers{1, 1})));
}

TEST(Auc, AgreesWithACountOfAllPairsAlsoWithTies) {
  std::mt19937_64 random(1);
  for (const std::uint64_t values : {2, 5, 1000}) {
    Numbers predicted, y;
    for (int k = 0; k < 200; ++k) {
      predicted.push_back(static_cast<double>(random() % values));
      y.push_back(static_cast<double>(random() % 2));
    }
    double wins = 0, pairs = 0;
    for (std::size_t a = 0; a < y.size(); ++a)
      for (std::size_t b = 0; b < y.size(); ++b) {
        if (y[a] != 1 || y[b] != 0) continue;
        pairs += 1;
        wins += predicted[a] > predicted[b] ? 1 : predicted[a] == predicted[b] ? 0.5 : 0;
      }
    EXPECT_NEAR(area_under_curve(predicted, y), wins / pairs, 1e-15);
  }
}

TEST(MeanSquaredError, IsBriersScoreOfProbabilities) {
  EXPECT_NEAR(mean_squared_error(Numbers{0.1, 0.9, 0.8, 0.3}, Numbers{0, 1, 1, 0}), 0.0375,
              1e-16);  // scikit-learn's example
}

TEST(Calibration, GroupsRowsByDecileOfThePrediction) {
  Numbers predicted, y;
  for (int k = 0; k < 1000; ++k) {
    predicted.push_back(((k * 7919) % 1000) / 1000.0);  // 0, 0.001, ..., in another order
    y.push_back(predicted.back() < 0.5 ? 0 : 1);
  }
  const std::vector<CalibrationBin> bins = calibration(predicted, y);
  ASSERT_EQ(bins.size(), 10U);
  for (std::size_t b = 0; b < bins.size(); ++b) {
    EXPECT_EQ(bins[b].rows, 100U);
    EXPECT_NEAR(bins[b].predicted, 0.1 * static_cast<double>(b) + 0.0495, 1e-12);
    EXPECT_EQ(bins[b].observed, b < 5 ? 0 : 1);
  }
}

TEST(Calibration, KeepsEqualPredictionsTogetherInWhateverOrderTheyCome) {
  Numbers predicted(50, 0.2), y(50, 0.0);
  predicted.insert(predicted.end(), 50, 0.7);
  y.insert(y.end(), 50, 1.0);
  for (int reversed = 0; reversed < 2; ++reversed) {
    const std::vector<CalibrationBin> bins = calibration(predicted, y);
    ASSERT_EQ(bins.size(), 2U);
    EXPECT_EQ(bins[0].rows, 50U);
    EXPECT_NEAR(bins[0].predicted, 0.2, 1e-15);
    EXPECT_EQ(bins[0].observed, 0);
    EXPECT_EQ(bins[1].observed, 1);
    std::reverse(predicted.begin(), predicted.end());
    std::reverse(y.begin(), y.end());
  }
  EXPECT_EQ(calibration(Numbers{0.5, 0.6, 0.7}, Numbers{0, 1, 1}).size(), 3U);
}

TEST(LogMeanExp, NeitherOverflowsNorUnderflows) {
  EXPECT_NEAR(log_mean_exp(Numbers{0, std::log(3)}), std::log(2), 1e-15);
  EXPECT_NEAR(log_mean_exp(Numbers{2000, 2000 + std::log(3)}), 2000 + std::log(2), 1e-12);
  EXPECT_NEAR(log_mean_exp(Numbers{-2000, -2000 + std::log(3)}), -2000 + std::log(2), 1e-12);
  const double lost = -std::numeric_limits<double>::infinity();
  EXPECT_EQ(log_mean_exp(Numbers{lost, lost}), lost);
  EXPECT_NEAR(log_mean_exp(Numbers{lost, 0}), -std::log(2), 1e-15);
}

struct Data {
  Numbers x, offsets, y;

  // The result refers to this object's copy of the numbers, which it owns.
  [[nodiscard]] ScoredRows rows() const {
    return {y, std::vector<char>(y.size(), 1),
            [data = *this](std::size_t first, std::span<double> out, std::span<double> its_offsets) {
              const std::size_t dim = data.x.size() / data.y.size();
              std::copy_n(data.x.begin() + static_cast<std::ptrdiff_t>(first * dim), out.size(), out.begin());
              std::copy_n(data.offsets.begin() + static_cast<std::ptrdiff_t>(first), its_offsets.size(),
                          its_offsets.begin());
            }};
  }
};

struct Case {
  std::string family;
  double (*log_density)(double y, double eta, double second);
  double (*mean)(double eta);
  double (*response)(std::mt19937_64& random);
  double (*deviance)(double y, double mean, double second);  // as R's dev.resids; null: none
};

double identity_mean(double eta) { return eta; }
double log_mean(double eta) { return std::exp(eta); }
double a_count(std::mt19937_64& random) { return static_cast<double>(random() % 4); }

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"logistic",
       [](double y, double eta, double) {
         return y == 1 ? -std::log1p(std::exp(-eta)) : -std::log1p(std::exp(eta));
       },
       [](double eta) { return 1 / (1 + std::exp(-eta)); },
       [](std::mt19937_64& r) { return static_cast<double>(r() % 2); }, nullptr},
      {"probit",
       [](double y, double eta, double) {
         return std::log(0.5 * std::erfc((y == 1 ? -eta : eta) / std::numbers::sqrt2));
       },
       [](double eta) { return 0.5 * std::erfc(-eta / std::numbers::sqrt2); },
       [](std::mt19937_64& r) { return static_cast<double>(r() % 2); }, nullptr},
      {"gaussian",
       [](double y, double eta, double sigma) {
         return -0.5 * std::pow((y - eta) / sigma, 2) - std::log(sigma * std::sqrt(2 * std::numbers::pi));
       },
       identity_mean, [](std::mt19937_64& r) { return std::normal_distribution<double>()(r); },
       [](double y, double mean, double) { return (y - mean) * (y - mean); }},
      {"student",
       [](double y, double eta, double sigma) {
         return std::lgamma(2.5) - std::lgamma(2.0) - 0.5 * std::log(4 * std::numbers::pi) - std::log(sigma) -
                2.5 * std::log1p(std::pow((y - eta) / sigma, 2) / 4);
       },
       identity_mean, [](std::mt19937_64& r) { return std::normal_distribution<double>()(r); }, nullptr},
      {"poisson", [](double y, double eta, double) { return y * eta - std::exp(eta) - std::lgamma(y + 1); },
       log_mean, a_count,
       [](double y, double mean, double) { return 2 * ((y > 0 ? y * std::log(y / mean) : 0) - (y - mean)); }},
      {"negative-binomial",
       [](double y, double eta, double k) {
         const double mean = std::exp(eta);
         return std::lgamma(y + k) - std::lgamma(k) - std::lgamma(y + 1) + k * std::log(k / (k + mean)) +
                y * std::log(mean / (k + mean));
       },
       log_mean, a_count,
       [](double y, double mean, double k) {
         return 2 * ((y > 0 ? y * std::log(y / mean) : 0) - (y + k) * std::log((y + k) / (mean + k)));
       }},
      {"gamma",
       [](double y, double eta, double k) {
         const double rate = k / std::exp(eta);
         return k * std::log(rate) - std::lgamma(k) + (k - 1) * std::log(y) - rate * y;
       },
       log_mean, [](std::mt19937_64& r) { return std::exponential_distribution<double>()(r); },
       [](double y, double mean, double) { return -2 * (std::log(y / mean) - (y - mean) / mean); }},
  };
  return all;
}

TEST(Score, AgreesWithPlainSumsOverAllDrawsForEachFamily) {
  constexpr std::size_t dim = 3, rows = 131, draws = 601;
  for (const Case& c : cases()) {
    const std::shared_ptr<const Family> family = make_family(c.family);
    const bool second = family->estimates_second();
    std::mt19937_64 random(4);
    std::normal_distribution<double> normal;
    std::vector<ChainDraws> chains(1);
    chains[0].dim = dim + (second ? 1 : 0);
    for (std::size_t s = 0; s < draws; ++s) {
      for (std::size_t j = 0; j < dim; ++j) chains[0].draws.push_back(0.3 * normal(random));
      if (second) chains[0].draws.push_back(std::exp(0.2 * normal(random)));
      chains[0].log_posteriors.push_back(0);
    }
    Data data;
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t j = 0; j < dim; ++j) data.x.push_back(normal(random));
      data.offsets.push_back(0.2 * normal(random));
      data.y.push_back(c.response(random));
    }
    const PosteriorDraws posterior(chains, dim, second);

    Numbers means(rows, 0.0), densities(rows, 0.0);
    double mean_second = 0;
    for (std::size_t s = 0; s < draws; ++s) {
      const double* const theta = chains[0].draws.data() + s * chains[0].dim;
      mean_second += (second ? theta[dim] : 0) / draws;
      for (std::size_t r = 0; r < rows; ++r) {
        double eta = data.offsets[r];
        for (std::size_t j = 0; j < dim; ++j) eta += data.x[r * dim + j] * theta[j];
        means[r] += c.mean(eta) / draws;
        densities[r] += std::exp(c.log_density(data.y[r], eta, second ? theta[dim] : 0)) / draws;
      }
    }
    double log_score = 0, squares = 0, deviance = 0, errors = 0;
    for (const double d : densities) log_score += std::log(d) / rows;
    for (std::size_t r = 0; r < rows; ++r) {
      squares += std::pow(std::log(densities[r]) - log_score, 2);
      errors += std::pow(means[r] - data.y[r], 2) / rows;
      if (c.deviance != nullptr) deviance += c.deviance(data.y[r], means[r], mean_second) / rows;
    }

    ThreadPool one(1), three(3);
    const Scores scores = score(*family, posterior, data.rows(), one);
    EXPECT_EQ(scores.rows, rows);
    EXPECT_NEAR(scores.log_score, log_score, 1e-11) << c.family;
    EXPECT_NEAR(scores.log_score_error, std::sqrt(squares / (rows - 1) / rows), 1e-11) << c.family;
    const bool binary = c.family == "logistic" || c.family == "probit";
    ASSERT_EQ(scores.auc.has_value(), binary);
    ASSERT_EQ(scores.brier.has_value(), binary);
    ASSERT_EQ(scores.rmse.has_value(), !binary);
    ASSERT_EQ(scores.deviance.has_value(), c.deviance != nullptr) << c.family;
    if (binary) {
      EXPECT_NEAR(*scores.auc, area_under_curve(means, data.y), 1e-15);
      EXPECT_NEAR(*scores.brier, errors, 1e-12);
    } else {
      EXPECT_NEAR(*scores.rmse, std::sqrt(errors), 1e-11) << c.family;
    }
    if (c.deviance != nullptr) {
      EXPECT_NEAR(*scores.deviance, deviance, 1e-10) << c.family;
    }
    EXPECT_EQ(scores.calibration.size(), 10U);
    const Scores again = score(*family, posterior, data.rows(), three);
    EXPECT_EQ(again.log_score, scores.log_score);
    EXPECT_EQ(again.calibration[3].predicted, scores.calibration[3].predicted);
  }
}

TEST(Score, LeavesOutRowsThatAreNotComplete) {
  std::vector<ChainDraws> chains(1);
  chains[0].dim = 1;
  for (int s = 0; s < 20; ++s) {
    chains[0].draws.push_back(0.1 * s);
    chains[0].log_posteriors.push_back(0);
  }
  const PosteriorDraws posterior(chains, 1, false);
  const Data some{{1, 2, -1}, {0, 0.5, 0.25}, {1, 0, 1}};
  const Data more{{1, 7, 2, -1, 7}, {0, 7, 0.5, 0.25, 7}, {1, 7, 0, 1, 7}};
  ScoredRows rows = more.rows();
  rows.complete = {1, 0, 1, 1, 0};
  ThreadPool pool(1);
  const Scores expected = score(*make_family("logistic"), posterior, some.rows(), pool);
  const Scores scores = score(*make_family("logistic"), posterior, rows, pool);
  EXPECT_EQ(scores.rows, 3U);
  EXPECT_EQ(scores.missing, 2U);
  EXPECT_EQ(expected.missing, 0U);
  EXPECT_EQ(scores.log_score, expected.log_score);
  EXPECT_EQ(scores.brier, expected.brier);
  EXPECT_EQ(scores.auc, expected.auc);
}

// Draws so different that the density at their mean says nothing: p(y | draw) is e^-800 and e^-200,000 for
// half of the draws each, and e^-50,000 at their mean.
TEST(Score, IsRightWhereDensitiesAreSmallerThanAnyDouble) {
  std::vector<ChainDraws> chains(1);
  chains[0].dim = 1;
  for (int s = 0; s < 40; ++s) {
    chains[0].draws.push_back(s % 2 == 0 ? 40 : 632.45553203367586);
    chains[0].log_posteriors.push_back(0);
  }
  const PosteriorDraws posterior(chains, 1, false);
  ThreadPool pool(1);
  const Scores scores =
      score(*make_family("gaussian-mean"), posterior, Data{{1.0}, {0.0}, {0.0}}.rows(), pool);
  EXPECT_NEAR(scores.log_score, -800 - 0.5 * std::log(2 * std::numbers::pi) - std::log(2), 1e-10);
}

}  // namespace
}  // namespace mlo::test
