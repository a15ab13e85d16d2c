// Copyright (c) the mlo authors. BSD-3-Clause.
// Covariances of group effects: their coordinates, and densities against numerical Jacobians.
#include "mlo/model/group_covariance.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace mlo {
namespace {

GroupCovariance covariance_of(std::size_t d, bool correlated = true, double lkj = 1.7) {
  std::vector<Prior> priors;
  for (std::size_t j = 0; j < d; ++j) priors.push_back(Prior::student_t(3, 0, 1 + static_cast<double>(j)));
  return {priors, correlated, lkj};
}

// Some point; `seed` numbers them.
std::vector<double> point(const GroupCovariance& c, double seed) {
  std::vector<double> out;
  for (std::size_t j = 0; j < c.size(); ++j)
    out.push_back((j < c.dim() ? 1.0 : 0.8) * std::sin(seed + 2.3 * static_cast<double>(j)));
  return out;
}

Eigen::MatrixXd matrix(const GroupCovariance& c, const std::vector<double>& working) {
  const Eigen::MatrixXd l = c.factor(working);
  return l * l.transpose();
}

// log |d f / d working| by central differences.
template <class F>
double log_jacobian(const std::vector<double>& working, const F& f) {
  const auto n = static_cast<Eigen::Index>(working.size());
  Eigen::MatrixXd j(n, n);
  constexpr double step = 1e-5;
  for (Eigen::Index k = 0; k < n; ++k) {
    std::vector<double> up = working, down = working;
    up[static_cast<std::size_t>(k)] += step;
    down[static_cast<std::size_t>(k)] -= step;
    j.col(k) = (f(up) - f(down)) / (2 * step);
  }
  return std::log(std::abs(j.determinant()));
}

TEST(GroupCovariance, ComesBackFromItsCovarianceAndFromTheUsersParameters) {
  for (const std::size_t d : {1U, 2U, 3U, 5U})
    for (const bool correlated : {true, false}) {
      const GroupCovariance c = covariance_of(d, correlated);
      EXPECT_EQ(c.size(), d + (correlated ? d * (d - 1) / 2 : 0));
      for (double seed = 0; seed < 5; ++seed) {
        const std::vector<double> working = point(c, seed);
        std::vector<double> again(c.size()), user(c.size()), back(c.size());
        const Eigen::MatrixXd s = matrix(c, working);
        c.from_covariance(s, again);
        c.to_user(working, user);
        c.to_working(user, back);
        for (std::size_t j = 0; j < c.size(); ++j) {
          EXPECT_NEAR(again[j], working[j], 1e-12);
          EXPECT_NEAR(back[j], working[j], 1e-12);
        }
        std::size_t at = d;
        for (std::size_t i = 0; i < d; ++i) {
          const auto a = static_cast<Eigen::Index>(i);
          EXPECT_NEAR(user[i], std::sqrt(s(a, a)), 1e-13 * user[i]);
          for (std::size_t j = 0; j < i; ++j) {
            const auto b = static_cast<Eigen::Index>(j);
            const double r = s(a, b) / std::sqrt(s(a, a) * s(b, b));
            EXPECT_NEAR(correlated ? user[at++] : 0, r, 1e-13);
          }
        }
        const Eigen::MatrixXd one = c.precision(working) * s;
        EXPECT_LT((one - Eigen::MatrixXd::Identity(one.rows(), one.cols())).norm(), 1e-10);
      }
    }
}

// LKJ: det(R)^(shape - 1) in the correlations; priors of the sds in the sds. Up to a constant, so differences
// between points are compared.
TEST(GroupCovariance, HasThePriorOfItsParametersTimesTheJacobian) {
  for (const std::size_t d : {1U, 2U, 3U, 4U})
    for (const bool correlated : {true, false})
      for (const double lkj : {1.0, 0.6, 2.5}) {
        const GroupCovariance c = covariance_of(d, correlated, lkj);
        const auto to_user = [&](const std::vector<double>& working) {
          Eigen::VectorXd out(static_cast<Eigen::Index>(c.size()));
          c.to_user(working, {out.data(), c.size()});
          return out;
        };
        const auto expected = [&](const std::vector<double>& working) {
          const Eigen::VectorXd user = to_user(working);
          double sum = log_jacobian(working, to_user);
          Eigen::MatrixXd s = matrix(c, working);
          double log_det = std::log(s.determinant());
          for (std::size_t j = 0; j < d; ++j) {
            const double sd = user[static_cast<Eigen::Index>(j)], scale = 1 + static_cast<double>(j);
            sum -= 2 * std::log1p(sd * sd / (3 * scale * scale));
            log_det -= 2 * std::log(sd);
          }
          return sum + (correlated ? (lkj - 1) * log_det : 0);
        };
        const std::vector<double> base = point(c, 0.3);
        for (double seed = 1; seed < 6; ++seed) {
          const std::vector<double> working = point(c, seed);
          EXPECT_NEAR(c.log_prior(working) - c.log_prior(base), expected(working) - expected(base), 1e-6)
              << d << " effects, lkj " << lkj;
        }
      }
}

TEST(GroupCovariance, HasTheVolumeOfItsCovariances) {
  for (const std::size_t d : {1U, 2U, 3U, 4U})
    for (const bool correlated : {true, false}) {
      const GroupCovariance c = covariance_of(d, correlated);
      const auto entries = [&](const std::vector<double>& working) {
        const Eigen::MatrixXd s = matrix(c, working);
        Eigen::VectorXd out(static_cast<Eigen::Index>(c.size()));
        Eigen::Index at = 0;
        for (Eigen::Index i = 0; i < s.rows(); ++i) out[at++] = s(i, i);
        for (Eigen::Index i = 0; i < s.rows() && c.correlated(); ++i)
          for (Eigen::Index j = 0; j < i; ++j) out[at++] = s(i, j);
        return out;
      };
      const std::vector<double> base = point(c, 0.3);
      for (double seed = 1; seed < 6; ++seed) {
        const std::vector<double> working = point(c, seed);
        EXPECT_NEAR(c.log_volume(working) - c.log_volume(base),
                    -log_jacobian(working, entries) + log_jacobian(base, entries), 1e-6)
            << d << " effects";
      }
    }
}

// In two dimensions the correlation's marginal law under LKJ is a beta law on (-1, 1): its variance is
// 1 / (2 shape + 1), and the sds' log prior integrates to the half student's mass.
TEST(GroupCovariance, IntegratesToTheMomentsOfItsPrior) {
  for (const double lkj : {1.0, 2.0}) {
    const GroupCovariance c({Prior::normal(0, 1), Prior::normal(0, 1)}, true, lkj);
    double total = 0, square = 0;
    for (double z = -12; z <= 12; z += 0.01) {
      const double p = std::exp(c.log_prior(std::vector<double>{0.1, -0.2, z}));
      total += p;
      square += p * std::tanh(z) * std::tanh(z);
    }
    EXPECT_NEAR(square / total, 1 / (2 * lkj + 1), 1e-6);
  }
  const GroupCovariance one({Prior::student_t(3, 0, 2.5)}, true, 1);
  double total = 0;
  for (double x = -30; x <= 15; x += 0.01) total += 0.01 * std::exp(one.log_prior(std::vector<double>{x}));
  EXPECT_NEAR(total, 0.5, 1e-6);  // the part above 0
}

}  // namespace
}  // namespace mlo
