// Copyright (c) the mlo authors. BSD-3-Clause.
// What ties the mean of a response to its linear predictor.
#pragma once

#include <cstdint>
#include <span>

namespace mlo {

enum class Link : std::uint8_t { identity, log, logit, probit };

// The mean, given the predictor: increasing. in and out may be the same array; sizes must agree.
void inverse_link(Link link, std::span<const double> eta, std::span<double> mean) noexcept;
[[nodiscard]] double inverse_link(Link link, double eta) noexcept;

}  // namespace mlo
