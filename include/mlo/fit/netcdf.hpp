// Copyright (c) the mlo authors. BSD-3-Clause.
// A fit as a netCDF file.
#pragma once

#include <span>

#include "mlo/method/options.hpp"
#include "mlo/report/netcdf.hpp"
#include "mlo/report/run_summary.hpp"

namespace mlo {

// What write_netcdf() needs of a fit or of a run that was kept. The chains must outlive the result. The
// options are those in force, with the seed.
[[nodiscard]] NetcdfInput netcdf_input(const FitOptions& options, const RunSummary& summary,
                                       std::span<const ChainDraws> chains);

}  // namespace mlo
