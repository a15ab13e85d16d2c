// Copyright (c) the mlo authors. BSD-3-Clause.
// A fit as a netCDF file.
#pragma once

#include <span>

#include "mlo/method/options.hpp"
#include "mlo/report/facts.hpp"
#include "mlo/report/netcdf.hpp"
#include "mlo/report/run_summary.hpp"

namespace mlo {

// What write_netcdf() needs of a fit or of a run that was kept. The chains must outlive the result. The
// options are those in force, with the seed. The effects are those of groups, and are left out if the chains
// do not hold their draws.
[[nodiscard]] NetcdfInput netcdf_input(const FitOptions& options, const RunSummary& summary,
                                       std::span<const ChainDraws> chains,
                                       std::span<const GroupEffect> effects);

}  // namespace mlo
