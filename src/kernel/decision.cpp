// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/kernel/decision.hpp"

#include <boost/math/distributions/normal.hpp>

namespace mlo {

AdaptiveSize::AdaptiveSize(const Options& options)
    : options_(options),
      z_(boost::math::quantile(
          boost::math::complement(boost::math::normal_distribution<>(), options.delta / 2))) {}

}  // namespace mlo
