// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/diagnose/predictions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "mlo/base/random.hpp"
#include "mlo/diagnose/summary.hpp"

namespace mlo::test {
namespace {

// Chains of independent normal draws; a parameter beyond the coefficients is positive.
std::vector<ChainDraws> chains_of(std::size_t chains, std::size_t draws, std::size_t coefficients,
                                  bool second, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<ChainDraws> out(chains);
  for (ChainDraws& chain : out) {
    chain.dim = coefficients + (second ? 1 : 0);
    for (std::size_t k = 0; k < draws; ++k) {
      for (std::size_t j = 0; j < coefficients; ++j)
        chain.draws.push_back(0.3 * normal(random) + 0.1 * static_cast<double>(j));
      if (second) chain.draws.push_back(std::exp(0.2 * normal(random)));
      chain.log_posteriors.push_back(0);
    }
  }
  return out;
}

struct NewData {
  std::vector<double> x, offsets;
  std::size_t rows = 0;
};
NewData rows_of(std::size_t rows, std::size_t dim, std::uint64_t seed = 2) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  NewData out;
  out.rows = rows;
  for (std::size_t k = 0; k < rows * dim; ++k)
    out.x.push_back(random() % 3 == 0 ? 0 : normal(random));  // zeros too, as levels of factors give
  for (std::size_t k = 0; k < rows; ++k) out.offsets.push_back(0.1 * normal(random));
  return out;
}

// The predictors of a row, in the plain way.
std::vector<double> naive_predictors(const std::vector<ChainDraws>& chains, const NewData& data,
                                     std::size_t row, std::size_t dim) {
  std::size_t length = chains[0].size();
  for (const ChainDraws& chain : chains) length = std::min(length, chain.size());
  std::vector<double> out;
  for (const ChainDraws& chain : chains)
    for (std::size_t k = 0; k < length; ++k) {
      double eta = data.offsets[row];
      for (std::size_t j = 0; j < dim; ++j) eta += data.x[row * dim + j] * chain.draws[k * chain.dim + j];
      out.push_back(eta);
    }
  return out;
}

double naive_mean_response(const std::string& family, double eta) {
  if (family == "logistic") return 1 / (1 + std::exp(-eta));
  if (family == "probit") return 0.5 * std::erfc(-eta / std::sqrt(2.0));
  if (family == "poisson" || family == "negative-binomial" || family == "gamma") return std::exp(eta);
  return eta;
}

std::vector<Prediction> predictions_of(const std::string& family, const PosteriorDraws& draws,
                                       const NewData& data, const PredictorOptions& options,
                                       std::size_t threads = 1) {
  ThreadPool pool(threads);
  std::vector<Prediction> out(data.rows);
  Predictor(*find_family(family), {}, draws, options).predict(pool, 0, data.x, data.offsets, out);
  return out;
}

void expect_summary(const Prediction& p, std::vector<double> values, double interval,
                    const std::string& what) {
  double mean = 0, squares = 0, size = 0;
  for (const double v : values) mean += v / static_cast<double>(values.size());
  for (const double v : values) {
    squares += (v - mean) * (v - mean);
    size = std::max(size, std::abs(v));
  }
  std::sort(values.begin(), values.end());
  // Sums of some hundred terms, in another order.
  const double rounding = 1e-13 * size;
  EXPECT_NEAR(p.mean, mean, rounding) << what;
  EXPECT_NEAR(p.sd, std::sqrt(squares / static_cast<double>(values.size() - 1)), rounding) << what;
  EXPECT_NEAR(p.low, quantile(values, 0.5 - 0.5 * interval), rounding) << what;
  EXPECT_NEAR(p.high, quantile(values, 0.5 + 0.5 * interval), rounding) << what;
}

TEST(PosteriorDraws, GiveThePredictorsOfAnyNumberOfRowsAndDraws) {
  for (const std::size_t dim : {1, 2, 5, 40})
    for (const std::size_t draws : {1, 7, 16, 17, 50})
      for (const std::size_t count : {1, 2, 3, 4, 5, 9}) {
        const std::vector<ChainDraws> chains = chains_of(2, draws, dim, false);
        const NewData data = rows_of(count, dim);
        const PosteriorDraws posterior(chains, dim, false);
        const std::size_t stride = PosteriorDraws::padded(posterior.draws());
        std::vector<double> eta(count * stride);
        posterior.predictors(data.x, data.offsets, 0, posterior.draws(), stride, eta);
        for (std::size_t r = 0; r < count; ++r) {
          const std::vector<double> expected = naive_predictors(chains, data, r, dim);
          for (std::size_t s = 0; s < expected.size(); ++s)
            EXPECT_NEAR(eta[r * stride + s], expected[s], 1e-13) << dim << " " << draws << " " << count;
        }
      }
}

TEST(PosteriorDraws, UseAsManyDrawsOfEachChainAsTheShortestHas) {
  std::vector<ChainDraws> chains = chains_of(3, 20, 2, true);
  chains[1].draws.erase(chains[1].draws.begin() + 45, chains[1].draws.end());
  chains[1].log_posteriors.resize(15);
  const PosteriorDraws posterior(chains, 2, true);
  EXPECT_EQ(posterior.draws(), 45U);
  EXPECT_EQ(posterior.second().size(), 45U);
  EXPECT_EQ(posterior.second()[15], chains[1].draws[2]);
  EXPECT_EQ(posterior.coefficient(1, 44), chains[2].draws[std::size_t{14} * 3 + 1]);
}

TEST(Predictor, SummarisesPredictorsAndMeanResponsesOverAllDraws) {
  constexpr std::size_t dim = 4;
  const NewData data = rows_of(37, dim);
  for (const std::string family :
       {"gaussian", "student", "logistic", "probit", "poisson", "negative-binomial", "gamma"}) {
    const bool second = estimates_second(*find_family(family), {});
    const std::vector<ChainDraws> chains = chains_of(3, 111, dim, second);
    const PosteriorDraws posterior(chains, dim, second);
    for (const double interval : {0.5, 0.9, 0.95}) {
      const auto link =
          predictions_of(family, posterior, data, {.type = PredictionType::link, .interval = interval});
      const auto response =
          predictions_of(family, posterior, data, {.type = PredictionType::response, .interval = interval});
      for (std::size_t r = 0; r < data.rows; ++r) {
        std::vector<double> values = naive_predictors(chains, data, r, dim);
        expect_summary(link[r], values, interval, family + " link");
        for (double& v : values) v = naive_mean_response(family, v);
        expect_summary(response[r], values, interval, family + " response");
      }
    }
  }
}

// The variance of a response given the predictor and the second parameter.
double naive_variance(const std::string& family, double eta, double second) {
  const double mean = naive_mean_response(family, eta);
  if (family == "gaussian") return second * second;
  if (family == "student") return 2 * second * second;  // 4 degrees of freedom: 4 / (4 - 2)
  if (family == "poisson") return mean;
  if (family == "negative-binomial") return mean + mean * mean / second;
  if (family == "gamma") return mean * mean / second;
  return mean * (1 - mean);
}

// The mean of 100,000 simulated responses against the mean of their means, as z by the sum of their
// variances: 6 families of 5 rows, |z| < 5, one false alarm in 60,000.
TEST(Predictor, SimulatesResponsesWithTheSecondParameterOfEachDraw) {
  constexpr std::size_t dim = 2, draws = 100'000;
  const NewData data = rows_of(5, dim);
  for (const std::string family :
       {"gaussian", "student", "logistic", "poisson", "negative-binomial", "gamma"}) {
    const bool second = estimates_second(*find_family(family), {});
    const std::vector<ChainDraws> chains = chains_of(1, draws, dim, second);
    const PosteriorDraws posterior(chains, dim, second);
    const auto out = predictions_of(family, posterior, data, {.type = PredictionType::draw, .seed = 3});
    for (std::size_t r = 0; r < data.rows; ++r) {
      const std::vector<double> eta = naive_predictors(chains, data, r, dim);
      double mean = 0, variance = 0, of_means = 0;
      for (std::size_t s = 0; s < draws; ++s) {
        mean += naive_mean_response(family, eta[s]) / draws;
        variance += naive_variance(family, eta[s], second ? posterior.second()[s] : 0) / draws;
      }
      for (std::size_t s = 0; s < draws; ++s)
        of_means += std::pow(naive_mean_response(family, eta[s]) - mean, 2) / draws;
      EXPECT_LT(std::abs(out[r].mean - mean) / std::sqrt(variance / draws), 5) << family;
      // The law of total variance. A sample variance of 100,000 values is within 5 % unless tails are heavy;
      // Student's law with 4 degrees of freedom has no fourth moment.
      EXPECT_NEAR(out[r].sd, std::sqrt(variance + of_means), (family == "student" ? 0.25 : 0.05) * out[r].sd)
          << family;
    }
  }
}

TEST(Predictor, SimulatesWithAKnownSecondParameter) {
  const std::vector<ChainDraws> chains = chains_of(1, 20'000, 1, false);
  const PosteriorDraws posterior(chains, 1, false);
  const NewData data{{0.0}, {2.0}, 1};
  ThreadPool pool(1);
  std::vector<Prediction> out(1);
  Predictor(*find_family("gaussian-mean"), {{"known-sigma", 5.0}}, posterior, {.type = PredictionType::draw})
      .predict(pool, 0, data.x, data.offsets, out);
  EXPECT_NEAR(out[0].mean, 2, 5 * 5 / std::sqrt(20'000.0));
  EXPECT_NEAR(out[0].sd, 5, 5 * 5 / std::sqrt(40'000.0));  // five standard errors of an sd
}

TEST(Predictor, GivesARowTheSamePredictionInAnyBlockAndWithAnyThreads) {
  constexpr std::size_t dim = 3;
  const NewData data = rows_of(700, dim);
  const std::vector<ChainDraws> chains = chains_of(2, 60, dim, true);
  const PosteriorDraws posterior(chains, dim, true);
  for (const PredictionType type : {PredictionType::link, PredictionType::response, PredictionType::draw}) {
    const PredictorOptions options{.type = type, .seed = 9};
    const auto whole = predictions_of("negative-binomial", posterior, data, options);
    const auto threads = predictions_of("negative-binomial", posterior, data, options, 3);
    const Predictor predictor(*find_family("negative-binomial"), {}, posterior, options);
    ThreadPool pool(1);
    for (std::size_t r = 0; r < data.rows; ++r) {
      EXPECT_EQ(whole[r].mean, threads[r].mean);
      EXPECT_EQ(whole[r].high, threads[r].high);
      if (r % 7 != 0) continue;
      std::vector<Prediction> alone(1);
      predictor.predict(pool, r, std::span(data.x).subspan(r * dim, dim),
                        std::span(data.offsets).subspan(r, 1), alone);
      EXPECT_EQ(whole[r].mean, alone[0].mean);
      EXPECT_EQ(whole[r].sd, alone[0].sd);
      EXPECT_EQ(whole[r].low, alone[0].low);
      EXPECT_EQ(whole[r].high, alone[0].high);
    }
  }
}

TEST(Predictor, IsNotFiniteWhereAResponseIsTooLarge) {
  const std::vector<ChainDraws> chains = chains_of(1, 50, 1, false);
  const PosteriorDraws posterior(chains, 1, false);
  const NewData data{{0.0, 0.0}, {0.0, 800.0}, 2};
  for (const PredictionType type : {PredictionType::response, PredictionType::draw}) {
    const auto out = predictions_of("poisson", posterior, data, {.type = type});
    EXPECT_TRUE(std::isfinite(out[0].mean));
    EXPECT_FALSE(std::isfinite(out[1].mean));
  }
}

}  // namespace
}  // namespace mlo::test
