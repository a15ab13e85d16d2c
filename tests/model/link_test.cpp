// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/model/link.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace mlo {
namespace {

TEST(Link, InversesAreTheFunctionsTheyAreNamedAfter) {
  std::vector<double> eta;
  for (int k = -80; k <= 80; ++k) eta.push_back(0.1 * k);
  const auto means = [&](Link link) {
    std::vector<double> out(eta.size());
    inverse_link(link, eta, out);
    return out;
  };
  const std::vector<double> identity = means(Link::identity), log = means(Link::log),
                            logit = means(Link::logit), probit = means(Link::probit);
  for (std::size_t k = 0; k < eta.size(); ++k) {
    EXPECT_EQ(identity[k], eta[k]);
    EXPECT_DOUBLE_EQ(log[k], std::exp(eta[k]));
    EXPECT_DOUBLE_EQ(logit[k], 1 / (1 + std::exp(-eta[k])));
    EXPECT_DOUBLE_EQ(probit[k], 0.5 * std::erfc(-eta[k] / std::sqrt(2.0)));
    EXPECT_EQ(logit[k], inverse_link(Link::logit, eta[k]));  // to the last bit, wherever it stands
    EXPECT_EQ(log[k], inverse_link(Link::log, eta[k]));
  }
}

TEST(Link, InversesMayReplaceTheirInput) {
  std::vector<double> values{-1, 0, 1};
  inverse_link(Link::logit, values, values);
  EXPECT_EQ(values[1], 0.5);
  inverse_link(Link::identity, values, values);
  EXPECT_EQ(values[1], 0.5);
}

}  // namespace
}  // namespace mlo
