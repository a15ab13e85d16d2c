// Copyright (c) the mlo authors. BSD-3-Clause.
// Text to a prior. One that is accepted has a density, and its text is that of the same prior to 6 digits.
#include <array>
#include <cmath>
#include <optional>

#include "mlo/base/errors.hpp"
#include "mlo/model/prior.hpp"
#include "support.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mlo;
  std::optional<Prior> prior;
  try {
    prior = Prior::parse({reinterpret_cast<const char*>(data), size}, "prior");
  } catch (const UsageError&) {
    return 0;
  }
  try {
    const Prior again = Prior::parse(prior->text(), "prior");
    fuzz::check(again.kind() == prior->kind() && again.text() == prior->text(),
                "the text of a prior is that of the same prior", prior->text() + "\n  " + again.text());
  } catch (const UsageError& error) {
    fuzz::check(false, "the text of a prior can be parsed", error.what());
  }
  for (const double x :
       std::array{0.0, 1.0, -1.0, 1e-3, 1e6, -1e6, 1e12, prior->location(), prior->scale()}) {
    const double density = prior->log_density(x);
    fuzz::check(!std::isnan(density) && (density < HUGE_VAL || prior->kind() == Prior::Kind::gamma),
                "a log density is a number", prior->text() + " at " + std::to_string(x));
    if (prior->kind() == Prior::Kind::gamma && !(x > 0)) continue;
    const Prior::Smooth smooth = prior->smooth(x);
    fuzz::check(!std::isnan(smooth.value) && !std::isnan(smooth.slope) && smooth.curvature >= 0,
                "the derivatives of a log density are numbers", prior->text() + " at " + std::to_string(x));
  }
  return 0;
}
