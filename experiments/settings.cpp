// Copyright (c) the mlo authors. BSD-3-Clause.
#include "experiments/settings.hpp"

#include <fmt/format.h>

#include <cmath>

#include "mlo/base/errors.hpp"

namespace mlo::experiments {

void check(const Settings& s) {
  // Two, because a Monte Carlo error needs a variance.
  if (s.reps && (*s.reps < 2 || *s.reps > 1'000'000))
    throw UsageError(fmt::format("`reps` must be between 2 and 1000000 (got {})", *s.reps));
  if (s.threads < 0 || s.threads > 1024)
    throw UsageError(fmt::format("`threads` must be between 0 and 1024 (got {})", s.threads));
  const auto positive = [](const char* option, double value) {
    if (!(value > 0 && std::isfinite(value)))
      throw UsageError(fmt::format("`{}` must be positive and finite (got {})", option, value));
  };
  positive("proposal-scale-mean", s.proposal_scale_mean);
  positive("proposal-scale-precision", s.proposal_scale_precision);
  positive("proposal-scale-logistic", s.proposal_scale_logistic);
  positive("proposal-scale-covertype", s.proposal_scale_covertype);
  const auto probability = [](const char* option, double value) {
    if (!(value > 0 && value < 1))
      throw UsageError(fmt::format("`{}` must be between 0 and 1, exclusive (got {})", option, value));
  };
  probability("delta", s.delta);
  probability("delta-covertype", s.delta_covertype);
  if (s.proposal_precision != "gamma" && s.proposal_precision != "random-walk")
    throw UsageError(fmt::format("`proposal-precision` must be one of gamma, random-walk (got \"{}\")",
                                 s.proposal_precision));
  if (s.proposal_precision == "gamma" && s.proposal_scale_precision > 1)
    throw UsageError(fmt::format(
        "`proposal-scale-precision` must be at most 1 with `proposal-precision gamma`, where it is the step's "
        "standard deviation as a share of tau (got {})",
        s.proposal_scale_precision));
  if (s.start != "mode" && s.start != "laplace")
    throw UsageError(fmt::format("`start` must be one of laplace, mode (got \"{}\")", s.start));
}

}  // namespace mlo::experiments
