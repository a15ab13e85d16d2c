// Copyright (c) the mlo authors. BSD-3-Clause.
// The figures that are reported, each with the one name it has in CSV and JSON.
#pragma once

#include <array>

#include "mlo/diagnose/summary.hpp"
#include "mlo/kernel/kernel.hpp"
#include "mlo/report/comparison.hpp"

namespace mlo {

template <class Struct>
struct Figure {
  const char* name;
  double Struct::*value;
};

// Figures of a parameter. Programs may read columns by position: do not change the order.
inline constexpr auto parameter_figures = [] {
  using P = ParameterSummary;
  return std::to_array<Figure<P>>({{"mean", &P::mean},
                                   {"sd", &P::sd},
                                   {"mcse_mean", &P::mcse_mean},
                                   {"hpd_2.5", &P::hpd_low},
                                   {"hpd_97.5", &P::hpd_high},
                                   {"median", &P::median},
                                   {"q5", &P::q5},
                                   {"q95", &P::q95},
                                   {"ess_bulk", &P::ess_bulk},
                                   {"ess_tail", &P::ess_tail},
                                   {"rhat", &P::rhat}});
}();

// Figures of a method in a comparison: first what it cost, then how its chains moved.
inline constexpr auto cost_figures = std::to_array<Figure<MethodResult>>(
    {{"setup_seconds", &MethodResult::setup_seconds}, {"sample_seconds", &MethodResult::sample_seconds}});
inline constexpr auto chain_figures = [] {
  using M = MethodResult;
  return std::to_array<Figure<M>>({{"rows_per_step", &M::rows_per_step},
                                   {"acceptance", &M::acceptance},
                                   {"noise_sd", &M::noise_sd},
                                   {"rhat", &M::rhat},
                                   {"ess", &M::ess},
                                   {"ess_per_second", &M::ess_per_second},
                                   {"ess_per_million_rows", &M::ess_per_million_rows}});
}();
// And how far its draws are from the posterior. In CSV; JSON has them as two objects.
inline constexpr auto error_figures = [] {
  using M = MethodResult;
  return std::to_array<Figure<M>>({{"sd_ratio_low", &M::sd_ratio_low},
                                   {"sd_ratio", &M::sd_ratio},
                                   {"sd_ratio_high", &M::sd_ratio_high},
                                   {"mean_error", &M::mean_error},
                                   {"mean_error_mcse", &M::mean_error_mcse}});
}();

struct PromiseName {
  Promise promise;
  const char* name;
};
inline constexpr auto promise_names = std::to_array<PromiseName>({{Promise::exact, "exact"},
                                                                  {Promise::bounded_error, "bounded error"},
                                                                  {Promise::approximate, "approximate"}});

}  // namespace mlo
