// Copyright (c) the mlo authors. BSD-3-Clause.
// What refusals say.
#pragma once

#include <string>

#include "mlo/base/errors.hpp"

namespace mlo::testing {

// The message of the error that an action throws; "no error" if it throws none.
template <class Failure = Error, class Action>
std::string refusal(const Action& action) {
  try {
    action();
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "no error";
}

}  // namespace mlo::testing
