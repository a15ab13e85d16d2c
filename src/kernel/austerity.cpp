// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/kernel/austerity.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cassert>

namespace mlo {
namespace {

// The upper eps quantile of Student's t; z is that of the normal. For many degrees of freedom by the
// Cornish-Fisher expansion, whose error at 1000 is below 1e-8: there may be a million looks, and they are
// tabulated in every run.
double t_quantile(double freedom, double eps, double z) {
  if (freedom < 1000)
    return boost::math::quantile(
        boost::math::complement(boost::math::students_t_distribution<>(freedom), eps));
  const double z2 = z * z;
  const double first = z * (z2 + 1) / 4, second = z * ((5 * z2 + 16) * z2 + 3) / 96;
  return z + (first + second / freedom) / freedom;
}

}  // namespace

Austerity::Austerity(std::size_t rows, const Options& options) : rows_(static_cast<double>(rows)) {
  assert(options.eps > 0 && options.eps < 0.5 && options.batch >= 2 && options.growth >= 1 &&
         options.max >= 1);
  const std::size_t limit = std::min(rows, options.max);
  const double z =
      boost::math::quantile(boost::math::complement(boost::math::normal_distribution<>(), options.eps));
  std::vector<Look> looks;
  double batch = static_cast<double>(options.batch);
  for (std::size_t size = 0; size < limit; batch *= options.growth) {
    const double room = static_cast<double>(limit - size);
    size += batch < room ? static_cast<std::size_t>(batch) : limit - size;
    looks.push_back({size, size < 2 ? 0.0 : t_quantile(static_cast<double>(size - 1), options.eps, z)});
  }
  looks_ = std::make_shared<const std::vector<Look>>(std::move(looks));
}

}  // namespace mlo
