// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/model/link.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

#include "mlo/base/special.hpp"

namespace mlo {

void inverse_link(Link link, std::span<const double> eta, std::span<double> mean) noexcept {
  assert(eta.size() == mean.size());
  switch (link) {
    case Link::identity:
      if (mean.data() != eta.data()) std::copy(eta.begin(), eta.end(), mean.begin());
      return;
    case Link::log:
      return exp(eta, mean);
    case Link::logit:
      return sigmoid(eta, mean);
    case Link::probit:
      for (std::size_t k = 0; k < eta.size(); ++k) mean[k] = 0.5 * std::erfc(-eta[k] / std::numbers::sqrt2);
      return;
  }
}

// By way of the array, so that a number has the same mean wherever it stands.
double inverse_link(Link link, double eta) noexcept {
  double mean = 0;
  inverse_link(link, {&eta, 1}, {&mean, 1});
  return mean;
}

}  // namespace mlo
