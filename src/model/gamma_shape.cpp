// Copyright (c) the mlo authors. BSD-3-Clause.
#include "model/gamma_shape.hpp"

#include <algorithm>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>
#include <cmath>
#include <limits>
#include <numbers>

#include "mlo/base/special.hpp"

namespace mlo {

// S(k), k (log k - digamma(k)) and k (1 - k trigamma(k)). For large k all three are small differences of
// large numbers: there Stirling's series gives them to 1e-15. Near 0, digamma and trigamma overflow, and
// Boost throws: there log Gamma(k) = -log k - c k + O(k^2), where c is Euler's constant.
ShapeTerms shape_terms(double k) noexcept {
  if (k < 1e-9) {
    const double log_k = std::log(std::max(k, std::numeric_limits<double>::min()));
    return {(1 + k) * log_k - k * (1 - std::numbers::egamma), 1 + k * (log_k + std::numbers::egamma), k - 1};
  }
  if (k < 25)
    return {k * std::log(k) - k - log_gamma(k), k * (std::log(k) - boost::math::digamma(k)),
            k * (1 - k * boost::math::trigamma(k))};
  const double w = 1 / (k * k);
  return {0.5 * std::log(k / (2 * std::numbers::pi)) -
              (1.0 / 12 - w * (1.0 / 360 - w * (1.0 / 1260 - w * (1.0 / 1680 - w / 1188)))) / k,
          0.5 + (1.0 / 12 - w * (1.0 / 120 - w * (1.0 / 252 - w * (1.0 / 240 - w / 132)))) / k,
          -0.5 - (1.0 / 6 - w * (1.0 / 30 - w * (1.0 / 42 - w * (1.0 / 30 - w * 5 / 66)))) / k};
}

}  // namespace mlo
