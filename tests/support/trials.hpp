// Copyright (c) the mlo authors. BSD-3-Clause.
// Decisions without a chain: a rule is given a threshold and shown terms.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>

#include "mlo/base/random.hpp"
#include "mlo/kernel/decision.hpp"

namespace mlo::testing {

// A trial whose threshold() is psi, up to rounding.
inline Trial trial_at(double psi, Stream& stream, double rows = 1) {
  Stream ahead = stream;
  return {.rho = std::log(uniform(ahead)) - rows * psi, .rows = rows, .stream = &stream};
}

// Shows the rule the given terms from the front, in pieces as a kernel does, until it wants no more.
template <Decision R>
void show(R& rule, std::span<const double> terms, std::size_t piece = 256) {
  for (std::size_t wanted = rule.wants(); wanted > 0; wanted = rule.wants())
    rule.see(terms.subspan(rule.seen().count, std::min(wanted, piece)));
}

}  // namespace mlo::testing
