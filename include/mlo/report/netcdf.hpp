// Copyright (c) the mlo authors. BSD-3-Clause.
// Draws as a netCDF file in the layout of ArviZ's InferenceData, by the netCDF library, which is loaded when
// it is needed: mlo neither needs it to be built nor to do anything else.
//
// Groups `posterior` (a variable per parameter) and `sample_stats` (lp, acceptance_rate, rows_read,
// noise_sd), each with the dimensions chain and draw. The effects of a grouping g are the variable r_g of
// `posterior`, of floats, with the dimensions chain, draw, g and g_effect, whose coordinates are the names of
// the levels and of the effects. Numbers are those of the draws, to the last bit. The
// same draws give the same bytes: there are no times in the file, unless SOURCE_DATE_EPOCH is set, which
// becomes created_at.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mlo/chain/draws.hpp"

namespace mlo {

// The effects of all levels of a grouping.
struct NetcdfEffects {
  std::string group;
  std::vector<std::string> levels, effects;
  std::vector<std::size_t> places;  // in a draw of ChainDraws::effects: of the first level's effects, ...
};

struct NetcdfInput {
  std::vector<std::string> names;  // of the parameters, as in the summary; kept as `long_name`
  std::span<const ChainDraws>
      chains;  // at least one. Of chains that differ in length the first draws are written
  std::vector<NetcdfEffects> groupings;  // whose draws the chains hold
  // Attributes of both groups, besides inference_library.
  std::string version;  // of mlo
  std::vector<std::pair<std::string, std::string>> texts;
  std::vector<std::pair<std::string, std::uint64_t>> numbers;
};

// The variables' names: R's, as far as netCDF allows. "(Intercept)" is Intercept; a slash becomes an
// underscore; a name that begins with another sign than a letter or a digit gets an underscore before it, and
// "chain" and "draw", which are dimensions, get one after it. All names differ.
[[nodiscard]] std::vector<std::string> netcdf_names(const std::vector<std::string>& names);

// The file is made in memory, then written whole or not at all. Throws DataError: the library is not there,
// with how to get it; the file cannot be written. One file is written at a time, by a lock of its own; but
// the HDF5 library is not made for threads, so a program that uses it in another way must not do so
// meanwhile.
void write_netcdf(const std::string& file, const NetcdfInput& input);

// "4.9.0 (libnetcdf.so.19)": the library that is used. Throws DataError as write_netcdf() does if it is not
// there; so it is called before an hour's work.
std::string netcdf_library();

}  // namespace mlo
