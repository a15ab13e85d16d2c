// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/model/hyper_dual.hpp"

#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>

namespace mlo::ad {
namespace {

// Outside the domain: NaN, not an exception, as in <cmath>.
using Quiet =
    boost::math::policies::policy<boost::math::policies::domain_error<boost::math::policies::ignore_error>,
                                  boost::math::policies::pole_error<boost::math::policies::ignore_error>,
                                  boost::math::policies::overflow_error<boost::math::policies::ignore_error>>;

}  // namespace

double digamma(double x) { return boost::math::digamma(x, Quiet()); }
double trigamma(double x) { return boost::math::trigamma(x, Quiet()); }

}  // namespace mlo::ad
